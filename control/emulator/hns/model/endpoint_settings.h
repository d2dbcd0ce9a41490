// SPDX-License-Identifier: Apache-2.0
// What a HostComputeEndpoint document asks for, and what of it HNS refuses.
#pragma once

#include "control/emulator/hns/model/core.h"

namespace weft::hns::emulator {

// Addresses, MAC and policies of `document` into `endpoint`, whose id and network are set; what it
// leaves open is chosen.
Reply ReadEndpointSettings(Core& core, const NetworkObject& network, const Json& document,
                           EndpointObject& endpoint);

}  // namespace weft::hns::emulator
