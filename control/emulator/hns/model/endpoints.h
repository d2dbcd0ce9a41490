// SPDX-License-Identifier: Apache-2.0
// Endpoints: what makes, changes, attaches and removes them.
#pragma once

#include "control/emulator/hns/model/core.h"

namespace weft::hns::emulator {

// Of schema 2's documents. The reply's text is the new id.
Reply CreateEndpoint(Core& core, NetworkObject& network, const Guid& id, const Json& document);
Reply ModifyEndpoint(Core& core, EndpointObject& endpoint, const Json& request);
// Replaces what the document names: v1's update.
Reply UpdateEndpoint(Core& core, EndpointObject& endpoint, const Json& document);
Reply DeleteEndpoint(Core& core, Guid id);

// v1's attach: to the host's compartment, or (0) to a container.
Reply AttachEndpoint(Core& core, EndpointObject& endpoint, std::uint32_t compartment);
Reply DetachEndpoint(Core& core, EndpointObject& endpoint);

// Without any question.
bool DropEndpoint(Core& core, Guid id);  // false: there is none
void DropEndpointsOf(Core& core, Guid network);

}  // namespace weft::hns::emulator
