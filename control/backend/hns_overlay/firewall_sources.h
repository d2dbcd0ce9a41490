// SPDX-License-Identifier: Apache-2.0
// Whose packets the firewall lets in with --firewall-sources=peers.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control/lease/sink.h"
#include "vxlan/ip_prefix.h"

namespace weft::backend {

// A rule with more is slow to change and to match.
inline constexpr std::size_t kMostFirewallSources = 500;

// Blocks, ascending and apart, that contain every one of the IPv4 `addresses`: exactly these where
// `most` blocks suffice, else the nearest are joined with what lies between them.
std::vector<IpPrefix> CoverAddresses(std::vector<IpAddress> addresses, std::size_t most);

struct FirewallSources {
  // Absent: any address. Empty: no peer.
  std::optional<std::vector<IpPrefix>> prefixes;
  std::string refusal;  // why any address is allowed; names a peer
};

// The public IPv4 addresses of `peers`. Any address while one of them is behind NAT.
FirewallSources SourcesOf(std::span<const lease::Peer> peers);

}  // namespace weft::backend
