// SPDX-License-Identifier: Apache-2.0
// The members that documents of networks and endpoints share.
#pragma once

#include <vector>

#include "hns/document/document_json.h"
#include "hns/document/network.h"

namespace weft::hns {

Json PoliciesOf(const std::vector<Policy>& policies);
// Reads the member "Policies" of `object`. A numeric type becomes its digits.
std::vector<Policy> ReadPolicies(const Json& object);

Json RoutesOf(const std::vector<SubnetRoute>& routes);
// Reads the member "Routes" of `object`, without routes that lack a next hop or a destination.
std::vector<SubnetRoute> ReadRoutes(const Json& object);

// "Health" and "SchemaVersion", with which every document ends.
void AddTail(Json& object);

}  // namespace weft::hns
