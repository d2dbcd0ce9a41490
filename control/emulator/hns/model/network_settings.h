// SPDX-License-Identifier: Apache-2.0
// Reads a HostComputeNetwork document, and refuses what HNS refuses.
#pragma once

#include <vector>

#include "control/emulator/hns/model/core.h"
#include "control/emulator/hns/model/policy_rules.h"

namespace weft::hns::emulator {

// Flag of a network that a reboot removes.
inline constexpr std::uint32_t kNonPersistent = 8;

// Whether networks of this type, such as "Overlay", use the host's adapter through a switch.
bool NeedsAdapter(std::string_view network_type);

// Reads name, type, flags, addresses and policies of `document`, checked against each other, the
// version and the existing networks. ChooseAdapter chooses the adapter.
Reply ReadNetworkSettings(Core& core, const Json& document, NetworkObject& network);
// Takes the adapter of the policy or, without one, the host's default.
Reply ChooseAdapter(Core& core, NetworkObject& network);

// An Ipams array in canonical form. Empty: it is not one.
std::optional<Json> ReadIpams(const Json& ipams);

}  // namespace weft::hns::emulator
