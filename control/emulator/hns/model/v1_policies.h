// SPDX-License-Identifier: Apache-2.0
// An endpoint's policies in HNS v1's words: flat, some under other names.
#pragma once

#include <string_view>

#include "control/emulator/hns/model/document.h"

namespace weft::hns::emulator {

// {"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.0.2.1"}} is
// {"Type":"PA","PA":"192.0.2.1"}.
Json EndpointPolicyToV1(std::string_view type, const Json& settings);
// Back, for an array of them; items with "Settings" are v2's already and stay as they are.
Json EndpointPoliciesFromV1(const Json& array);

}  // namespace weft::hns::emulator
