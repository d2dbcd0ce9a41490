// SPDX-License-Identifier: Apache-2.0
// The members that documents of networks and endpoints share.
#pragma once

#include <vector>

#include "hns/document/document_json.h"
#include "hns/document/network.h"

namespace weft::hns {

Json PoliciesOf(const std::vector<Policy>& policies);
// Of the member "Policies" of `object`. A type that is a number stays its digits.
std::vector<Policy> ReadPolicies(const Json& object);

Json RoutesOf(const std::vector<SubnetRoute>& routes);
// Of the member "Routes" of `object`; those without a next hop or destination are left out.
std::vector<SubnetRoute> ReadRoutes(const Json& object);

// "Health" and "SchemaVersion", with which every document ends.
void AddTail(Json& object);

}  // namespace weft::hns
