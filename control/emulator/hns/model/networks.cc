// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/networks.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "control/emulator/hns/model/endpoints.h"
#include "control/emulator/hns/model/network_settings.h"

namespace weft::hns::emulator {
namespace {

// Starts with HNS's own prefix, then random digits.
std::string NewMacBlock(Core& core) {
  const std::uint64_t drawn = Draw(core);
  return absl::StrFormat("00-15-5D-%02X-%X", drawn & 0xFF, (drawn >> 8) & 0xF);
}

SwitchTiming TimingOf(const Settings& settings) {
  return {settings.gap, settings.new_interface, settings.link_local, settings.static_ip_lost};
}

// Creates the switch on `adapter`. False: it exists.
bool NeedSwitch(Core& core, const std::string& adapter) {
  if (adapter.empty() || core.state.switches.contains(adapter)) return false;
  core.state.switches.insert(adapter);
  core.host.AttachSwitch(adapter, HostAdapterName(adapter, core.settings.host_adapter),
                         TimingOf(core.settings));
  return true;
}

void ReleaseSwitch(Core& core, const std::string& adapter) {
  const auto uses_adapter = [&](const auto& entry) { return entry.second.adapter == adapter; };
  if (adapter.empty() || std::ranges::any_of(core.state.networks, uses_adapter)) return;
  if (core.state.switches.erase(adapter) == 0) return;
  core.host.DetachSwitch(adapter, TimingOf(core.settings));
}

Reply ModifyDns(NetworkObject& network, Change change, const Json& settings) {
  if (change == Change::kRemove) {
    network.dns = Json::object();
    return {};
  }
  if (!settings.is_object()) return Refuse(hresult::kInvalidArgument);
  network.dns = WithoutZeroes(settings);
  return {};
}

Reply ModifySubnets(Core& core, NetworkObject& network, Change change, const Json& settings) {
  const auto desired = ReadIpams(Json::array({settings}));
  if (core.settings.version.major < 11 || change == Change::kUpdate) {  // schema 2.6
    return Refuse(hresult::kRequestUnsupported);
  }
  if (!desired || SubnetsOf(*desired).empty()) return Refuse(hresult::kInvalidSubnet);
  if (network.ipams.empty()) network.ipams.push_back(Json::object());
  Json subnets = Json::array();
  for (const auto& subnet : ItemsOf(Field(network.ipams[0], "Subnets"))) subnets.push_back(subnet);
  for (const auto& subnet : ItemsOf(Field((*desired)[0], "Subnets"))) {
    const auto same = std::ranges::find_if(subnets, [&](const Json& other) {
      return Field(other, "IpAddressPrefix") == Field(subnet, "IpAddressPrefix");
    });
    if ((same != subnets.end()) == (change == Change::kAdd)) return Refuse(hresult::kInvalidSubnet);
    if (change == Change::kAdd) {
      subnets.push_back(subnet);
    } else {
      subnets.erase(same);
    }
  }
  network.ipams[0].erase("Subnets");
  Put(network.ipams[0], "Subnets", std::move(subnets));
  return {};
}

Reply ModifyNetworkPolicies(Core& core, NetworkObject& network, Change change,
                            const Json& settings) {
  const auto specs = ReadPolicies(Field(settings, "Policies"));
  if (!specs) return Refuse(hresult::kInvalidPolicy);
  const auto check = [&](const PolicySpec& spec) {
    return CheckNetworkPolicy(core.settings, network.type, spec);
  };
  core.policies += specs->size();
  const Milliseconds shown = core.settings.policies_shown;
  return ChangePolicies(core.settings, change, *specs, check, network.policies,
                        shown > Milliseconds(0) ? core.now + shown : Milliseconds(0));
}

}  // namespace

Reply CreateNetwork(Core& core, const Guid& desired_id, const Json& document) {
  if (core.now < core.state.settled) return Refuse(core.settings.settle_code);
  NetworkObject network;
  network.id = IdFor(core, desired_id, document);
  if (network.id.is_zero()) return Refuse(kGuidConversionFailure);
  if (core.state.networks.contains(network.id)) return Refuse(hresult::kNetworkAlreadyExists);
  Reply reply = ReadNetworkSettings(core, document, network);
  if (reply.ok()) reply = ChooseAdapter(core, network);
  if (!reply.ok()) return reply;

  network.mac_block = NewMacBlock(core);
  if (network.type == "Overlay") {
    const std::uint64_t drawn = Draw(core);
    network.dr_mac =
        network.mac_block + absl::StrFormat("%X-%02X", drawn & 0xF, (drawn >> 4) & 0xFF);
    network.dr_mac_from = core.now + core.settings.dr_mac;
  }
  Notify(core, Notification::kNetworkPreCreate, network.id, network.flags);
  // The adapter's addresses before the switch takes them.
  for (const auto& address : core.host.AddressesOf(network.adapter))
    if (network.first_management_ip.empty()) network.first_management_ip = address.ToString();
  network.management_from = core.now + core.settings.management_ip;
  if (NeedSwitch(core, network.adapter))
    network.link_local_until = core.now + core.settings.link_local;
  Notify(core, Notification::kNetworkCreate, network.id, network.flags);
  reply.text = network.id.ToString();
  core.state.networks.emplace(network.id, std::move(network));
  return reply;
}

Reply ModifyNetwork(Core& core, NetworkObject& network, const Json& request) {
  if (IsDegraded(core, network)) return Refuse(hresult::kDegradedOperation);
  const auto resource =
      WordOf(Field(request, "ResourceType"), {"DNS", "Extension", "Policy", "Subnet", "IPSubnet"});
  const auto change = ReadChange(Field(request, "RequestType"));
  if (!resource || !change) return Refuse(hresult::kRequestUnsupported);
  const Json& settings = Field(request, "Settings");
  switch (*resource) {
    case 0:
      return ModifyDns(network, *change, settings);
    case 2:
      return ModifyNetworkPolicies(core, network, *change, settings);
    case 3:
      return ModifySubnets(core, network, *change, settings);
    default:
      return Refuse(hresult::kRequestUnsupported);
  }
}

Reply DeleteNetwork(Core& core, Guid id) {
  const auto found = core.state.networks.find(id);
  if (found == core.state.networks.end()) return Refuse(hresult::kElementNotFound);
  const auto is_on_it = [&](const auto& entry) { return entry.second.network == id; };
  if (core.settings.endpoints_hold_network && std::ranges::any_of(core.state.endpoints, is_on_it))
    return Refuse(hresult::kEntityHasReferences);
  if (core.settings.name_release > Milliseconds(0))
    core.state.taken_names[found->second.name] = core.now + core.settings.name_release;
  core.state.settled = core.now + core.settings.settle;
  DropNetwork(core, id);
  return {};
}

void DropNetwork(Core& core, Guid id) {
  const auto found = core.state.networks.find(id);
  if (found == core.state.networks.end()) return;
  const std::uint32_t flags = found->second.flags;
  const std::string adapter = found->second.adapter;
  Notify(core, Notification::kNetworkPreDelete, id, flags);
  DropEndpointsOf(core, id);
  core.state.networks.erase(found);
  ReleaseSwitch(core, adapter);
  Notify(core, Notification::kNetworkDelete, id, flags);
}

bool IsDegraded(Core& core, const NetworkObject& network) {
  if (network.adapter.empty()) return false;
  return network.unbound || !core.host.FindByName(network.adapter);
}

std::string ManagementIp(Core& core, const NetworkObject& network) {
  if (network.adapter.empty() || core.now < network.management_from) return {};
  if (core.settings.management_ip_after_attach && network.type == "L2Bridge" &&
      std::ranges::none_of(core.state.endpoints, [&](const auto& entry) {
        return entry.second.network == network.id && entry.second.compartment != 0;
      })) {
    return {};
  }
  if (network.unbound) return {};
  const auto addresses = core.host.AddressesOf(network.adapter);
  const bool early = core.settings.management_ip_early && !IsDegraded(core, network);
  if (addresses.empty()) return early ? network.first_management_ip : std::string();
  if (core.now < network.link_local_until) return std::string(kLinkLocal);
  if (!core.settings.management_ip_follows && !network.first_management_ip.empty())
    return network.first_management_ip;
  return addresses.front().ToString();
}

}  // namespace weft::hns::emulator
