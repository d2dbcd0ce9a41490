// SPDX-License-Identifier: Apache-2.0
// Against what a peer's lease is judged: who we are, how we encapsulate, what this host needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vxlan/ip_prefix.h"
#include "vxlan/vni.h"

namespace weft::lease {

// What this host needs a way to. A lease that contains it would take that way away.
struct HostClaim {
  IpPrefix prefix;   // an address: with all its bits
  std::string what;  // for people: "address 192.0.2.1 of eth0"
  friend bool operator==(const HostClaim&, const HostClaim&) = default;
};

struct OwnFamily {
  std::optional<IpPrefix> subnet;   // our PodCIDR; absent while not known
  std::optional<IpPrefix> network;  // net-conf's Network as it is now; absent: nothing lies outside
  bool enabled = true;              // in net-conf
  std::vector<HostClaim> claims{};  // ordered by prefix
  friend bool operator==(const OwnFamily&, const OwnFamily&) = default;
};

struct OwnIdentity {
  std::string node_name;               // empty: no lease is ours
  std::string backend_type = "vxlan";  // net-conf's Backend.Type; compared without case
  Vni vni = kFlannelWindowsVni;        // looked at under vxlan only
  OwnFamily v4;
  OwnFamily v6;
  const OwnFamily& of(IpFamily family) const { return family == IpFamily::kV4 ? v4 : v6; }
  friend bool operator==(const OwnIdentity&, const OwnIdentity&) = default;
};

}  // namespace weft::lease
