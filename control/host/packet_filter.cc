// SPDX-License-Identifier: Apache-2.0
#include "control/host/packet_filter.h"

namespace weft::host {
namespace {

using Side = FilterRule::Side;

constexpr std::uint32_t kKubeProxyMark = 0x4000;  // kube-proxy masquerades packets with it

IpPrefix Multicast(IpFamily family) {
  return *IpPrefix::Parse(family == IpFamily::kV4 ? "224.0.0.0/4" : "ff00::/8");
}

}  // namespace

std::vector<FilterRule> MasqueradeRules(const PodNetwork& pods, const MasqueradeOptions& options) {
  const IpFamily family = pods.network.family();
  const Side ours{pods.subnet}, not_ours{pods.subnet, true};
  const Side cluster{pods.network}, not_cluster{pods.network, true};
  const Side not_multicast{Multicast(family), true};
  const std::uint32_t mark_mask = options.nftables ? ~std::uint32_t{0} : kKubeProxyMark;
  const auto leave = [family](const Side& source, const Side& destination) {
    return FilterRule{family, {}, source, destination, FilterVerdict::kReturn};
  };
  const auto masquerade = [&](const Side& source, const Side& destination) {
    return FilterRule{
        family, {}, source, destination, FilterVerdict::kMasquerade, options.fully_random};
  };
  return {
      {family, FilterRule::Mark{kKubeProxyMark, mark_mask}, {}, {}, FilterVerdict::kReturn},
      leave(ours, cluster),
      leave(cluster, ours),
      // Packets from outside to a pod keep their source.
      options.nftables ? leave(not_ours, cluster) : leave(not_cluster, ours),
      masquerade(cluster, not_multicast),
      masquerade(not_cluster, cluster),
  };
}

std::vector<FilterRule> ForwardRules(const IpPrefix& network) {
  const Side pods{network};
  return {{network.family(), {}, pods, {}, FilterVerdict::kAccept},
          {network.family(), {}, {}, pods, FilterVerdict::kAccept}};
}

}  // namespace weft::host
