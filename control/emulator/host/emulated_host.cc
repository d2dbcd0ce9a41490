// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/host/emulated_host.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft::host {
namespace {

Milliseconds WallTime() {
  return std::chrono::duration_cast<Milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

bool IsSameWay(const Route& a, const Route& b) {
  return a.destination == b.destination && a.gateway == b.gateway &&
         a.adapter_index == b.adapter_index;
}

// Null: no rule has the name.
EmulatedFirewallRule* FirstNamed(std::vector<EmulatedFirewallRule>& rules,
                                 const std::string& name) {
  const auto found = std::ranges::find(rules, name, &FirewallRule::name);
  return found == rules.end() ? nullptr : &*found;
}

absl::Status NoAdapter(std::string_view what, std::uint32_t index) {
  return absl::NotFoundError(
      absl::StrCat("cannot ", what, " adapter ", index, ": there is no such adapter"));
}

}  // namespace

struct EmulatedHost::Watchers {
  std::mutex mutex;  // held during calls, so that the destructor of a Watch waits for them
  std::vector<const std::function<void()>*> list;
};

class EmulatedHost::Registration final : public Watch {
 public:
  Registration(std::shared_ptr<Watchers> watchers, std::function<void()> changed)
      : watchers_(std::move(watchers)), changed_(std::move(changed)) {
    const std::lock_guard lock(watchers_->mutex);
    watchers_->list.push_back(&changed_);
  }
  ~Registration() override {
    const std::lock_guard lock(watchers_->mutex);
    std::erase(watchers_->list, &changed_);
  }

 private:
  std::shared_ptr<Watchers> watchers_;
  std::function<void()> changed_;
};

EmulatedHost::EmulatedHost(HostState state, Now now)
    : state_(std::move(state)),
      now_(now ? std::move(now) : WallTime),
      watchers_(std::make_shared<Watchers>()) {}

EmulatedHost::~EmulatedHost() = default;

void EmulatedHost::NotifyWatchers() const {
  const std::lock_guard lock(watchers_->mutex);
  for (const std::function<void()>* changed : watchers_->list) (*changed)();
}

HostState EmulatedHost::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void EmulatedHost::Replace(HostState state) {
  Change([&] { state_ = std::move(state); });
}

bool EmulatedHost::Visible(const EmulatedAdapter& adapter) const {
  return !adapter.gone && adapter.visible_from <= now_();
}

bool EmulatedHost::IsBound(const EmulatedAdapter& adapter) const {
  return state_.switches.contains(adapter.adapter.name);
}

bool EmulatedHost::IsLinkLocal(const EmulatedAdapter& adapter) const {
  return now_() < adapter.link_local_until;
}

std::vector<AssignedAddress> EmulatedHost::AddressesOf(const EmulatedAdapter& adapter) const {
  std::vector<AssignedAddress> addresses = adapter.adapter.addresses;
  if (!IsLinkLocal(adapter)) return addresses;
  std::erase_if(addresses, [](const AssignedAddress& each) { return each.address.is_v4(); });
  addresses.insert(addresses.begin(), {IpAddress::V4(0xA9FE'95D8), 16});
  return addresses;
}

EmulatedAdapter* EmulatedHost::Find(std::uint32_t index) {
  for (EmulatedAdapter& each : state_.adapters)
    if (each.adapter.index == index && Visible(each)) return &each;
  return nullptr;
}

EmulatedAdapter* EmulatedHost::FindNamed(std::string_view name) {
  for (EmulatedAdapter& each : state_.adapters)
    if (each.adapter.name == name) return &each;
  return nullptr;
}

absl::StatusOr<std::vector<Adapter>> EmulatedHost::Adapters() {
  const std::lock_guard lock(mutex_);
  std::vector<Adapter> adapters;
  for (const EmulatedAdapter& each : state_.adapters) {
    if (!Visible(each)) continue;
    if (hides_bound_ && IsBound(each)) continue;
    adapters.push_back(each.adapter);
    adapters.back().addresses = AddressesOf(each);
  }
  return adapters;
}

absl::StatusOr<std::vector<Route>> EmulatedHost::Routes(IpFamily family,
                                                        std::uint32_t adapter_index) {
  const std::lock_guard lock(mutex_);
  std::vector<Route> routes;
  for (const Route& route : state_.routes) {
    const EmulatedAdapter* adapter = Find(route.adapter_index);
    if (route.destination.family() == family && adapter != nullptr && !IsBound(*adapter) &&
        !(route.gateway && route.gateway->is_v4() && IsLinkLocal(*adapter)) &&
        (adapter_index == 0 || route.adapter_index == adapter_index))
      routes.push_back(route);
  }
  return routes;
}

absl::StatusOr<std::vector<IpAddress>> EmulatedHost::NameServers() {
  const std::lock_guard lock(mutex_);
  std::vector<IpAddress> servers = state_.name_servers;
  for (const EmulatedAdapter& each : state_.adapters) {
    if (Visible(each) && !IsBound(each))
      servers.insert(servers.end(), each.static_ip.name_servers.begin(),
                     each.static_ip.name_servers.end());
  }
  return servers;
}

absl::StatusOr<StaticIp> EmulatedHost::ReadStaticIp(std::uint32_t adapter_index) {
  const std::lock_guard lock(mutex_);
  const EmulatedAdapter* const found = Find(adapter_index);
  if (!found) return NoAdapter("read the static IP settings of", adapter_index);
  StaticIp settings = found->static_ip;
  const std::vector<AssignedAddress> present = AddressesOf(*found);
  std::erase_if(settings.addresses, [&](const AssignedAddress& each) {
    return std::ranges::find(present, each) == present.end();
  });
  return settings;
}

absl::Status EmulatedHost::PutStaticIp(std::uint32_t adapter_index, const StaticIp& settings) {
  {
    const std::lock_guard lock(mutex_);
    EmulatedAdapter* const found = Find(adapter_index);
    if (!found) return NoAdapter("set the static IP settings of", adapter_index);
    for (const AssignedAddress& address : settings.addresses) {
      found->link_local_until = Milliseconds(0);
      for (std::vector<AssignedAddress>* const list :
           {&found->adapter.addresses, &found->static_ip.addresses, &found->until_reboot}) {
        if (std::ranges::find(*list, address) == list->end()) list->push_back(address);
      }
    }
    if (!settings.name_servers.empty()) found->static_ip.name_servers = settings.name_servers;
    if (settings.metric) found->static_ip.metric = settings.metric;
  }
  NotifyWatchers();
  return absl::OkStatus();
}

// Longest prefix first, then the lesser metric; the prefixes of addresses count as routes.
absl::StatusOr<Route> EmulatedHost::RouteTo(const IpAddress& destination) {
  const std::lock_guard lock(mutex_);
  std::optional<Route> best;
  const auto consider = [&](const Route& route) {
    const EmulatedAdapter* adapter = Find(route.adapter_index);
    if (!adapter || IsBound(*adapter) || !adapter->adapter.up ||
        !route.destination.Contains(destination))
      return;
    if (route.gateway && route.gateway->is_v4() && IsLinkLocal(*adapter)) return;
    const auto rank = [](const Route& r) { return std::pair(-r.destination.length(), r.metric); };
    if (!best || rank(route) < rank(*best)) best = route;
  };
  for (const EmulatedAdapter& each : state_.adapters) {
    for (const AssignedAddress& assigned : AddressesOf(each)) {
      Route connected;
      connected.destination = *IpPrefix::From(assigned.address, assigned.prefix_length);
      connected.adapter_index = each.adapter.index;
      connected.source = assigned.address;
      consider(connected);
    }
  }
  for (const Route& route : state_.routes) consider(route);
  if (!best) {
    return absl::NotFoundError(
        absl::StrCat("cannot find a route to ", destination.ToString(), ": there is none"));
  }
  if (!best->source) {
    for (const AssignedAddress& assigned : AddressesOf(*Find(best->adapter_index))) {
      if (assigned.address.family() != destination.family()) continue;
      best->source = assigned.address;
      break;
    }
  }
  return *best;
}

absl::Status EmulatedHost::SetLinkUp(std::uint32_t adapter_index, std::uint32_t mtu) {
  {
    const std::lock_guard lock(mutex_);
    EmulatedAdapter* found = Find(adapter_index);
    if (!found) return NoAdapter("set up", adapter_index);
    found->adapter.up = true;
    found->adapter.mtu = mtu;
  }
  NotifyWatchers();
  return absl::OkStatus();
}

absl::Status EmulatedHost::AddAddress(std::uint32_t adapter_index, const AssignedAddress& address) {
  {
    const std::lock_guard lock(mutex_);
    EmulatedAdapter* found = Find(adapter_index);
    if (!found)
      return NoAdapter(absl::StrCat("give ", address.address.ToString(), " to"), adapter_index);
    std::vector<AssignedAddress>& addresses = found->adapter.addresses;
    if (std::find(addresses.begin(), addresses.end(), address) != addresses.end())
      return absl::OkStatus();
    addresses.push_back(address);
  }
  NotifyWatchers();
  return absl::OkStatus();
}

bool EmulatedHost::OnLink(std::uint32_t adapter_index, const IpAddress& gateway) const {
  for (const EmulatedAdapter& each : state_.adapters) {
    if (each.adapter.index != adapter_index) continue;
    for (const AssignedAddress& assigned : AddressesOf(each))
      if (IpPrefix::From(assigned.address, assigned.prefix_length)->Contains(gateway)) return true;
  }
  return std::any_of(state_.routes.begin(), state_.routes.end(), [&](const Route& route) {
    return route.adapter_index == adapter_index && !route.gateway &&
           route.destination.Contains(gateway);
  });
}

absl::Status EmulatedHost::PutOne(const Route& route, bool replaces) {
  const auto text = [&](std::string_view why) {
    return absl::StrCat("cannot put route ", route.destination.ToString(),
                        route.gateway ? absl::StrCat(" via ", route.gateway->ToString()) : "",
                        " on adapter ", route.adapter_index, ": ", why);
  };
  const auto refuse = [&](std::string_view why) { return absl::InvalidArgumentError(text(why)); };
  if (!Find(route.adapter_index)) return refuse("there is no such adapter");
  if (route.gateway && !route.onlink && !OnLink(route.adapter_index, *route.gateway))
    return refuse("its gateway is not on link");
  const bool exists = std::any_of(state_.routes.begin(), state_.routes.end(),
                                  [&](const Route& other) { return IsSameWay(other, route); });
  if (exists && !replaces) return absl::AlreadyExistsError(text("the object already exists"));
  Route there = route;
  there.marked = true;  // on Windows all static routes count as marked
  std::erase_if(state_.routes, [&](const Route& other) { return IsSameWay(other, route); });
  state_.routes.push_back(there);
  return absl::OkStatus();
}

std::vector<absl::Status> EmulatedHost::PutAll(const std::vector<Route>& routes, bool replaces) {
  std::vector<absl::Status> results;
  {
    const std::lock_guard lock(mutex_);
    for (const Route& route : routes) results.push_back(PutOne(route, replaces));
  }
  // A refused change is none.
  if (std::ranges::any_of(results, [](const absl::Status& each) { return each.ok(); }))
    NotifyWatchers();
  return results;
}

std::vector<absl::Status> EmulatedHost::PutRoutes(const std::vector<Route>& routes) {
  return PutAll(routes, /*replaces=*/false);
}

std::vector<absl::Status> EmulatedHost::ReplaceRoutes(const std::vector<Route>& routes) {
  return PutAll(routes, /*replaces=*/true);
}

std::vector<absl::Status> EmulatedHost::RemoveRoutes(const std::vector<Route>& routes) {
  Change([&] {
    for (const Route& route : routes)
      std::erase_if(state_.routes, [&](const Route& other) { return IsSameWay(other, route); });
  });
  return std::vector<absl::Status>(routes.size());
}

absl::Status EmulatedHost::SetForwarding(std::uint32_t adapter_index, IpFamily family, bool on) {
  const std::lock_guard lock(mutex_);
  EmulatedAdapter* found = Find(adapter_index);
  if (!found) return NoAdapter("set forwarding of", adapter_index);
  (family == IpFamily::kV4 ? found->forwarding_v4 : found->forwarding_v6) = on;
  return absl::OkStatus();
}

absl::StatusOr<bool> EmulatedHost::Forwarding(std::uint32_t adapter_index, IpFamily family) {
  const std::lock_guard lock(mutex_);
  const EmulatedAdapter* found = Find(adapter_index);
  if (!found) return NoAdapter("read forwarding of", adapter_index);
  return family == IpFamily::kV4 ? found->forwarding_v4 : found->forwarding_v6;
}

absl::Status EmulatedHost::CheckFirewall(std::string_view what, const std::string& rule) const {
  if (state_.firewall_from <= now_()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot ", what, " the firewall's rule ", rule,
                                             ": its service is not running (0x800706d9)"));
}

absl::StatusOr<std::string> EmulatedHost::AllowUdpIn(const FirewallRule& rule) {
  const std::lock_guard lock(mutex_);
  if (absl::Status status = CheckFirewall("make", rule.name); !status.ok()) return status;
  EmulatedFirewallRule* const there = FirstNamed(state_.firewall, rule.name);
  if (there == nullptr) {
    state_.firewall.push_back({rule, kFirewallGroup});
    return "";
  }
  const std::string wrong = there->port != rule.port
                                ? absl::StrCat("it is not for port ", rule.port)
                            : there->sources != rule.sources ? "it is for other addresses"
                                                             : "";
  if (there->group == kFirewallGroup) {
    *there = {rule, kFirewallGroup};
    return wrong;
  }
  if (there->port == rule.port && rule.sources && !there->sources)
    return absl::AlreadyExistsError(
        absl::StrCat("the firewall rule ", rule.name, " of another program allows any address"));
  if (wrong.empty()) return wrong;
  return absl::FailedPreconditionError(
      absl::StrCat("the firewall rule ", rule.name, " exists, but ", wrong));
}

absl::StatusOr<RuleOwner> EmulatedHost::FindFirewallRule(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (absl::Status status = CheckFirewall("read", name); !status.ok()) return status;
  const EmulatedFirewallRule* const there = FirstNamed(state_.firewall, name);
  if (there == nullptr) return RuleOwner::kNone;
  return there->group == kFirewallGroup ? RuleOwner::kOurs : RuleOwner::kOther;
}

absl::Status EmulatedHost::RemoveFirewallRule(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (absl::Status status = CheckFirewall("remove", name); !status.ok()) return status;
  const EmulatedFirewallRule* const there = FirstNamed(state_.firewall, name);
  if (there != nullptr && there->group == kFirewallGroup)
    state_.firewall.erase(state_.firewall.begin() + (there - state_.firewall.data()));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Watch>> EmulatedHost::WatchChanges(std::function<void()> changed) {
  return std::make_unique<Registration>(watchers_, std::move(changed));
}

}  // namespace weft::host
