// SPDX-License-Identifier: Apache-2.0
// The host's adapters, addresses, routes, forwarding and firewall. Linux through netlink, Windows
// through IP Helper and COM, and an emulated one (emulator.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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
  friend bool operator==(const Adapter&, const Adapter&) = default;
};

// `ip route show proto 87`: no other program's (/etc/iproute2/rt_protos and its like).
inline constexpr std::uint8_t kRouteMark = 87;

// What a route of the main table is to its destination.
enum class RouteKind : std::uint8_t {
  kPlain,
  kDerived,  // by the system, from an address or a link
  kNowhere,  // it is refused or dropped there ("blackhole", "unreachable"); has no adapter
};

// A route of the main table. `onlink`: the gateway is taken as reachable on the adapter though no
// address covers it.
struct Route {
  IpPrefix destination;
  std::optional<IpAddress> gateway;
  std::uint32_t adapter_index = 0;
  bool onlink = false;
  std::uint32_t metric = 0;  // the route's own; zero: the system's default
  // What Windows adds to it, the metric of the adapter. Filled in by the system.
  std::uint32_t adapter_metric = 0;
  std::optional<IpAddress> source;
  // Bears the mark by which a later process of ours knows its own among others' on an adapter that
  // is not ours. Linux keeps it as the route's protocol, kRouteMark. Windows has nowhere to keep
  // it: there every route that somebody set by hand or program (NETMGMT) bears it.
  bool marked = false;
  // Another program has put its name on it (Linux: a protocol that is neither ours nor "boot",
  // which is what `ip route add` and upstream's flanneld leave).
  bool claimed = false;
  RouteKind kind = RouteKind::kPlain;
  friend bool operator==(const Route&, const Route&) = default;
};

// By which the system chooses among routes of one destination: the least wins.
inline std::uint64_t PrecedenceOf(const Route& route) {
  return std::uint64_t{route.metric} + route.adapter_metric;
}

// One route that came, differs or went.
struct RouteChange {
  Route route;
  bool gone = false;
  // Not this one route but perhaps any of its adapter: the system takes routes along with an
  // address or a link and reports none of them.
  bool whole_adapter = false;
};
// None: what changed is not known.
using RouteChanges = std::vector<RouteChange>;

// While it lives, changes are told. Its end waits for a call that is under way, so it is not ended
// from within one.
class Watch {
 public:
  virtual ~Watch() = default;
};

// Synchronous; one thread (control). Errors name the object, the cause (the system's text) and the
// next step.
class Host {
 public:
  virtual ~Host() = default;
  virtual absl::StatusOr<std::vector<Adapter>> Adapters() = 0;
  // All routes of `adapter_index`, or of every adapter (0), those of one destination in the order
  // in which the system lists them. A route with several next hops is several.
  virtual absl::StatusOr<std::vector<Route>> Routes(IpFamily family,
                                                    std::uint32_t adapter_index = 0) = 0;
  // Those that this host asks for names, of all adapters.
  virtual absl::StatusOr<std::vector<IpAddress>> NameServers() { return std::vector<IpAddress>(); }
  // The route the system would take to `destination`: adapter, gateway, preferred source.
  virtual absl::StatusOr<Route> RouteTo(const IpAddress& destination) = 0;

  virtual absl::Status SetLinkUp(std::uint32_t adapter_index, std::uint32_t mtu) = 0;
  // Adds; an address that is there already is fine.
  virtual absl::Status AddAddress(std::uint32_t adapter_index, const AssignedAddress& address) = 0;
  // Adds; nothing that is there is changed: AlreadyExists where a route stands in the place, on
  // Linux one of its destination and metric, on Windows one of its destination, gateway and
  // adapter. One batch; a refused one stops no other. The result has one status for each route, in
  // order.
  virtual std::vector<absl::Status> PutRoutes(const std::vector<Route>& routes) = 0;
  // The same, but what stands in the place gives way, without a moment between.
  virtual std::vector<absl::Status> ReplaceRoutes(const std::vector<Route>& routes) = 0;
  // A route that is not there is fine.
  virtual std::vector<absl::Status> RemoveRoutes(const std::vector<Route>& routes) = 0;

  // Whether packets that came in by this adapter go on by others, and the reverse. A system that
  // makes an adapter again (HNS, with each first network) forgets it.
  virtual absl::Status SetForwarding(std::uint32_t adapter_index, IpFamily family, bool on) = 0;
  virtual absl::StatusOr<bool> Forwarding(std::uint32_t adapter_index, IpFamily family) = 0;
  // Lets UDP to `port` in from everywhere, by a firewall rule of this name. One that is there
  // already is left as it is, whoever made it; FailedPrecondition: it does not let that in (it is
  // disabled, of another port, ...). Unimplemented, as the next two, where rules have no names.
  virtual absl::Status AllowUdpIn(const std::string& rule, std::uint16_t port) = 0;
  virtual absl::StatusOr<bool> HasFirewallRule(const std::string& rule) = 0;
  // One that is not there is fine.
  virtual absl::Status RemoveFirewallRule(const std::string& rule) = 0;

  // Calls `changed`, on any thread and perhaps more often than needed, when an adapter, an address
  // or a default route came, went or differs.
  virtual absl::StatusOr<std::unique_ptr<Watch>> WatchChanges(std::function<void()> changed) = 0;
  // Calls `changed`, on any thread, when routes came, went or differ; not, where the system can
  // tell it, for what this Host did itself.
  virtual absl::StatusOr<std::unique_ptr<Watch>> WatchRoutes(
      std::function<void(const RouteChanges&)> changed) {
    return WatchChanges([changed = std::move(changed)] { changed({}); });
  }
  // Windows, or what plays it: routes bear no mark, a vSwitch takes the static ones along, and a
  // change may go unreported.
  virtual bool is_windows() const { return false; }
};

// Of rke2 and of Microsoft's scripts: all tools see one rule (for port 4789).
inline constexpr char kOverlayFirewallRule[] = "OverlayTraffic4789UDP";

// The host this process runs on.
absl::StatusOr<std::unique_ptr<Host>> OpenHost();

}  // namespace weft::host
