// SPDX-License-Identifier: Apache-2.0
// Creates, changes and removes networks.
#pragma once

#include <string>
#include <string_view>

#include "control/emulator/hns/model/core.h"

namespace weft::hns::emulator {

// From a schema 2 document; v1_calls.cc translates v1's. The reply's text is the new id.
Reply CreateNetwork(Core& core, const Guid& id, const Json& document);
Reply ModifyNetwork(Core& core, NetworkObject& network, const Json& request);
// The id is passed by value, because callers pass the id member of the deleted object.
Reply DeleteNetwork(Core& core, Guid id);

// Removes without checks, for restart and reboot. The switch is removed with its last network.
void DropNetwork(Core& core, Guid id);

// Whether its adapter does not exist any more.
bool IsDegraded(Core& core, const NetworkObject& network);
// Empty: not assigned yet, or none.
std::string ManagementIp(Core& core, const NetworkObject& network);

// In the form of schema 2 and of HNS v1.
std::string NetworkV2(Core& core, const NetworkObject& network);
std::string NetworkV1(Core& core, const NetworkObject& network);
// The v1 properties without Policies, Subnets and Resources: the members that a filter compares.
Json NetworkV1Facts(Core& core, const NetworkObject& network);

}  // namespace weft::hns::emulator
