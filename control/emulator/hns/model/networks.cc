// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/networks.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
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

// ---- In the form of schema 2 and of HNS v1.

namespace {

// Whether HNS generates policies of this type itself, whatever was sent.
bool IsHnsOwn(std::string_view type) {
  return absl::EqualsIgnoreCase(type, "ProviderAddress") ||
         absl::EqualsIgnoreCase(type, "DrMacAddress") ||
         absl::EqualsIgnoreCase(type, "NetAdapterName");
}

bool IsVxlanPort(std::string_view type) { return absl::EqualsIgnoreCase(type, "VxlanPort"); }

// `ipams` without the VSID of any subnet.
Json WithoutVsid(Json ipams) {
  for (Json& ipam : ipams) {
    const auto subnets = ipam.find("Subnets");
    if (subnets == ipam.end() || !subnets->is_array()) continue;
    for (Json& subnet : *subnets) {
      Json other_policies = Json::array();
      for (const Json& policy : ItemsOf(Field(subnet, "Policies"))) {
        if (!absl::EqualsIgnoreCase(TextOf(Field(policy, "Type")), "VSID"))
          other_policies.push_back(policy);
      }
      subnet.erase("Policies");
      Put(subnet, "Policies", std::move(other_policies));
    }
  }
  return ipams;
}

void AppendV2(std::string& text, std::string_view type, const std::string& settings) {
  absl::StrAppend(&text, text.empty() ? "" : ",", R"({"Type":")", type, R"(","Settings":)",
                  settings, "}");
}

bool ShowsAdapter(const Core& core, const NetworkObject& network) {
  if (network.adapter.empty() || !core.settings.adapter_shown) return false;
  return network.adapter_named || core.settings.chosen_adapter_shown;
}

std::string PoliciesV2(Core& core, const NetworkObject& network) {
  std::string text;
  if (ShowsAdapter(core, network)) {
    AppendV2(text, "NetAdapterName", Dump({{"NetworkAdapterName", network.adapter}}));
  }
  if (const std::string ip = ManagementIp(core, network); !ip.empty()) {
    AppendV2(text, "ProviderAddress", Dump({{"ProviderAddress", ip}}));
  }
  if (!network.dr_mac.empty() && core.now >= network.dr_mac_from) {
    AppendV2(text, "DrMacAddress", Dump({{"Address", network.dr_mac}}));
  }
  network.policies.ForEach([&](const PolicyList::Item& item) {
    const bool left_out = !core.settings.vxlan_port_shown && IsVxlanPort(item.type);
    if (IsHnsOwn(item.type) || left_out || core.now < item.shown_from) return;
    AppendV2(text, item.type, item.settings);
  });
  return text;
}

std::string PoliciesV1(const Core& core, const NetworkObject& network) {
  std::string text;
  network.policies.ForEach([&](const PolicyList::Item& item) {
    if (IsHnsOwn(item.type) || core.now < item.shown_from) return;
    const std::string_view rest = std::string_view(item.settings).substr(1);
    absl::StrAppend(&text, text.empty() ? "" : ",", R"({"Type":)", Dump(item.type),
                    rest == "}" ? "" : ",", rest);
  });
  return text;
}

// `document` as text, with one more member, whose text is long and already available.
std::string With(const Json& document, std::string_view key, std::string_view items) {
  return absl::StrCat("{\"", key, "\":[", items, "],", std::string_view(Dump(document)).substr(1));
}

Json SubnetV1(const Core& core, const NetworkObject& network, const SubnetFacts& subnet) {
  const std::string prefix = subnet.prefix.ToString();
  Json policies = Json::array();
  if (subnet.vsid) policies.push_back({{"Type", "VSID"}, {"VSID", *subnet.vsid}});
  const std::string id = GuidOf(core.settings, network.id.ToString() + prefix).ToUpperString();
  return {{"AdditionalParams", Json::object()},
          {"AddressPrefix", prefix},
          {"Flags", subnet.gateway_reserved ? 0 : 1},
          {"GatewayAddress", subnet.gateway ? subnet.gateway->ToString() : ""},
          {"Health", Json::object()},
          {"ID", id},
          {"IpSubnets", Json::array()},
          {"ObjectType", 5},
          {"Policies", std::move(policies)},
          {"State", 0}};
}

std::string MacAt(const NetworkObject& network, std::string_view end) {
  return absl::StrCat(network.mac_block, end);
}

}  // namespace

std::string NetworkV2(Core& core, const NetworkObject& network) {
  Json document = {{"ID", network.id.ToString()},
                   {"Name", network.name},
                   {"MacPool",
                    {{"Ranges", Json::array({{{"StartMacAddress", MacAt(network, "0-00")},
                                              {"EndMacAddress", MacAt(network, "F-FF")}}})}}},
                   {"Dns", network.dns},
                   {"Health", {{"Extra", Json::object()}}},
                   {"SchemaVersion", {{"Major", 2}, {"Minor", 0}}}};
  if (network.type != "NAT") document["Type"] = network.type;
  Put(document, "Ipams", core.settings.vsid_shown ? network.ipams : WithoutVsid(network.ipams));
  Put(document, "Flags", network.flags);
  if (!network.adapter.empty()) {
    Json& extra = document["Health"]["Extra"];
    extra["LayeredOn"] = GuidOf(core.settings, "layer " + network.adapter).ToString();
    extra["SwitchGuid"] = GuidOf(core.settings, "switch " + network.adapter).ToString();
  }
  const std::string policies = PoliciesV2(core, network);
  return policies.empty() ? Dump(document) : With(document, "Policies", policies);
}

Json NetworkV1Facts(Core& core, const NetworkObject& network) {
  std::vector<std::string> servers;
  for (const auto& server : ItemsOf(Field(network.dns, "ServerList")))
    servers.push_back(TextOf(server));
  const auto endpoints = std::ranges::count_if(
      core.state.endpoints, [&](const auto& entry) { return entry.second.network == network.id; });
  Json facts = {{"ID", network.id.ToUpperString()},
                {"Name", network.name},
                {"Type", network.type},
                {"CurrentEndpointCount", endpoints},
                {"TotalEndpoints", network.endpoints_made},
                {"State", IsDegraded(core, network) ? 5 : 1},
                {"Flags", network.flags}};
  Put(facts, "DNSServerList", absl::StrJoin(servers, ","));
  Put(facts, "DNSSuffix", Field(network.dns, "Domain"));
  if (core.now >= network.dr_mac_from) Put(facts, "DrMacAddress", network.dr_mac);
  Put(facts, "ManagementIP", ManagementIp(core, network));
  if (ShowsAdapter(core, network)) facts["NetworkAdapterName"] = network.adapter;
  return facts;
}

std::string NetworkV1(Core& core, const NetworkObject& network) {
  Json document = NetworkV1Facts(core, network);
  const auto& version = core.settings.version;
  document["ActivityId"] = GuidOf(core.settings, "activity").ToUpperString();
  document["AdditionalParams"] = Json::object();
  document["DNSServerCompartment"] = 0;
  document["Extensions"] = Json::array();
  document["Health"] = {{"LastErrorCode", 0}, {"LastUpdateTime", core.now.count()}};
  document["IPv6"] = false;
  document["MacPools"] = Json::array(
      {{{"StartMacAddress", MacAt(network, "0-00")}, {"EndMacAddress", MacAt(network, "F-FF")}}});
  document["MaxConcurrentEndpoints"] = network.endpoints_made;
  document["NatName"] = "";
  document["Resources"] = Json::object();
  document["Version"] = (std::uint64_t{version.major} << 32) + version.minor;
  if (!network.adapter.empty()) {
    document["LayeredOn"] = GuidOf(core.settings, "layer " + network.adapter).ToUpperString();
    document["SwitchGuid"] = GuidOf(core.settings, "switch " + network.adapter).ToUpperString();
    document["SwitchName"] = TextOf(document["SwitchGuid"]);
  }
  Json& subnets = document["Subnets"] = Json::array();
  for (const auto& subnet : SubnetsOf(network.ipams))
    subnets.push_back(SubnetV1(core, network, subnet));
  return With(document, "Policies", PoliciesV1(core, network));
}

}  // namespace weft::hns::emulator
