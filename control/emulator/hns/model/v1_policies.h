// SPDX-License-Identifier: Apache-2.0
// An endpoint's policies in the form of HNS v1: flat, some with other names.
#pragma once

#include <string_view>

#include "control/emulator/hns/model/document.h"

namespace weft::hns::emulator {

// {"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.0.2.1"}} is
// {"Type":"PA","PA":"192.0.2.1"}.
Json EndpointPolicyToV1(std::string_view type, const Json& settings);
// The reverse, for an array; items with "Settings" are in v2's form already and stay unchanged.
Json EndpointPoliciesFromV1(const Json& array);

}  // namespace weft::hns::emulator
