// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/host/host_side.h"

#include <algorithm>
#include <utility>

namespace weft::hns::emulator {
namespace {

using host::EmulatedAdapter;
using host::HostState;

// An adapter that a switch may be built on, by name.
std::optional<PhysicalAdapter> Physical(const HostState& state, std::string_view name) {
  for (const EmulatedAdapter& each : state.adapters) {
    if (each.adapter.name != name || each.gone || each.adapter.loopback) continue;
    if (IsHostAdapterName(name)) return std::nullopt;
    const bool is_virtual =
        !each.endpoint.empty() ||
        std::any_of(state.switches.begin(), state.switches.end(),
                    [&](const auto& entry) { return entry.second == each.adapter.name; });
    return PhysicalAdapter{each.adapter.name, each.usable, is_virtual};
  }
  return std::nullopt;
}

// The adapter on whose switch `each` is the host's, else `each` itself.
std::optional<PhysicalAdapter> PhysicalOf(const HostState& state, const EmulatedAdapter& each) {
  for (const auto& [adapter, host_adapter] : state.switches)
    if (host_adapter == each.adapter.name) return Physical(state, adapter);
  return Physical(state, each.adapter.name);
}

}  // namespace

std::optional<PhysicalAdapter> HostSide::FindByName(std::string_view name) const {
  return Physical(host_.state(), name);
}

std::optional<PhysicalAdapter> HostSide::FindByAddress(const IpAddress& address) const {
  const HostState state = host_.state();
  for (const EmulatedAdapter& each : state.adapters) {
    for (const host::AssignedAddress& assigned : each.adapter.addresses)
      if (assigned.address == address && !each.gone) return PhysicalOf(state, each);
  }
  return std::nullopt;
}

std::optional<PhysicalAdapter> HostSide::FindDefault() const {
  const HostState state = host_.state();
  const host::Route* best = nullptr;
  for (const host::Route& route : state.routes) {
    if (route.destination.length() == 0 && route.destination.family() == IpFamily::kV4 &&
        (!best || route.metric < best->metric))
      best = &route;
  }
  for (const EmulatedAdapter& each : state.adapters)
    if (best && each.adapter.index == best->adapter_index) return PhysicalOf(state, each);
  for (const EmulatedAdapter& each : state.adapters) {
    const auto physical = Physical(state, each.adapter.name);
    if (physical && physical->usable && !physical->is_virtual) return physical;
  }
  return std::nullopt;
}

std::vector<PhysicalAdapter> HostSide::UsableAdapters() const {
  const HostState state = host_.state();
  std::vector<PhysicalAdapter> usable;
  for (const EmulatedAdapter& each : state.adapters) {
    const auto physical = Physical(state, each.adapter.name);
    if (physical && physical->usable && !physical->is_virtual) usable.push_back(*physical);
  }
  return usable;
}

std::vector<IpAddress> HostSide::AddressesOf(std::string_view adapter) const {
  const HostState state = host_.state();
  const auto on_switch = state.switches.find(std::string(adapter));
  const std::string_view name = on_switch == state.switches.end() ? adapter : on_switch->second;
  std::vector<IpAddress> addresses;
  const auto shown = host_.Adapters();
  if (!shown.ok()) return addresses;
  for (const host::Adapter& each : *shown) {
    if (each.name != name) continue;
    for (const host::AssignedAddress& assigned : each.addresses)
      addresses.push_back(assigned.address);
  }
  return addresses;
}

void HostSide::AttachSwitch(std::string_view adapter, const std::string& host_adapter,
                            const SwitchTiming& timing) {
  host_.BindSwitch(adapter, host_adapter, timing.gap, timing.new_interface, timing.link_local,
                   timing.lost);
}

void HostSide::DetachSwitch(std::string_view adapter, const SwitchTiming& timing) {
  host_.UnbindSwitch(adapter, timing.gap, timing.new_interface);
}

void HostSide::AttachEndpoint(const HostEndpoint& endpoint) {
  host::Adapter adapter;
  adapter.name = HostAdapterName(endpoint.name);
  adapter.mtu = 1500;
  adapter.up = true;
  adapter.mac = endpoint.mac;
  adapter.addresses = {{endpoint.address, endpoint.prefix_length}};
  host_.AddAdapter(std::move(adapter), false, endpoint.id.ToString());
}

void HostSide::DetachEndpoint(const Guid& endpoint) { host_.RemoveEndpoint(endpoint.ToString()); }

}  // namespace weft::hns::emulator
