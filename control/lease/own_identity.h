// SPDX-License-Identifier: Apache-2.0
// What a peer's lease is judged by: our identity, our encapsulation, the addresses this host needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vxlan/ip_prefix.h"
#include "vxlan/vni.h"

namespace weft::lease {

// A prefix that this host must reach outside the pod network. A lease that contains it would divert
// that traffic.
struct HostClaim {
  IpPrefix prefix;           // for an address: its full length
  std::string what;          // for people: "this node's address 192.0.2.1 on eth0"
  bool own_address = false;  // it is an address of this host
  bool idle = false;         // such a one by which no neighbour is reached: no lease can divert it
  friend bool operator==(const HostClaim&, const HostClaim&) = default;
};

struct OwnFamily {
  std::optional<IpPrefix> subnet;      // our PodCIDR; absent while unknown
  std::optional<IpPrefix> network;     // net-conf's current Network; absent: nothing lies outside
  bool enabled = true;                 // in net-conf
  std::vector<HostClaim> claims{};     // ordered by prefix
  std::vector<HostClaim> addresses{};  // of this host now; ordered by prefix
  friend bool operator==(const OwnFamily&, const OwnFamily&) = default;
};

struct OwnIdentity {
  std::string node_name;               // empty: no lease is ours
  std::string backend_type = "vxlan";  // net-conf's Backend.Type; compared without case
  Vni vni = kFlannelWindowsVni;        // used under vxlan only
  OwnFamily v4;
  OwnFamily v6;
  const OwnFamily& of(IpFamily family) const { return family == IpFamily::kV4 ? v4 : v6; }
  friend bool operator==(const OwnIdentity&, const OwnIdentity&) = default;
};

}  // namespace weft::lease
