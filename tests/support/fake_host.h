// SPDX-License-Identifier: Apache-2.0
// A host in memory: adapters, addresses and routes that behave; calls that the test names fail.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/host/host.h"

namespace weft::testing {

class FakeHost : public host::Host {
 public:
  std::vector<host::Adapter> adapters;
  std::vector<host::Route> routes;
  std::vector<IpAddress> name_servers;
  absl::Status name_servers_readable;
  std::set<IpPrefix> failing;                    // routes to these can neither be put nor removed
  absl::Status unreadable;                       // the result of Routes while not OK
  bool loses_routes = false;                     // PutRoutes returns OK and does nothing
  std::vector<std::function<void()>*> watchers;  // to be called by the test
  bool adds_next_to =
      false;  // another gateway or adapter makes another route to the same destination
  bool windows = false;
  bool keeps_routes = false;  // RemoveRoutes returns OK and does nothing
  // "put 10.244.1.0/24", "replace 10.244.1.0/24", "remove 10.244.1.0/24", "up 7 mtu 1450", ...
  std::vector<std::string> done;
  std::size_t reads = 0;  // calls of Routes

  absl::StatusOr<std::vector<host::Adapter>> Adapters() override { return adapters; }

  absl::StatusOr<std::vector<host::Route>> Routes(IpFamily family, std::uint32_t adapter) override {
    ++reads;
    if (!unreadable.ok()) return unreadable;
    std::vector<host::Route> found;
    for (const host::Route& route : routes) {
      if (route.destination.family() != family) continue;
      if (adapter == 0 || route.adapter_index == adapter) found.push_back(route);
    }
    return found;
  }

  absl::StatusOr<std::vector<IpAddress>> NameServers() override {
    if (!name_servers_readable.ok()) return name_servers_readable;
    return name_servers;
  }

  // Longest prefix over the routes, then the lesser metric.
  absl::StatusOr<host::Route> RouteTo(const IpAddress& destination) override {
    const host::Route* best = nullptr;
    for (const host::Route& route : routes) {
      if (route.destination.family() != destination.family() ||
          !route.destination.Contains(destination))
        continue;
      if (best == nullptr || route.destination.length() > best->destination.length() ||
          (route.destination.length() == best->destination.length() &&
           route.metric < best->metric)) {
        best = &route;
      }
    }
    if (best == nullptr) return absl::NotFoundError("no route to " + destination.ToString());
    return *best;
  }

  absl::Status SetLinkUp(std::uint32_t index, std::uint32_t mtu) override {
    const auto at = Find(index);
    if (at == adapters.end()) return absl::NotFoundError("no adapter " + std::to_string(index));
    at->up = true;
    at->mtu = mtu;
    done.push_back("up " + std::to_string(index) + " mtu " + std::to_string(mtu));
    return absl::OkStatus();
  }

  absl::Status AddAddress(std::uint32_t index, const host::AssignedAddress& address) override {
    const auto at = Find(index);
    if (at == adapters.end()) return absl::NotFoundError("no adapter " + std::to_string(index));
    if (std::find(at->addresses.begin(), at->addresses.end(), address) != at->addresses.end())
      return absl::OkStatus();
    at->addresses.push_back(address);
    done.push_back("address " + address.address.ToString() + "/" +
                   std::to_string(address.prefix_length));
    return absl::OkStatus();
  }

  std::vector<absl::Status> PutRoutes(const std::vector<host::Route>& desired) override {
    return Put(desired, /*over=*/false);
  }
  std::vector<absl::Status> ReplaceRoutes(const std::vector<host::Route>& desired) override {
    return Put(desired, /*over=*/true);
  }

  std::vector<absl::Status> RemoveRoutes(const std::vector<host::Route>& unwanted) override {
    std::vector<absl::Status> results;
    for (const host::Route& route : unwanted) {
      if (failing.contains(route.destination)) {
        results.push_back(absl::UnavailableError("operation not permitted"));
        continue;
      }
      done.push_back("remove " + route.destination.ToString());
      if (!keeps_routes) {
        std::erase_if(routes, [&route](const host::Route& other) {
          return other.destination == route.destination && other.gateway == route.gateway &&
                 other.adapter_index == route.adapter_index;
        });
      }
      results.push_back(absl::OkStatus());
    }
    return results;
  }

  absl::Status SetForwarding(std::uint32_t index, IpFamily, bool on) override {
    done.push_back("forwarding " + std::to_string(index) + (on ? " on" : " off"));
    return absl::OkStatus();
  }
  absl::StatusOr<bool> Forwarding(std::uint32_t, IpFamily) override { return false; }
  absl::StatusOr<std::string> AllowUdpIn(const host::FirewallRule& rule) override {
    done.push_back("allow " + rule.name);
    return "";
  }
  absl::StatusOr<host::RuleOwner> FindFirewallRule(const std::string&) override {
    return host::RuleOwner::kNone;
  }
  absl::Status RemoveFirewallRule(const std::string&) override { return absl::OkStatus(); }

  absl::StatusOr<std::unique_ptr<host::Watch>> WatchChanges(
      std::function<void()> changed) override {
    struct Registered final : host::Watch {
      Registered(FakeHost& of, std::function<void()> to_call)
          : host(of), changed(std::move(to_call)) {
        host.watchers.push_back(&changed);
      }
      ~Registered() override { std::erase(host.watchers, &changed); }
      FakeHost& host;
      std::function<void()> changed;
    };
    return std::make_unique<Registered>(*this, std::move(changed));
  }
  bool is_windows() const override { return windows; }

 private:
  std::vector<host::Adapter>::iterator Find(std::uint32_t index) {
    return std::find_if(adapters.begin(), adapters.end(),
                        [index](const host::Adapter& adapter) { return adapter.index == index; });
  }
  std::vector<absl::Status> Put(const std::vector<host::Route>& desired, bool over) {
    std::vector<absl::Status> results;
    for (const host::Route& route : desired) {
      if (failing.contains(route.destination)) {
        results.push_back(absl::UnavailableError("network is unreachable"));
        continue;
      }
      if (!over && std::any_of(routes.begin(), routes.end(),
                               [&](const host::Route& each) { return InPlaceOf(route, each); })) {
        results.push_back(absl::AlreadyExistsError("file exists"));
        continue;
      }
      done.push_back((over ? "replace " : "put ") + route.destination.ToString());
      if (!loses_routes) {
        std::erase_if(routes, [&](const host::Route& each) { return InPlaceOf(route, each); });
        routes.push_back(route);
      }
      results.push_back(absl::OkStatus());
    }
    return results;
  }
  // As on Linux, across adapters; or as on Windows, where another gateway is another route.
  bool InPlaceOf(const host::Route& route, const host::Route& other) const {
    if (other.destination != route.destination) return false;
    if (adds_next_to)
      return other.gateway == route.gateway && other.adapter_index == route.adapter_index;
    return other.metric == route.metric;
  }
};

// One adapter, eth0 with index 2 and MTU 1500, with `address`/24 and the default route by
// `gateway`.
inline std::unique_ptr<FakeHost> HostWithDefaultRoute(std::string_view address,
                                                      std::string_view gateway) {
  auto host = std::make_unique<FakeHost>();
  host::Adapter eth0;
  eth0.index = 2;
  eth0.name = "eth0";
  eth0.mtu = 1500;
  eth0.up = true;
  eth0.addresses = {{*IpAddress::Parse(address), 24}};
  host->adapters = {eth0};
  host::Route way;
  way.gateway = *IpAddress::Parse(gateway);
  way.adapter_index = 2;
  host->routes = {way};
  return host;
}

}  // namespace weft::testing
