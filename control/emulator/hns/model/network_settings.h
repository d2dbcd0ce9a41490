// SPDX-License-Identifier: Apache-2.0
// What a HostComputeNetwork document asks for, and what of it HNS refuses.
#pragma once

#include <vector>

#include "control/emulator/hns/model/core.h"
#include "control/emulator/hns/model/policy_rules.h"

namespace weft::hns::emulator {

// A network's flag: gone with a reboot.
inline constexpr std::uint32_t kNonPersistent = 8;

// "Overlay": on the host's adapter, through a switch.
bool NeedsAdapter(std::string_view network_type);

// Name, type, flags, addresses and policies of `document`, checked against each other, the version
// and the networks there are. The adapter is chosen by ChooseAdapter.
Reply ReadNetworkSettings(Core& core, const Json& document, NetworkObject& network);
// By policy or, where there is none, the host's default.
Reply ChooseAdapter(Core& core, NetworkObject& network);

// An Ipams array in canonical form. Empty: it is none.
std::optional<Json> ReadIpams(const Json& ipams);

}  // namespace weft::hns::emulator
