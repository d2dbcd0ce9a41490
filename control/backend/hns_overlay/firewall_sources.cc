// SPDX-License-Identifier: Apache-2.0
#include "control/backend/hns_overlay/firewall_sources.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weft::backend {
namespace {

// The block of this length around `inner`; `inner` itself if it is larger.
IpPrefix Around(const IpPrefix& inner, int length) {
  return *IpPrefix::From(inner.base(), std::min(inner.length(), length));
}

}  // namespace

std::vector<IpPrefix> CoverAddresses(std::vector<IpAddress> addresses, std::size_t most) {
  std::ranges::sort(addresses);
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  std::vector<IpPrefix> blocks;
  for (const IpAddress& address : addresses) {
    IpPrefix block = *IpPrefix::From(address, 32);
    // Both halves of the block around them.
    while (!blocks.empty() && block.length() > 0 && blocks.back().length() == block.length() &&
           Around(block, block.length() - 1).Contains(blocks.back())) {
      block = Around(block, block.length() - 1);
      blocks.pop_back();
    }
    blocks.push_back(block);
  }
  for (int length = 31; blocks.size() > most && length >= 0; --length) {
    std::size_t excess = blocks.size() - most;
    std::vector<IpPrefix> fewer;
    for (const IpPrefix& block : blocks) {
      const IpPrefix around = Around(block, length);
      const bool joins = !fewer.empty() && around.Contains(fewer.back());
      if (joins && (excess > 0 || fewer.back().Contains(block))) {
        fewer.back() = around;
        excess -= excess > 0 ? 1 : 0;
      } else {
        fewer.push_back(block);
      }
    }
    blocks = std::move(fewer);
  }
  return blocks;
}

FirewallSources SourcesOf(std::span<const lease::Peer> peers) {
  std::vector<IpAddress> addresses;
  for (const lease::Peer& peer : peers) {
    if (!peer.public_ip.is_v4()) continue;
    if (peer.behind_nat)
      return {
          std::nullopt,
          absl::StrCat("--firewall-sources=peers: node ", peer.node,
                       " is behind NAT (its public IP ", peer.public_ip.ToString(),
                       ", which an annotation sets, is no InternalIP of it), so its packets may "
                       "come from another address, and the firewall lets in any; set "
                       "--firewall-sources=any")};
    addresses.push_back(peer.public_ip);
  }
  return {CoverAddresses(std::move(addresses), kMostFirewallSources), ""};
}

}  // namespace weft::backend
