// SPDX-License-Identifier: Apache-2.0
// Reads a HostComputeEndpoint document, and refuses what HNS refuses.
#pragma once

#include "control/emulator/hns/model/core.h"

namespace weft::hns::emulator {

// Reads addresses, MAC and policies of `document` into `endpoint`, whose id and network are set;
// chooses what the document omits.
Reply ReadEndpointSettings(Core& core, const NetworkObject& network, const Json& document,
                           EndpointObject& endpoint);

}  // namespace weft::hns::emulator
