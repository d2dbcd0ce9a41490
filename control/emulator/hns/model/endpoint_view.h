// SPDX-License-Identifier: Apache-2.0
// An endpoint as schema 2 shows it and as HNS v1 does.
#pragma once

#include <string>

#include "control/emulator/hns/model/core.h"

namespace weft::hns::emulator {

std::string EndpointV2(Core& core, const EndpointObject& endpoint);
Json EndpointV1(Core& core, const EndpointObject& endpoint);
// Without Policies: what a filter looks at.
Json EndpointV1Facts(Core& core, const EndpointObject& endpoint);

}  // namespace weft::hns::emulator
