// SPDX-License-Identifier: Apache-2.0
// Networks: what makes, changes and removes them.
#pragma once

#include <string>
#include <string_view>

#include "control/emulator/hns/model/core.h"

namespace weft::hns::emulator {

// Of the documents of schema 2; v1_networks.cc translates the others. The reply's text is the new
// id.
Reply CreateNetwork(Core& core, const Guid& id, const Json& document);
Reply ModifyNetwork(Core& core, NetworkObject& network, const Json& request);
// Ids of what goes come by value: callers have them from the object itself.
Reply DeleteNetwork(Core& core, Guid id);

// Without any question: restart and reboot. The switch goes with its last network.
void DropNetwork(Core& core, Guid id);

// It stands on an adapter that is no longer there.
bool IsDegraded(Core& core, const NetworkObject& network);
// Empty: not yet, or none.
std::string ManagementIp(Core& core, const NetworkObject& network);

}  // namespace weft::hns::emulator
