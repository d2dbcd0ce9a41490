// SPDX-License-Identifier: Apache-2.0
// What this node should have, as a value: one tunnel, or one set of host routes, for each family of
// our lease, and subnet.env.
// Pure; when it differs from what is there, the daemon rebuilds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/net_conf.h"
#include "control/node/subnet_env.h"
#include "control/own_facts.h"
#include "control/sinks/host_route_sink.h"
#include "control/underlay/interface_choice.h"
#include "dataplane/forwarder.h"
#include "hns/bridge.h"
#include "hns/overlay_plan.h"

namespace weft::node {

// One device of the userspace data plane. Outer and inner packets are of one family, as upstream
// has it.
struct TunnelConfig {
  IpFamily family = IpFamily::kV4;
  std::string device;  // "flannel.4096", "flannel-v6.4096"
  Vni vni = kFlannelWindowsVni;
  std::uint16_t port = kVxlanPort;  // UDP
  IpPrefix subnet;  // our PodCIDR; its base is the device's address, as a /32 or /128
  MacAddress vtep_mac;
  IpAddress bind_address;  // unspecified: every local address
  OuterMtu link_mtu = *OuterMtu::Of(1500);
  InnerMtu mtu = *InnerMtu::Of(1450);      // of the device
  InnerMtu pod_mtu = *InnerMtu::Of(1450);  // subnet.env's: the least of all devices'
  bool udp_checksum = true;                // of outer IPv4; IPv6 always has it
  dataplane::PeerCheck peer_check = dataplane::PeerCheck::kLease;
  // DirectRouting: peers on this adapter's link go by routes of the host. Its tunnel is empty: the
  // device has no index yet.
  std::optional<control::HostRouteConfig> direct;
  IpPrefix network;        // the pods'
  IpAddress node_address;  // of the underlay's adapter
  friend bool operator==(const TunnelConfig&, const TunnelConfig&) = default;
};

// What HNS is to a node: nothing; who moves its packets; or one who is only given the wishes.
enum class HnsRole : std::uint8_t { kNone, kPrimary, kFollower };

struct SetupOptions {
  bool tunnels = true;  // where net-conf has them: --dataplane=userspace
  bool routes = true;   // where net-conf has them: that, --dataplane=routes and =hns
  bool udp_checksum = true;
  dataplane::PeerCheck peer_check = dataplane::PeerCheck::kLease;
  bool ip_masq = false;
  HnsRole hns = HnsRole::kNone;
  bool hns_base_network = false;
  std::vector<std::string> iface{};  // as given
};

struct Setup {
  underlay::InterfaceChoice underlay;
  std::vector<TunnelConfig> tunnels;                  // v4 before v6
  std::vector<control::HostRouteConfig> host_routes;  // the same; host-gw
  // The network in HNS: vxlan's or host-gw's.
  std::optional<hns::OverlayWish> overlay;
  std::optional<hns::BridgeWish> bridge;
  SubnetEnv env;
  friend bool operator==(const Setup&, const Setup&) = default;
};

// `underlay` has the addresses of every enabled family and is one of `adapters`. The error: an MTU
// that leaves no room for a packet, or a PodCIDR none for the host's own endpoint.
absl::StatusOr<Setup> MakeSetup(const control::OwnFacts& facts, const control::NetConf& conf,
                                const underlay::InterfaceChoice& underlay,
                                const SetupOptions& options,
                                const std::vector<host::Adapter>& adapters = {});

}  // namespace weft::node
