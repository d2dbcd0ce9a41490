// SPDX-License-Identifier: Apache-2.0
// Against what a peer's lease is judged: who we are and how we encapsulate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "vxlan/ip_prefix.h"
#include "vxlan/vni.h"

namespace weft::lease {

struct OwnFamily {
  std::optional<IpPrefix> subnet;   // our PodCIDR; absent while not known
  std::optional<IpPrefix> network;  // net-conf's Network; absent: nothing lies outside
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
