// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/network_view.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/emulator/hns/model/networks.h"

namespace weft::hns::emulator {
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
