// SPDX-License-Identifier: Apache-2.0
#include "control/backend/node_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weft::backend {

// Shorter where upstream's name would exceed the longest name of a Linux device (IFNAMSIZ):
// upstream cannot start with such a VNI.
std::string TunnelDevice(IpFamily family, Vni vni) {
  constexpr std::size_t kLongest = 15;  // bytes
  const bool v4 = family == IpFamily::kV4;
  std::string name = absl::StrCat(v4 ? "flannel." : "flannel-v6.", vni.value());
  return name.size() <= kLongest ? name : absl::StrCat(v4 ? "flan." : "flan6.", vni.value());
}

InnerMtu TunnelMtu(IpFamily family, const control::NetConf& conf,
                   const underlay::InterfaceChoice& underlay) {
  return std::min(conf.mtu.value_or(underlay.mtu), underlay.mtu).Inner(family);
}

absl::StatusOr<NodePlan> MakeNodePlan(const control::OwnFacts& facts, const control::NetConf& conf,
                                      const underlay::InterfaceChoice& underlay) {
  NodePlan plan{underlay, {}, {}};
  // Every IPv6 link carries 1,280 bytes (RFC 8200 section 5): the kernel takes no smaller MTU for
  // an IPv6 device.
  constexpr std::uint32_t kLeastV6 = 1280;
  // alloc and host-gw encapsulate nothing: the pods get the link's own MTU.
  std::uint32_t mtu = std::min(underlay.mtu.bytes(), InnerMtu::kMax);
  for (IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    const std::optional<control::OwnFamilyFacts>& own = facts.of(family);
    const std::optional<IpPrefix>& network = conf.network_of(family);
    if (!own || !network) continue;
    const bool tunnel = conf.type == control::BackendType::kVxlan;
    const std::uint32_t fits =
        tunnel ? std::min(mtu, TunnelMtu(family, conf, underlay).bytes()) : mtu;
    if (family == IpFamily::kV6 && fits < kLeastV6) {
      plan.without_v6 = absl::StrCat(
          "the MTU of ", underlay.name, " leaves ", fits,
          " bytes for a pod's packet, but IPv6 needs ", kLeastV6,
          "; raise that MTU, choose another interface with --iface, or switch EnableIPv6 off in "
          "net-conf.json");
      if (!plan.v4) return absl::FailedPreconditionError(plan.without_v6);
      continue;
    }
    (family == IpFamily::kV4 ? plan.v4 : plan.v6) =
        FamilyPlan{*network, own->subnet, own->vtep_mac};
    mtu = fits;
  }
  plan.mtu = *InnerMtu::From(mtu);
  return plan;
}

}  // namespace weft::backend
