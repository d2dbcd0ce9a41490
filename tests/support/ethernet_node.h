// SPDX-License-Identifier: Apache-2.0
// A Windows node in memory with one adapter: "Ethernet", 192.168.1.10/24, unless given otherwise.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/emulator/emulated_node.h"
#include "control/emulator/host/adapter_text.h"
#include "control/emulator/host/host_side.h"

namespace weft::testing {

class EthernetNode : public emulator::EmulatedNode {
 public:
  explicit EthernetNode(hns::emulator::Clock& clock, hns::emulator::Settings settings = {},
                        std::string name = "Ethernet", std::string_view address = "192.168.1.10")
      : EmulatedNode(clock, std::move(settings)) {
    host::Adapter nic;
    nic.name = std::move(name);
    nic.addresses = {{*IpAddress::Parse(address), 24}};
    emulator::AddNic(host(), std::move(nic));
  }
};

// Adds "Ethernet" with `address` and its prefix length, and the default route via `gateway`.
inline void AddEthernet(host::EmulatedHost& host, const host::AssignedAddress& address,
                        const IpAddress& gateway) {
  host::Adapter ethernet;
  ethernet.name = "Ethernet";
  ethernet.addresses = {address};
  host::Route route;
  route.gateway = gateway;
  route.adapter_index = emulator::AddNic(host, std::move(ethernet));
  host.PutRoutes({route});
}

// Its adapters by their own names: where one is bound to a switch, its addresses are the host's
// there.
class NodeHost {
 public:
  explicit NodeHost(emulator::EmulatedNode& node) : host_(node.host()) {}

  struct Adapter {
    std::string name;
    std::vector<IpAddress> addresses;
    bool usable = true;
    bool is_virtual = false;
  };
  // Adds a removed adapter again; the host's own adapter on a switch is virtual.
  void Add(const Adapter& adapter) {
    if (Exists(adapter.name)) {
      if (adapter.is_virtual) return;
      for (const std::string& each : {adapter.name, OnSwitch(adapter.name)}) host_.Plug(each);
      return SetAddresses(adapter.name, adapter.addresses);
    }
    ++added_;
    host::Adapter nic;
    nic.name = adapter.name;
    nic.addresses = Assigned(adapter.addresses);
    if (adapter.is_virtual) {
      host_.AddAdapter(nic, adapter.usable, "another program's");
    } else {
      emulator::AddNic(host_, nic, adapter.usable);
    }
  }
  void Remove(std::string_view name) {
    for (const std::string& each : {std::string(name), OnSwitch(name)}) host_.Unplug(each);
  }
  void SetAddresses(std::string_view name, const std::vector<IpAddress>& addresses) {
    host_.SetAddresses(OnSwitch(name), Assigned(addresses));
  }
  bool HasSwitch(std::string_view name) {
    return host_.state().switches.contains(std::string(name));
  }
  // While no endpoint was attached.
  int switches_made() { return static_cast<int>(host_.state().next_index) - kFirst - added_; }
  // As the host's interfaces show them.
  std::vector<hns::emulator::HostEndpoint> endpoints() {
    std::vector<hns::emulator::HostEndpoint> endpoints;
    const host::HostState state = host_.state();
    for (const host::EmulatedAdapter& each : state.adapters) {
      const host::Adapter& adapter = each.adapter;
      const auto guid = hns::Guid::Parse(each.endpoint);
      if (!guid) continue;
      const std::size_t begin = std::string_view("vEthernet (").size();
      endpoints.push_back({*guid, adapter.name.substr(begin, adapter.name.size() - begin - 1),
                           adapter.mac, adapter.addresses.at(0).address,
                           adapter.addresses.at(0).prefix_length});
    }
    return endpoints;
  }

 private:
  static constexpr int kFirst = 11;  // the index after the node's adapter

  bool Exists(std::string_view name) {
    const host::HostState state = host_.state();
    return std::any_of(state.adapters.begin(), state.adapters.end(),
                       [&](const auto& each) { return each.adapter.name == name; });
  }
  std::string OnSwitch(std::string_view name) {
    const host::HostState state = host_.state();
    const auto found = state.switches.find(std::string(name));
    return found == state.switches.end() ? std::string(name) : found->second;
  }
  static std::vector<host::AssignedAddress> Assigned(const std::vector<IpAddress>& addresses) {
    std::vector<host::AssignedAddress> assigned;
    for (const IpAddress& each : addresses) assigned.push_back({each, each.is_v4() ? 24 : 64});
    return assigned;
  }

  host::EmulatedHost& host_;
  int added_ = 0;
};

}  // namespace weft::testing
