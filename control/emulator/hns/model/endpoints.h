// SPDX-License-Identifier: Apache-2.0
// Creates, changes, attaches and removes endpoints.
#pragma once

#include <string>

#include "control/emulator/hns/model/core.h"

namespace weft::hns::emulator {

// From a schema 2 document. The reply's text is the new id.
Reply CreateEndpoint(Core& core, NetworkObject& network, const Guid& id, const Json& document);
Reply ModifyEndpoint(Core& core, EndpointObject& endpoint, const Json& request);
// v1's update: replaces the members that the document has.
Reply UpdateEndpoint(Core& core, EndpointObject& endpoint, const Json& document);
Reply DeleteEndpoint(Core& core, Guid id);

// v1's attach: to the host's compartment, or (0) to a container.
Reply AttachEndpoint(Core& core, EndpointObject& endpoint, std::uint32_t compartment);
Reply DetachEndpoint(Core& core, EndpointObject& endpoint);

// Removes without checks.
bool DropEndpoint(Core& core, Guid id);  // false: there is none
void DropEndpointsOf(Core& core, Guid network);

// In the form of schema 2 and of HNS v1.
std::string EndpointV2(Core& core, const EndpointObject& endpoint);
Json EndpointV1(Core& core, const EndpointObject& endpoint);
// Without Policies: the members that a filter compares.
Json EndpointV1Facts(Core& core, const EndpointObject& endpoint);
// Policies of HNS v1 in the form of schema 2; items with "Settings" have it already.
Json EndpointPoliciesFromV1(const Json& array);

}  // namespace weft::hns::emulator
