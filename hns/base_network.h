// SPDX-License-Identifier: Apache-2.0
// The small persistent network that keeps HNS's vSwitch on the adapter over reboots: Microsoft's
// setup scripts and OVN make one too. Without it the adapter is bound again, and the node cut off
// for seconds, at each boot.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hns/overlay_plan.h"

namespace weft::hns {

// Name and values of Microsoft's scripts, so that theirs and ours are the same network.
inline constexpr std::string_view kBaseNetworkName = "External";

// `way`: of AdapterWays.
Network BaseNetwork(const OverlaySpec& spec, std::size_t way = 0);

// Whether `network`, called "External" or a persistent one on that adapter, is taken for a base
// network, whatever it looks like and whose it is.
bool KeepsTheSwitch(const OverlaySpec& spec, const Network& network);

// Empty: none is wanted, or there is one that KeepsTheSwitch.
std::optional<Network> MissingBaseNetwork(const OverlaySpec& spec,
                                          std::span<const Network> networks, std::size_t way = 0);

// Why `network`, which is taken for the base network, does not keep the vSwitch on the node's
// adapter, and what a person does next; empty: it does, as far as is shown. Nothing mends it:
// Hyper-V's NICs may have another identity after a reboot, and the network stays tied to the old
// one (calico#11840). `network` as Client::AskSchema1 leaves it.
std::string BaseNetworkCondition(const OverlaySpec& spec, const Network& network);

}  // namespace weft::hns
