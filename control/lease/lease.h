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

// A Node is identified by name and UID: a Node that was deleted and created again under the same
// name is another Node.
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

// The Node's condition Ready.
struct Readiness {
  bool ready = false;
  std::int64_t since = 0;  // lastTransitionTime, Unix seconds; zero if absent
  friend bool operator==(const Readiness&, const Readiness&) = default;
};

// One address family's half of a lease. A member is absent if it was absent or empty in the Node.
struct FamilyLease {
  IpPrefix subnet;  // spec.podCIDR(s)
  std::optional<IpAddress>
      public_ip;                     // public-ip / public-ipv6: where peers send the outer packets
  std::optional<std::uint32_t> vni;  // backend-data / backend-v6-data; not range-checked here
  std::optional<MacAddress> vtep_mac;  // empty text counts as absent
  // Unix seconds: when the node stopped publishing its MAC. This is then its last complete half.
  // Only LeaseTable sets it.
  std::optional<std::int64_t> kept_since{};
  // public-ip-overwrite names an address that the Node does not have: its packets may come from
  // another than `public_ip`.
  bool behind_nat = false;
  // `public_ip` is among the Node's status.addresses.
  bool node_address = false;
  friend bool operator==(const FamilyLease&, const FamilyLease&) = default;
};

// A Node that has a lease or should have one. Compared by value.
struct Lease {
  NodeKey node;
  // metadata.creationTimestamp, Unix seconds; zero if absent. Of two Nodes with the same subnet,
  // the one in use stays; at startup, the older one. Of two Nodes with the same name, the newer one
  // is used.
  std::int64_t created = 0;
  std::string backend_type;              // as written: "vxlan", "host-gw", "alloc", ...
  std::optional<Readiness> readiness{};  // for people: no lease depends on it
  std::optional<FamilyLease> v4;
  std::optional<FamilyLease> v6;
  std::optional<IpFamily> unread{};  // this half could not be read; never in a table
  const std::optional<FamilyLease>& of(IpFamily family) const {
    return family == IpFamily::kV4 ? v4 : v6;
  }
  friend bool operator==(const Lease&, const Lease&) = default;
};

}  // namespace weft::lease
