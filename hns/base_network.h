// SPDX-License-Identifier: Apache-2.0
// The small persistent network that keeps HNS's vSwitch on the adapter across reboots; Microsoft's
// setup scripts and OVN create one too. Without it HNS binds the adapter again at each boot, which
// cuts the node off for seconds.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hns/overlay_plan.h"

namespace weft::hns {

// Name and values as in Microsoft's scripts, so that both create the same network.
inline constexpr std::string_view kBaseNetworkName = "External";

// `candidate`: index into AdapterCandidates.
Network BaseNetwork(const OverlaySpec& spec, std::size_t candidate = 0);

// Whether `network` counts as the base network: it is named "External", or is a persistent network
// on the spec's adapter. Its other properties and its creator do not matter.
bool IsBaseNetwork(const OverlaySpec& spec, const Network& network);

// The base network to create. Empty: the spec has none, or one exists (IsBaseNetwork).
std::optional<Network> MissingBaseNetwork(const OverlaySpec& spec,
                                          std::span<const Network> networks,
                                          std::size_t candidate = 0);

// Why `network`, the base network, does not keep the vSwitch on the node's adapter, and the next
// step for an operator. Empty: it does, as far as HNS shows. HNS does not repair it: Hyper-V's NICs
// may have another identity after a reboot, and the network stays tied to the old one
// (calico#11840). `network` is completed by Client::ReadSchema1.
std::string BaseNetworkCondition(const OverlaySpec& spec, const Network& network);

}  // namespace weft::hns
