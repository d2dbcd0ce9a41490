// SPDX-License-Identifier: Apache-2.0
#include "control/node/setup.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/underlay/adapter_below.h"

namespace weft::node {
namespace {

// Upstream's name, or a shorter one where that would exceed what Linux takes for a device
// (IFNAMSIZ): upstream cannot start with such a VNI.
std::string DeviceName(IpFamily family, Vni vni) {
  constexpr std::size_t kLongest = 15;  // octets
  const bool v4 = family == IpFamily::kV4;
  std::string name = absl::StrCat(v4 ? "flannel." : "flannel-v6.", vni.value());
  return name.size() <= kLongest ? name : absl::StrCat(v4 ? "flan." : "flan6.", vni.value());
}

control::HostRouteConfig HostRoutesOf(IpFamily family, const control::NetConf& conf,
                                      const underlay::InterfaceChoice& underlay) {
  control::HostRouteConfig routes;
  routes.family = family;
  routes.underlay = {underlay.index, underlay.name};
  routes.network = *conf.network_of(family);
  routes.upstream_device = DeviceName(family, conf.vni);
  return routes;
}

TunnelConfig TunnelOf(IpFamily family, const control::OwnFamilyFacts& facts,
                      const control::NetConf& conf, const underlay::InterfaceChoice& underlay,
                      const SetupOptions& options) {
  TunnelConfig tunnel;
  tunnel.family = family;
  tunnel.device = DeviceName(family, conf.vni);
  tunnel.vni = conf.vni;
  tunnel.port = conf.port;
  tunnel.subnet = facts.subnet;
  tunnel.vtep_mac = facts.vtep_mac;
  // Where peers send to another address than the interface's (--public-ip), it may be on another
  // adapter.
  const underlay::ChosenFamily& chosen = *underlay.of(family);
  const IpAddress any = family == IpFamily::kV4 ? IpAddress() : *IpAddress::Parse("::");
  tunnel.bind_address = chosen.public_ip == chosen.address ? chosen.address : any;
  tunnel.link_mtu = underlay.mtu;
  tunnel.mtu = conf.mtu.value_or(underlay.mtu).Inner(family);
  tunnel.udp_checksum = options.udp_checksum;
  tunnel.peer_check = options.peer_check;
  tunnel.network = *conf.network_of(family);
  tunnel.node_address = chosen.address;
  if (conf.direct_routing && options.routes) tunnel.direct = HostRoutesOf(family, conf, underlay);
  return tunnel;
}

// Empty: HNS takes no such VNI, which was told at the start.
std::optional<hns::OverlayWish> OverlayOf(const TunnelConfig& tunnel, const control::NetConf& conf,
                                          const underlay::InterfaceChoice& underlay,
                                          const SetupOptions& options,
                                          const underlay::AdapterHint& nic) {
  const std::optional<hns::IsolationId> isolation_id = hns::IsolationId::Of(tunnel.vni.value());
  if (!isolation_id) return std::nullopt;
  return hns::OverlayWish{conf.name,
                          tunnel.subnet,
                          *isolation_id,
                          tunnel.port,
                          nic.name,
                          underlay.v4->address,
                          options.hns_base_network,
                          nic.by_mac,
                          /*by_address=*/true,
                          nic.ambiguous};
}

absl::StatusOr<hns::BridgeWish> BridgeOf(const IpPrefix& subnet, const control::NetConf& conf,
                                         const underlay::InterfaceChoice& underlay,
                                         const underlay::AdapterHint& nic) {
  hns::BridgeWish wish{conf.name,
                       subnet,
                       conf.dns_servers,
                       nic.name,
                       underlay.v4->address,
                       nic.by_mac,
                       /*any_adapter=*/true,
                       nic.ambiguous};
  if (subnet.Contains(wish.endpoint_address())) return wish;
  return absl::FailedPreconditionError(
      absl::StrCat("our PodCIDR ", subnet.ToString(), " has no room for the host's own endpoint, ",
                   wish.endpoint_address().ToString(),
                   ": give nodes larger ones (kube-controller-manager --node-cidr-mask-size)"));
}

}  // namespace

absl::StatusOr<Setup> MakeSetup(const control::OwnFacts& facts, const control::NetConf& conf,
                                const underlay::InterfaceChoice& underlay,
                                const SetupOptions& options,
                                const std::vector<host::Adapter>& adapters) {
  Setup setup{underlay, {}, {}, {}, {}, {}};
  const underlay::AdapterHint nic = underlay::AdapterBelow(underlay, adapters, options.iface);
  setup.env.ip_masq = options.ip_masq;
  // alloc and host-gw encapsulate nothing: the pods get the link's own MTU.
  std::uint32_t mtu = std::min(underlay.mtu.octets(), InnerMtu::kMax);
  for (IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    const std::optional<control::OwnFamilyFacts>& own = facts.of(family);
    const std::optional<IpPrefix>& network = conf.network_of(family);
    if (!own || !network) continue;
    (family == IpFamily::kV4 ? setup.env.v4 : setup.env.v6) =
        SubnetEnvFamily{*network, own->subnet};
    const bool is_bridge = conf.type == control::BackendType::kHostGw &&
                           options.hns != HnsRole::kNone && family == IpFamily::kV4;
    if (is_bridge) {
      const absl::StatusOr<hns::BridgeWish> bridge = BridgeOf(own->subnet, conf, underlay, nic);
      if (!bridge.ok()) return bridge.status();
      setup.bridge = *bridge;
    }
    // HNS has no such network of IPv6.
    const bool has_routes = options.hns != HnsRole::kPrimary || is_bridge;
    if (conf.type == control::BackendType::kHostGw && options.routes && has_routes)
      setup.host_routes.push_back(HostRoutesOf(family, conf, underlay));
    if (conf.type != control::BackendType::kVxlan) continue;
    const TunnelConfig tunnel = TunnelOf(family, *own, conf, underlay, options);
    mtu = std::min(mtu, tunnel.mtu.octets());
    if (options.tunnels) setup.tunnels.push_back(tunnel);
    if (options.hns != HnsRole::kNone && family == IpFamily::kV4)
      setup.overlay = OverlayOf(tunnel, conf, underlay, options, nic);
  }
  // Every IPv6 link carries 1,280 octets (RFC 8200 section 5): the kernel takes no smaller MTU for
  // an IPv6 device.
  constexpr std::uint32_t kLeastV6 = 1280;
  if (setup.env.v6 && mtu < kLeastV6) {
    return absl::FailedPreconditionError(
        absl::StrCat("the MTU of ", underlay.name, " leaves ", mtu,
                     " octets for a pod's packet, but IPv6 needs ", kLeastV6,
                     "; raise that MTU, choose another interface with --iface, or switch "
                     "EnableIPv6 off in net-conf.json"));
  }
  setup.env.mtu = *InnerMtu::Of(mtu);
  for (TunnelConfig& tunnel : setup.tunnels) tunnel.pod_mtu = setup.env.mtu;
  return setup;
}

}  // namespace weft::node
