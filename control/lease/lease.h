// SPDX-License-Identifier: Apache-2.0
// A subnet lease: what one node advertises through its Kubernetes Node object, as a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "vxlan/ip_prefix.h"
#include "vxlan/mac_address.h"

namespace weft::lease {

// Nodes are told apart by name and UID: a node that was deleted and created again under its name is
// another node.
struct NodeKey {
  std::string name;
  std::string uid;  // empty where the source has none (a hand-written file)
  friend bool operator==(const NodeKey&, const NodeKey&) = default;
  friend auto operator<=>(const NodeKey&, const NodeKey&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const NodeKey& k) {
    return H::combine(std::move(h), k.name, k.uid);
  }
};

// One address family's half of a lease. Absent members were absent (or empty) in the Node.
struct FamilyLease {
  IpPrefix subnet;  // spec.podCIDR(s)
  std::optional<IpAddress>
      public_ip;                     // public-ip / public-ipv6: where peers send the outer packets
  std::optional<std::uint32_t> vni;  // backend-data / backend-v6-data; not range-checked here
  std::optional<MacAddress> vtep_mac;  // empty text counts as absent
  // Unix seconds. Since then the node leaves out the MAC that it had published, and this is its
  // last complete half. Set by LeaseTable alone.
  std::optional<std::int64_t> kept_since{};
  friend bool operator==(const FamilyLease&, const FamilyLease&) = default;
};

// A Node that has a lease or should have one. Compared by value.
struct Lease {
  NodeKey node;
  // metadata.creationTimestamp, Unix seconds; zero if absent. Of two Nodes with one subnet the one
  // in use stays, at a start the older; of two of one name the newer.
  std::int64_t created = 0;
  std::string backend_type;  // as written: "vxlan", "host-gw", "alloc", ...
  std::optional<FamilyLease> v4;
  std::optional<FamilyLease> v6;
  const std::optional<FamilyLease>& of(IpFamily family) const {
    return family == IpFamily::kV4 ? v4 : v6;
  }
  friend bool operator==(const Lease&, const Lease&) = default;
};

}  // namespace weft::lease
