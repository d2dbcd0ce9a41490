// SPDX-License-Identifier: Apache-2.0
// A network in the form of schema 2 and of HNS v1.
#pragma once

#include <string>

#include "control/emulator/hns/model/core.h"

namespace weft::hns::emulator {

std::string NetworkV2(Core& core, const NetworkObject& network);
std::string NetworkV1(Core& core, const NetworkObject& network);
// The v1 properties without Policies, Subnets and Resources: the members that a filter compares.
Json NetworkV1Facts(Core& core, const NetworkObject& network);

}  // namespace weft::hns::emulator
