// SPDX-License-Identifier: Apache-2.0
// What this node should have, as a value that all backends share. Pure.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "control/net_conf.h"
#include "control/own_facts.h"
#include "control/underlay/interface_choice.h"
#include "vxlan/mtu.h"

namespace weft::backend {

struct FamilyPlan {
  IpPrefix network;     // net-conf's
  IpPrefix subnet;      // our PodCIDR
  MacAddress vtep_mac;  // of a tunnel of ours; an HNS overlay has its own
  friend bool operator==(const FamilyPlan&, const FamilyPlan&) = default;
};

struct NodePlan {
  underlay::InterfaceChoice underlay;  // has an address of each family that follows
  std::optional<FamilyPlan> v4, v6;
  InnerMtu mtu = *InnerMtu::From(1450);  // of the pods: the least of all families'
  std::string without_v6{};  // why IPv6 is left out, though enabled: the MTU; empty: it is not
  const std::optional<FamilyPlan>& of(IpFamily family) const {
    return family == IpFamily::kV4 ? v4 : v6;
  }
  friend bool operator==(const NodePlan&, const NodePlan&) = default;
};

// The error: the MTU leaves no room for a packet of IPv6, and there is no IPv4.
absl::StatusOr<NodePlan> MakeNodePlan(const control::OwnFacts& facts, const control::NetConf& conf,
                                      const underlay::InterfaceChoice& underlay);

// Of a tunnel's device over `underlay`.
InnerMtu TunnelMtu(IpFamily family, const control::NetConf& conf,
                   const underlay::InterfaceChoice& underlay);
// Upstream's name of a tunnel's device: "flannel.4096", "flannel-v6.4096".
std::string TunnelDevice(IpFamily family, Vni vni);

}  // namespace weft::backend
