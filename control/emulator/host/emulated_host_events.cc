// SPDX-License-Identifier: Apache-2.0
// Events on a host: by an administrator, by DHCP, by HNS.
#include <algorithm>
#include <utility>

#include "control/emulator/host/emulated_host.h"

namespace weft::host {
namespace {

void Erase(std::vector<AssignedAddress>& from, const std::vector<AssignedAddress>& what) {
  std::erase_if(from, [&](const AssignedAddress& each) {
    return std::ranges::find(what, each) != what.end();
  });
}

}  // namespace

std::uint32_t EmulatedHost::AddAdapter(Adapter adapter, bool usable, std::string endpoint) {
  std::uint32_t index = adapter.index;
  {
    const std::lock_guard lock(mutex_);
    if (index == 0) index = state_.next_index++;
    adapter.index = index;
    EmulatedAdapter added;
    added.adapter = std::move(adapter);
    added.usable = usable;
    added.endpoint = std::move(endpoint);
    state_.next_index = std::max(state_.next_index, index + 1);
    state_.adapters.push_back(std::move(added));
  }
  NotifyWatchers();
  return index;
}

void EmulatedHost::RemoveAdapter(std::string_view name) {
  {
    const std::lock_guard lock(mutex_);
    const EmulatedAdapter* found = FindNamed(name);
    if (!found) return;
    const std::uint32_t index = found->adapter.index;
    std::erase_if(state_.routes, [&](const Route& route) { return route.adapter_index == index; });
    std::erase_if(state_.adapters,
                  [&](const EmulatedAdapter& each) { return each.adapter.index == index; });
  }
  NotifyWatchers();
}

void EmulatedHost::RemoveEndpoint(std::string_view endpoint) {
  std::string name;
  {
    const std::lock_guard lock(mutex_);
    for (const EmulatedAdapter& each : state_.adapters)
      if (each.endpoint == endpoint) name = each.adapter.name;
  }
  if (!endpoint.empty()) RemoveAdapter(name);
}

void EmulatedHost::Reboot() {
  Change([&] {
    std::erase_if(state_.routes,
                  [](const Route& route) { return route.destination.length() != 0; });
    for (EmulatedAdapter& each : state_.adapters) {
      if (each.until_reboot.empty()) continue;
      Erase(each.adapter.addresses, each.until_reboot);
      Erase(each.static_ip.addresses, each.until_reboot);
      each.until_reboot.clear();
      each.link_local_until = Milliseconds::max();
      EraseRoutes(each);
    }
  });
}

void EmulatedHost::Unplug(std::string_view name) {
  ChangeAdapter(name, [](EmulatedAdapter& found) { found.gone = true; });
}

void EmulatedHost::Plug(std::string_view name) {
  ChangeAdapter(name, [](EmulatedAdapter& found) { found.gone = false; });
}

void EmulatedHost::SetUp(std::string_view name, bool up) {
  ChangeAdapter(name, [up](EmulatedAdapter& found) { found.adapter.up = up; });
}

void EmulatedHost::SetAddresses(std::string_view name, std::vector<AssignedAddress> addresses) {
  ChangeAdapter(name,
                [&](EmulatedAdapter& found) { found.adapter.addresses = std::move(addresses); });
}

void EmulatedHost::SetStaticIp(std::string_view name, StaticIp settings) {
  ChangeAdapter(name, [&](EmulatedAdapter& found) {
    std::vector<AssignedAddress>& addresses = found.adapter.addresses;
    Erase(addresses, found.static_ip.addresses);
    Erase(addresses, settings.addresses);
    addresses.insert(addresses.begin(), settings.addresses.begin(), settings.addresses.end());
    found.static_ip = std::move(settings);
    found.until_reboot.clear();
    found.link_local_until = Milliseconds(0);
  });
}

void EmulatedHost::Rename(std::string_view name, std::string to) {
  ChangeAdapter(name, [&](EmulatedAdapter& found) { found.adapter.name = std::move(to); });
}

void EmulatedHost::MoveInterface(EmulatedAdapter& from, EmulatedAdapter& to) {
  to.adapter.addresses = std::exchange(from.adapter.addresses, {});
  to.adapter.mtu = from.adapter.mtu;
  std::erase_if(state_.routes, [&](const Route& route) {
    return route.adapter_index == from.adapter.index && route.destination.length() != 0;
  });
  for (Route& route : state_.routes)
    if (route.adapter_index == from.adapter.index) route.adapter_index = to.adapter.index;
  from.forwarding_v4 = from.forwarding_v6 = false;
}

void EmulatedHost::EraseRoutes(const EmulatedAdapter& of) {
  std::erase_if(state_.routes, [&](const Route& route) {
    return route.adapter_index == of.adapter.index && route.destination.base().is_v4();
  });
}

void EmulatedHost::BindSwitch(std::string_view adapter, std::string host_adapter, Milliseconds gap,
                              Milliseconds new_interface, Milliseconds link_local,
                              StaticIpLoss lost) {
  {
    const std::lock_guard lock(mutex_);
    if (!FindNamed(adapter) || state_.switches.contains(std::string(adapter))) return;
    EmulatedAdapter made;
    made.adapter.index = state_.next_index++;
    made.adapter.name = host_adapter;
    made.adapter.up = true;
    made.visible_from = now_() + new_interface;
    if (link_local > Milliseconds(0)) made.link_local_until = now_() + link_local;
    made.usable = false;
    state_.adapters.push_back(std::move(made));
    EmulatedAdapter& from = *FindNamed(adapter);
    EmulatedAdapter& to = state_.adapters.back();
    to.adapter.mac = from.adapter.mac;
    MoveInterface(from, to);
    if (lost == StaticIpLoss::kNothing) {
      to.static_ip = std::exchange(from.static_ip, {});
    } else if (lost == StaticIpLoss::kNameServersAndMetric) {
      to.static_ip.addresses = std::exchange(from.static_ip.addresses, {});
    } else if (!from.static_ip.addresses.empty()) {
      Erase(to.adapter.addresses, from.static_ip.addresses);
      to.link_local_until = Milliseconds::max();  // no DHCP server answers
      for (Route& route : state_.routes) {
        if (route.adapter_index == to.adapter.index && route.destination.base().is_v4())
          route.adapter_index = from.adapter.index;
      }
    }
    state_.switches.emplace(adapter, std::move(host_adapter));
    state_.gap_until = now_() + gap;
  }
  NotifyWatchers();
}

void EmulatedHost::HideBoundAdapters(bool hide) {
  Change([&] { hides_bound_ = hide; });
}

void EmulatedHost::UnbindSwitch(std::string_view adapter, Milliseconds gap,
                                Milliseconds new_interface) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = state_.switches.find(std::string(adapter));
    if (found == state_.switches.end()) return;
    const std::string host_adapter = found->second;
    state_.switches.erase(found);
    EmulatedAdapter* from = FindNamed(host_adapter);
    EmulatedAdapter* to = FindNamed(adapter);
    if (from && to) {
      const StaticIp own = to->static_ip;  // what the switch's adapter lost
      if (!own.addresses.empty()) {
        std::erase_if(from->adapter.addresses,
                      [](const AssignedAddress& each) { return each.address.is_v4(); });
        EraseRoutes(*from);
      }
      MoveInterface(*from, *to);
      to->visible_from = now_() + new_interface;
      to->static_ip = from->static_ip;
      to->adapter.addresses.insert(to->adapter.addresses.begin(), own.addresses.begin(),
                                   own.addresses.end());
      if (!own.addresses.empty()) to->static_ip.addresses = own.addresses;
      if (!own.name_servers.empty()) to->static_ip.name_servers = own.name_servers;
      if (own.metric) to->static_ip.metric = own.metric;
    }
    std::erase_if(state_.adapters,
                  [&](const EmulatedAdapter& each) { return each.adapter.name == host_adapter; });
    state_.gap_until = now_() + gap;
  }
  NotifyWatchers();
}

void EmulatedHost::StopFirewall(Milliseconds how_long) {
  const std::lock_guard lock(mutex_);
  state_.firewall_from = now_() + how_long;
}

bool EmulatedHost::Reachable() const {
  const std::lock_guard lock(mutex_);
  return state_.gap_until <= now_();
}

}  // namespace weft::host
