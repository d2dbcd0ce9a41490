// SPDX-License-Identifier: Apache-2.0
// The host's adapters, addresses, routes, forwarding and firewall. Linux through netlink, Windows
// through IP Helper and COM, and an emulated one (emulator.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
  bool deprecated = false;  // no new traffic should come from it: its prefix is being replaced
  // "192.168.1.10/24": an address, not a prefix.
  std::string ToString() const { return address.ToString() + "/" + std::to_string(prefix_length); }
  static std::optional<AssignedAddress> Parse(std::string_view text) {
    const auto prefix = IpPrefix::Parse(text);
    const auto address = IpAddress::Parse(text.substr(0, text.find('/')));
    if (!prefix || !address) return std::nullopt;
    return AssignedAddress{*address, prefix->length()};
  }
  friend bool operator==(const AssignedAddress&, const AssignedAddress&) = default;
};

struct Adapter {
  std::uint32_t index = 0;
  std::string name;  // Linux: "eth0"; Windows: the friendly name, "vEthernet (Ethernet)"
  std::uint32_t mtu = 0;
  bool up = false;
  bool loopback = false;
  MacAddress mac;
  // Of both families, in the system's order, except that privacy and deprecated addresses come
  // last.
  std::vector<AssignedAddress> addresses;
  bool wireless = false;  // read on Windows only
  bool link = true;       // has a carrier; on Windows part of `up`
  friend bool operator==(const Adapter&, const Adapter&) = default;
};

// What an administrator set on an adapter for IPv4, without what DHCP gave it.
struct StaticIp {
  std::vector<AssignedAddress> addresses;
  std::vector<IpAddress> name_servers;  // in order of preference
  std::optional<std::uint32_t> metric;  // of the adapter; absent: the system's choice
  friend bool operator==(const StaticIp&, const StaticIp&) = default;
};

// `ip route show proto 87`: used by no other program (/etc/iproute2/rt_protos and similar lists).
inline constexpr std::uint8_t kRouteMark = 87;

// How a route of the main table handles its destination.
enum class RouteKind : std::uint8_t {
  kPlain,
  kDerived,      // by the system, from an address or a link
  kUnreachable,  // drops or refuses packets ("blackhole", "unreachable"); has no adapter
};

// A route of the main table. `onlink`: the gateway is treated as reachable on the adapter although
// no address covers it.
struct Route {
  IpPrefix destination;
  std::optional<IpAddress> gateway;
  std::uint32_t adapter_index = 0;
  bool onlink = false;
  std::uint32_t metric = 0;  // the route's own; zero: the system's default
  // The adapter's metric, which Windows adds. Only read, never written.
  std::uint32_t adapter_metric = 0;
  std::optional<IpAddress> source;
  // Bears the mark by which a later process of ours recognises our routes on an adapter that is not
  // ours. On Linux the mark is the route's protocol, kRouteMark. Windows routes have no field for
  // it: there every route that was set by hand or by a program (NETMGMT) counts as marked.
  bool marked = false;
  // Another program has marked it (Linux: a protocol other than ours and "boot", which
  // `ip route add` and upstream's flanneld use).
  bool claimed = false;
  RouteKind kind = RouteKind::kPlain;
  friend bool operator==(const Route&, const Route&) = default;
};

// The system prefers the route with the least value among those of one destination.
inline std::uint64_t PrecedenceOf(const Route& route) {
  return std::uint64_t{route.metric} + route.adapter_metric;
}

// One route that was added, changed or removed.
struct RouteChange {
  Route route;
  bool gone = false;
  // Not only this route but any route of its adapter may have changed: the system removes routes
  // with an address or a link without reporting them.
  bool whole_adapter = false;
};
// Empty: it is unknown what changed.
using RouteChanges = std::vector<RouteChange>;

// Changes are reported while it exists. The destructor waits for a call in progress, so it must not
// be called from within one.
class Watch {
 public:
  virtual ~Watch() = default;
};

// Allows inbound UDP to `port`. Several rules may have one name.
struct FirewallRule {
  std::string name;
  std::uint16_t port = 0;
  std::optional<std::vector<IpPrefix>> sources{};  // ascending, not empty; absent: any address
  friend bool operator==(const FirewallRule&, const FirewallRule&) = default;
};

// Who made a rule, by its group: `Get-NetFirewallRule -Group weft`.
enum class RuleOwner : std::uint8_t { kNone, kOurs, kOther };
inline constexpr char kFirewallGroup[] = "weft";

// Synchronous; one thread (control). Errors name the object, the cause (the system's text) and the
// next step.
class Host {
 public:
  virtual ~Host() = default;
  virtual absl::StatusOr<std::vector<Adapter>> Adapters() = 0;
  // All routes of `adapter_index`, or of every adapter (0), those of one destination in the order
  // in which the system lists them. A route with several next hops is returned as several routes.
  virtual absl::StatusOr<std::vector<Route>> Routes(IpFamily family,
                                                    std::uint32_t adapter_index = 0) = 0;
  // The DNS servers of this host, of all adapters.
  virtual absl::StatusOr<std::vector<IpAddress>> NameServers() { return std::vector<IpAddress>(); }
  // Windows' only; Linux: empty.
  virtual absl::StatusOr<StaticIp> ReadStaticIp(std::uint32_t /*adapter_index*/) {
    return StaticIp();
  }
  // Adds the addresses, until the adapter is removed or the system restarts. Replaces the name
  // servers unless there are none, and the metric unless it is absent.
  virtual absl::Status PutStaticIp(std::uint32_t /*adapter_index*/, const StaticIp&) {
    return absl::UnimplementedError("static IP settings are set on Windows only");
  }
  // The route the system would take to `destination`: adapter, gateway, preferred source.
  virtual absl::StatusOr<Route> RouteTo(const IpAddress& destination) = 0;

  virtual absl::Status SetLinkUp(std::uint32_t adapter_index, std::uint32_t mtu) = 0;
  // Adds an address; succeeds if it exists.
  virtual absl::Status AddAddress(std::uint32_t adapter_index, const AssignedAddress& address) = 0;
  // Adds routes and changes no existing one. AlreadyExists: a route exists, on Linux with the same
  // destination and metric, on Windows with the same destination, gateway and adapter. One batch; a
  // refused route stops no other. Returns one status for each route, in order.
  virtual std::vector<absl::Status> PutRoutes(const std::vector<Route>& routes) = 0;
  // The same, but replaces an existing route atomically.
  virtual std::vector<absl::Status> ReplaceRoutes(const std::vector<Route>& routes) = 0;
  // Succeeds for a route that does not exist.
  virtual std::vector<absl::Status> RemoveRoutes(const std::vector<Route>& routes) = 0;

  // Forwarding between this adapter and the others. The setting is lost when the system makes the
  // adapter again (HNS does so with each first network).
  virtual absl::Status SetForwarding(std::uint32_t adapter_index, IpFamily family, bool on) = 0;
  virtual absl::StatusOr<bool> Forwarding(std::uint32_t adapter_index, IpFamily family) = 0;
  // Makes the rule, in our group, or corrects the one of ours that has its name: returns what was
  // wrong with that, empty if nothing was. Another program's rule of that name is not changed;
  // FailedPrecondition: it does not allow what `rule` does (it is disabled, for another port, ...);
  // AlreadyExists: it allows more, any source. PermissionDenied: the rule is voided by a policy.
  // Like the next two Unimplemented where rules have no names, Unavailable while the firewall's
  // service does not run.
  virtual absl::StatusOr<std::string> AllowUdpIn(const FirewallRule& rule) = 0;
  virtual absl::StatusOr<RuleOwner> FindFirewallRule(const std::string& name) = 0;
  // Another program's rule stays. Succeeds if there is none of ours.
  virtual absl::Status RemoveFirewallRule(const std::string& name) = 0;

  // Calls `changed`, on any thread and perhaps more often than needed, when an adapter, an address
  // or a default route was added, changed or removed.
  virtual absl::StatusOr<std::unique_ptr<Watch>> WatchChanges(std::function<void()> changed) = 0;
  // Calls `changed`, on any thread, when routes were added, changed or removed; not for changes
  // made through this Host, where the system can tell them apart.
  virtual absl::StatusOr<std::unique_ptr<Watch>> WatchRoutes(
      std::function<void(const RouteChanges&)> changed) {
    return WatchChanges([changed = std::move(changed)] { changed({}); });
  }
  // Windows, or an emulation of it: routes bear no mark, static routes are lost with a vSwitch, and
  // changes may go unreported.
  virtual bool is_windows() const { return false; }
};

// The name that rke2 and Microsoft's scripts use, so that all tools share one rule (for port 4789).
inline constexpr char kOverlayFirewallRule[] = "OverlayTraffic4789UDP";

// The host this process runs on.
absl::StatusOr<std::unique_ptr<Host>> OpenHost();

}  // namespace weft::host
