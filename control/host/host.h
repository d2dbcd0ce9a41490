// SPDX-License-Identifier: Apache-2.0
// The host's adapters, addresses and routes. Linux through netlink, Windows through IP Helper, and
// a fake for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vxlan/ip_prefix.h"
#include "vxlan/mac_address.h"

namespace weft::host {

// An address as assigned: the address itself and its on-link prefix length.
struct AssignedAddress {
  IpAddress address;
  int prefix_length = 0;
  friend bool operator==(const AssignedAddress&, const AssignedAddress&) = default;
};

struct Adapter {
  std::uint32_t index = 0;
  std::string name;  // Linux: "eth0"; Windows: the friendly name, "vEthernet (Ethernet)"
  std::uint32_t mtu = 0;
  bool up = false;
  bool loopback = false;
  MacAddress mac;
  // Both families, in the system's order but for privacy addresses and deprecated ones, which come
  // last.
  std::vector<AssignedAddress> addresses;
};

// `ip route show proto 87`: no other program's (/etc/iproute2/rt_protos and its like).
inline constexpr std::uint8_t kRouteMark = 87;

// A unicast route of the main table. `onlink`: the gateway is taken as reachable on the adapter
// though no address covers it.
struct Route {
  IpPrefix destination;
  std::optional<IpAddress> gateway;
  std::uint32_t adapter_index = 0;
  bool onlink = false;
  std::uint32_t metric = 0;  // zero: the system's default
  std::optional<IpAddress> source;
  // Bears the mark by which a later process of ours knows its own among others' on an adapter that
  // is not ours. Linux keeps it as the route's protocol, kRouteMark. Windows has nowhere to keep
  // it: there every route that somebody set by hand or program (NETMGMT) bears it.
  bool marked = false;
  friend bool operator==(const Route&, const Route&) = default;
};

// Synchronous; one thread (control). Errors name the object, the cause (the system's text) and the
// next step.
class Host {
 public:
  virtual ~Host() = default;
  virtual absl::StatusOr<std::vector<Adapter>> Adapters() = 0;
  // All routes of `adapter_index`, or of every adapter (0). Those that the system derives from
  // addresses are left out. A route with several next hops is several.
  virtual absl::StatusOr<std::vector<Route>> Routes(IpFamily family,
                                                    std::uint32_t adapter_index = 0) = 0;
  // The route the system would take to `destination`: adapter, gateway, preferred source.
  virtual absl::StatusOr<Route> RouteTo(const IpAddress& destination) = 0;

  virtual absl::Status SetLinkUp(std::uint32_t adapter_index, std::uint32_t mtu) = 0;
  // Adds; an address that is there already is fine.
  virtual absl::Status AddAddress(std::uint32_t adapter_index, const AssignedAddress& address) = 0;
  // Adds or replaces each by destination and metric, in one batch; a refused one stops no other.
  // The result has one status for each route, in order.
  virtual std::vector<absl::Status> PutRoutes(const std::vector<Route>& routes) = 0;
  // A route that is not there is fine.
  virtual std::vector<absl::Status> RemoveRoutes(const std::vector<Route>& routes) = 0;
};

// The host this process runs on.
absl::StatusOr<std::unique_ptr<Host>> OpenHost();

}  // namespace weft::host
