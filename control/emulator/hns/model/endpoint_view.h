// SPDX-License-Identifier: Apache-2.0
// An endpoint in the form of schema 2 and of HNS v1.
#pragma once

#include <string>

#include "control/emulator/hns/model/core.h"

namespace weft::hns::emulator {

std::string EndpointV2(Core& core, const EndpointObject& endpoint);
Json EndpointV1(Core& core, const EndpointObject& endpoint);
// Without Policies: the members that a filter compares.
Json EndpointV1Facts(Core& core, const EndpointObject& endpoint);

}  // namespace weft::hns::emulator
