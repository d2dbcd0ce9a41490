// SPDX-License-Identifier: Apache-2.0
// Our own Node as the source reports it: the input for our lease, whether or not one is published.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/lease/lease.h"

namespace weft::lease {

// One family's half of our own Node. `published_*` are the current values of our annotations,
// absent where unreadable. They are not trusted: another program may have written them.
struct OwnNodeFamily {
  std::optional<IpPrefix> subnet;  // spec.podCIDR(s); absent until the cluster's IPAM assigns one
  std::optional<IpAddress> published_public_ip;
  std::optional<std::uint32_t> published_vni;
  std::optional<MacAddress> published_vtep_mac;  // unicast, not zero
  // As written, not parsed; empty where absent.
  std::string backend_data;  // backend-data / backend-v6-data: peers compare it byte by byte
  std::string public_ip;     // public-ip / public-ipv6
  // Precedence: annotation over flag (upstream v0.28.9).
  std::string node_public_ip;  // node-public-ip(v6): changes the address we detect
  std::string
      public_ip_overwrite;  // public-ip(v6)-overwrite: published instead of the detected one
  friend bool operator==(const OwnNodeFamily&, const OwnNodeFamily&) = default;
};

struct OwnNode {
  NodeKey node;
  bool managed = false;      // kube-subnet-manager is "true": peers take us for a flannel node
  std::string backend_type;  // as written; empty where absent
  OwnNodeFamily v4;
  OwnNodeFamily v6;
  std::vector<IpAddress> internal_ips;  // status.addresses, the kubelet's, in its order
  std::vector<std::string>
      problems;  // each names a field that could not be read; that field is absent above
  friend bool operator==(const OwnNode&, const OwnNode&) = default;
};

}  // namespace weft::lease
