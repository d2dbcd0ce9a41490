// SPDX-License-Identifier: Apache-2.0
// A network as schema 2 shows it and as HNS v1 does.
#pragma once

#include <string>

#include "control/emulator/hns/model/core.h"

namespace weft::hns::emulator {

std::string NetworkV2(Core& core, const NetworkObject& network);
std::string NetworkV1(Core& core, const NetworkObject& network);
// The v1 properties without Policies, Subnets and Resources: what a filter looks at.
Json NetworkV1Facts(Core& core, const NetworkObject& network);

}  // namespace weft::hns::emulator
