// SPDX-License-Identifier: Apache-2.0
// IP Helper and COM. A call of a function that Wine lacks returns an error.
#include "control/host/host_win.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/host/routes_win.h"
#include "control/host/static_ip_win.h"
#include "control/host/watch_win.h"
#include "vxlan/text/utf16_win.h"

namespace weft::host {
namespace {

// Only Linux has devices of our own; on Windows HNS makes them.
absl::Status NotWritten(std::string_view what) {
  return absl::UnimplementedError(
      absl::StrCat("cannot ", what, ": no data plane on Windows needs it"));
}

// The name servers of all adapters.
absl::StatusOr<std::vector<IpAddress>> ReadNameServers(const IpHelper& helper) {
  constexpr ULONG kFlags = GAA_FLAG_SKIP_UNICAST | GAA_FLAG_SKIP_ANYCAST | GAA_FLAG_SKIP_MULTICAST |
                           GAA_FLAG_SKIP_FRIENDLY_NAME;
  ULONG size = 16 * 1024;
  // The list may grow between the call for its size and the call that reads it.
  for (int attempt = 0; attempt < 4; ++attempt) {
    std::vector<std::byte> buffer(size);
    auto* const first = reinterpret_cast<IP_ADAPTER_ADDRESSES*>(buffer.data());
    const ULONG code = helper.adapters_addresses(AF_UNSPEC, kFlags, nullptr, first, &size);
    std::vector<IpAddress> servers;
    if (code == ERROR_NO_DATA) return servers;
    if (code == ERROR_BUFFER_OVERFLOW) continue;
    if (code != NO_ERROR) return Failure("list the name servers", code);
    for (const auto* row = first; row; row = row->Next) {
      for (const auto* entry = row->FirstDnsServerAddress; entry; entry = entry->Next) {
        const auto address =
            AddressOf(*reinterpret_cast<const SOCKADDR_INET*>(entry->Address.lpSockaddr));
        if (address) servers.push_back(*address);
      }
    }
    return servers;
  }
  return absl::UnavailableError(
      "the name servers changed each of the 4 times they were listed; try again");
}

class WindowsHost final : public Host {
 public:
  WindowsHost(const IpHelper& helper, FirewallCom firewall)
      : helper_(helper), firewall_(std::move(firewall)) {}

  absl::StatusOr<std::vector<Adapter>> Adapters() override {
    absl::StatusOr<std::vector<std::byte>> buffer = ReadAdapters();
    if (!buffer.ok()) return buffer.status();
    std::vector<Adapter> adapters;
    metrics_.clear();
    for (const auto* row = buffer->empty()
                               ? nullptr
                               : reinterpret_cast<const IP_ADAPTER_ADDRESSES*>(buffer->data());
         row; row = row->Next) {
      adapters.push_back(AdapterOf(*row));
      metrics_[adapters.back().index] = {row->Ipv4Metric, row->Ipv6Metric};
    }
    return adapters;
  }

  absl::StatusOr<std::vector<Route>> Routes(IpFamily family, std::uint32_t adapter_index) override {
    const absl::StatusOr<std::vector<Route>> rows = ReadRoutes(family);
    if (!rows.ok()) return rows.status();
    std::vector<Route> routes;
    for (const Route& row : *rows)
      if (adapter_index == 0 || row.adapter_index == adapter_index) routes.push_back(row);
    return routes;
  }

  absl::StatusOr<std::vector<IpAddress>> NameServers() override { return ReadNameServers(helper_); }

  absl::StatusOr<StaticIp> ReadStaticIp(std::uint32_t adapter_index) override {
    return WithAdapter(adapter_index, [this](const IP_ADAPTER_ADDRESSES& row) {
      return host::ReadStaticIp(helper_, row);
    });
  }
  absl::Status PutStaticIp(std::uint32_t adapter_index, const StaticIp& settings) override {
    return WithAdapter(adapter_index, [&](const IP_ADAPTER_ADDRESSES& row) -> absl::Status {
      return host::PutStaticIp(helper_, row, settings);
    });
  }

  absl::StatusOr<Route> RouteTo(const IpAddress& destination) override {
    if (helper_.best_route) {
      // Reads their metrics again, which may have changed since they were listed.
      if (const auto adapters = Adapters(); !adapters.ok()) return adapters.status();
      const SOCKADDR_INET target = SocketAddressOf(destination);
      MIB_IPFORWARD_ROW2 row{};
      SOCKADDR_INET source{};
      if (helper_.best_route(nullptr, 0, nullptr, &target, 0, &row, &source) == NO_ERROR) {
        if (std::optional<Route> route = RouteOf(row)) {
          route->source = AddressOf(source);
          return *route;
        }
      }
    }
    // Wine's GetBestRoute2 is a stub: longest prefix, then lowest metric.
    const absl::StatusOr<std::vector<Route>> rows = ReadRoutes(destination.family());
    if (!rows.ok()) return rows.status();
    const Route* best = nullptr;
    for (const Route& route : *rows) {
      if (!route.destination.Contains(destination)) continue;
      const auto rank = [](const Route& r) {
        return std::pair(-r.destination.length(), PrecedenceOf(r));
      };
      if (!best || rank(route) < rank(*best)) best = &route;
    }
    if (best) return *best;
    return absl::NotFoundError(
        absl::StrCat("cannot find a route to ", destination.ToString(), ": there is none"));
  }

  absl::Status SetLinkUp(std::uint32_t adapter_index, std::uint32_t) override {
    return NotWritten(absl::StrCat("set adapter ", adapter_index, " up"));
  }
  absl::Status AddAddress(std::uint32_t adapter_index, const AssignedAddress& address) override {
    return NotWritten(
        absl::StrCat("give ", address.address.ToString(), " to adapter ", adapter_index));
  }
  std::vector<absl::Status> PutRoutes(const std::vector<Route>& routes) override {
    std::vector<absl::Status> statuses;
    statuses.reserve(routes.size());
    for (const Route& route : routes) statuses.push_back(PutRoute(helper_, route));
    return statuses;
  }
  std::vector<absl::Status> ReplaceRoutes(const std::vector<Route>& routes) override {
    std::vector<absl::Status> statuses;
    statuses.reserve(routes.size());
    for (const Route& route : routes) statuses.push_back(ReplaceRoute(helper_, route));
    return statuses;
  }
  std::vector<absl::Status> RemoveRoutes(const std::vector<Route>& routes) override {
    std::vector<absl::Status> statuses;
    statuses.reserve(routes.size());
    for (const Route& route : routes) statuses.push_back(RemoveRoute(helper_, route));
    return statuses;
  }
  absl::Status SetForwarding(std::uint32_t adapter_index, IpFamily family, bool on) override {
    return WriteForwarding(helper_, adapter_index, family, on);
  }
  absl::StatusOr<bool> Forwarding(std::uint32_t adapter_index, IpFamily family) override {
    return ReadForwarding(helper_, adapter_index, family);
  }
  absl::StatusOr<std::string> AllowUdpIn(const FirewallRule& rule) override {
    return AllowUdpInByFirewall(firewall_, rule);
  }
  absl::StatusOr<RuleOwner> FindFirewallRule(const std::string& name) override {
    return FindInFirewall(firewall_, name);
  }
  absl::Status RemoveFirewallRule(const std::string& name) override {
    return RemoveFromFirewall(firewall_, name);
  }
  absl::StatusOr<std::unique_ptr<Watch>> WatchChanges(std::function<void()> changed) override {
    return MibWatch::Open(helper_, std::move(changed));
  }
  absl::StatusOr<std::unique_ptr<Watch>> WatchRoutes(
      std::function<void(const RouteChanges&)> changed) override {
    return MibRouteWatch::Open(helper_, std::move(changed));
  }
  bool is_windows() const override { return true; }

 private:
  struct Metrics {
    std::uint32_t v4 = 0, v6 = 0;
  };

  static Adapter AdapterOf(const IP_ADAPTER_ADDRESSES& row) {
    Adapter adapter;
    adapter.index = row.IfIndex ? row.IfIndex : row.Ipv6IfIndex;
    adapter.name = Utf8(row.FriendlyName);
    adapter.mtu = row.Mtu;
    adapter.up = row.OperStatus == IfOperStatusUp;
    adapter.loopback = row.IfType == IF_TYPE_SOFTWARE_LOOPBACK;
    adapter.wireless = row.IfType == IF_TYPE_IEEE80211;
    if (row.PhysicalAddressLength == MacAddress::kSize)
      adapter.mac = MacAddress::FromBytes(reinterpret_cast<const std::byte*>(row.PhysicalAddress));
    std::vector<AssignedAddress> passing;
    for (const auto* entry = row.FirstUnicastAddress; entry; entry = entry->Next) {
      if (entry->DadState == IpDadStateDuplicate || entry->DadState == IpDadStateInvalid) continue;
      const auto address =
          AddressOf(*reinterpret_cast<const SOCKADDR_INET*>(entry->Address.lpSockaddr));
      if (!address) continue;
      const bool deprecated = entry->DadState == IpDadStateDeprecated;
      const bool last = deprecated || entry->SuffixOrigin == IpSuffixOriginRandom;
      (last ? passing : adapter.addresses)
          .push_back({*address, entry->OnLinkPrefixLength, deprecated});
    }
    adapter.addresses.insert(adapter.addresses.end(), passing.begin(), passing.end());
    return adapter;
  }

  // The result of `use` with the adapter's row, or why there is none.
  auto WithAdapter(std::uint32_t index, const auto& use) const
      -> decltype(use(std::declval<const IP_ADAPTER_ADDRESSES&>())) {
    const absl::StatusOr<std::vector<std::byte>> buffer = ReadAdapters();
    if (!buffer.ok()) return buffer.status();
    for (const auto* row = buffer->empty()
                               ? nullptr
                               : reinterpret_cast<const IP_ADAPTER_ADDRESSES*>(buffer->data());
         row; row = row->Next) {
      if (AdapterOf(*row).index == index) return use(*row);
    }
    return absl::NotFoundError(
        absl::StrCat("cannot find adapter ", index, ": there is no such adapter"));
  }

  // The list may grow between the call for its size and the call that reads it.
  absl::StatusOr<std::vector<std::byte>> ReadAdapters() const {
    constexpr ULONG kFlags =
        GAA_FLAG_SKIP_ANYCAST | GAA_FLAG_SKIP_MULTICAST | GAA_FLAG_SKIP_DNS_SERVER;
    ULONG size = 32 * 1024;
    for (int attempt = 0; attempt < 4; ++attempt) {
      std::vector<std::byte> buffer(size);
      auto* first = reinterpret_cast<IP_ADAPTER_ADDRESSES*>(buffer.data());
      const ULONG code = helper_.adapters_addresses(AF_UNSPEC, kFlags, nullptr, first, &size);
      if (code == NO_ERROR) return buffer;
      if (code == ERROR_NO_DATA) return std::vector<std::byte>();
      if (code != ERROR_BUFFER_OVERFLOW) return Failure("list the adapters", code);
    }
    return absl::UnavailableError(
        "the adapters changed each of the 4 times they were listed; try again");
  }

  // Empty: the row is not of IPv4 or IPv6.
  std::optional<Route> RouteOf(const MIB_IPFORWARD_ROW2& row) const {
    std::optional<Route> route = RouteOfRow(row);
    if (!route) return std::nullopt;
    const auto found = metrics_.find(row.InterfaceIndex);
    const Metrics metrics = found == metrics_.end() ? Metrics() : found->second;
    route->adapter_metric = route->destination.family() == IpFamily::kV4 ? metrics.v4 : metrics.v6;
    return route;
  }

  absl::StatusOr<std::vector<Route>> ReadRoutes(IpFamily family) {
    if (const auto adapters = Adapters(); !adapters.ok())
      return adapters.status();  // for their metrics
    MIB_IPFORWARD_TABLE2* table = nullptr;
    const DWORD code = helper_.forward_table(FamilyNumber(family), &table);
    if (code == ERROR_NOT_FOUND || code == ERROR_NOT_SUPPORTED)
      return std::vector<Route>();  // there are none, or the family is disabled
    if (code != NO_ERROR) return Failure("list the routes", code);
    std::vector<Route> routes;
    for (ULONG i = 0; i < table->NumEntries; ++i)
      if (std::optional<Route> route = RouteOf(table->Table[i])) routes.push_back(*route);
    helper_.free_table(table);
    return routes;
  }

  IpHelper helper_;
  FirewallCom firewall_;
  std::map<std::uint32_t, Metrics> metrics_;  // by adapter, as of the last listing
};

}  // namespace

std::unique_ptr<Host> MakeWindowsHost(const IpHelper& helper, FirewallCom firewall) {
  return std::make_unique<WindowsHost>(helper, std::move(firewall));
}

absl::StatusOr<std::unique_ptr<Host>> OpenHost() {
  const absl::StatusOr<IpHelper> helper = IpHelper::Load();
  if (!helper.ok()) return helper.status();
  return MakeWindowsHost(*helper, FirewallCom::System());
}

}  // namespace weft::host
