// SPDX-License-Identifier: Apache-2.0
// hcsshim v0.14.1's HostComputeNetwork, in its order of keys and with the empty objects that Go
// does not omit.
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hns/document/document_json.h"
#include "hns/document/members_json.h"
#include "hns/document/network.h"

namespace weft::hns {
namespace {

// By their numbers in the schema.
constexpr std::array<std::string_view, 11> kTypes = {
    "NAT",     "ICS",      "Transparent", "L2Bridge",   "L2Tunnel",      "Overlay",
    "Private", "Internal", "Mirrored",    "Infiniband", "ConstrainedICS"};
constexpr std::uint32_t kVsid = 1;           // VLAN is 0
constexpr std::uint32_t kDegradedState = 5;  // schema 1's State

std::string TypeOf(const Json& network) {
  const auto number = NumberMember(network, "Type");
  if (number) return std::string(*number < kTypes.size() ? kTypes[*number] : "");
  const std::string text = TextMember(network, "Type");
  return text.empty() ? std::string(kTypes[0]) : text;
}

std::optional<std::uint32_t> IsolationOf(const Json& subnet) {
  for (const Json& policy : ArrayMember(subnet, "Policies")) {
    if (absl::EqualsIgnoreCase(TextMember(policy, "Type"), "VSID") ||
        NumberMember(policy, "Type") == kVsid) {
      return NumberMember(Member(policy, "Settings"), "IsolationId");
    }
  }
  return std::nullopt;
}

Json SubnetOf(const Subnet& subnet) {
  Json json = {{"IpAddressPrefix", subnet.prefix.ToString()}};
  if (subnet.isolation_id) {
    Json vsid = {{"Type", "VSID"}, {"Settings", {{"IsolationId", *subnet.isolation_id}}}};
    json["Policies"] = Json::array({std::move(vsid)});
  }
  if (!subnet.routes.empty()) json["Routes"] = RoutesOf(subnet.routes);
  return json;
}

}  // namespace

std::string NetworkJson(const Network& network) {
  Json json = Json::object();
  if (!network.id.is_zero()) json["ID"] = network.id.ToString();
  if (!network.name.empty()) json["Name"] = network.name;
  if (!network.type.empty()) json["Type"] = network.type;
  if (!network.policies.empty()) json["Policies"] = PoliciesOf(network.policies);
  json["MacPool"] = Json::object();
  json["Dns"] = Json::object();
  if (!network.dns_servers.empty()) json["Dns"]["ServerList"] = network.dns_servers;
  if (!network.subnets.empty()) {
    Json subnets = Json::array();
    for (const Subnet& subnet : network.subnets) subnets.push_back(SubnetOf(subnet));
    Json ipam = {{"Type", "Static"}, {"Subnets", std::move(subnets)}};
    json["Ipams"] = Json::array({std::move(ipam)});
  }
  if (network.flags != 0) json["Flags"] = network.flags;
  AddTail(json);
  return Dump(json);
}

absl::StatusOr<Network> ParseNetwork(std::string_view json) {
  const absl::StatusOr<Json> document = ParseObject(json, "the network's document");
  if (!document.ok()) return document.status();
  const auto id = Guid::Parse(TextMember(*document, "ID"));
  if (!id) return absl::DataLossError("the network's document has no \"ID\"");

  Network network;
  network.id = *id;
  network.name = TextMember(*document, "Name");
  network.type = TypeOf(*document);
  network.policies = ReadPolicies(*document);
  for (const Json& ipam : ArrayMember(*document, "Ipams")) {
    for (const Json& subnet : ArrayMember(ipam, "Subnets")) {
      const auto prefix = IpPrefix::Parse(TextMember(subnet, "IpAddressPrefix"));
      if (!prefix) continue;
      network.subnets.push_back({*prefix, IsolationOf(subnet), ReadRoutes(subnet)});
    }
  }
  for (const Json& server : ArrayMember(Member(*document, "Dns"), "ServerList"))
    if (server.is_string()) network.dns_servers.push_back(server.get<std::string>());
  network.flags = NumberMember(*document, "Flags").value_or(0);
  return network;
}

void FillFromSchema1(std::string_view output, Network& network) {
  const absl::StatusOr<Json> view = ParseObject(output, "the network's document");
  if (!view.ok()) return;
  network.degraded = NumberMember(*view, "State") == kDegradedState;
  for (const Json& shown : ArrayMember(*view, "Subnets")) {
    const auto prefix = IpPrefix::Parse(TextMember(shown, "AddressPrefix"));
    for (Subnet& subnet : network.subnets) {
      if (prefix != subnet.prefix || subnet.isolation_id) continue;
      for (const Json& policy : ArrayMember(shown, "Policies")) {
        if (absl::EqualsIgnoreCase(TextMember(policy, "Type"), "VSID"))
          subnet.isolation_id = NumberMember(policy, "VSID");
      }
    }
  }
  if (network.vxlan_port()) return;
  for (const Json& policy : ArrayMember(*view, "Policies")) {
    const auto port = NumberMember(policy, "Port");
    if (absl::EqualsIgnoreCase(TextMember(policy, "Type"), policy_type::kVxlanPort) && port &&
        *port <= 0xFFFF)
      network.policies.push_back(VxlanPortPolicy(static_cast<std::uint16_t>(*port)));
  }
}

// Text, not a Json: a batch has up to thousands of policies, each verbatim.
std::string ModifyPoliciesJson(std::string_view request, const std::vector<Policy>& policies) {
  std::string text = absl::StrCat(R"({"ResourceType":"Policy","RequestType":")", request,
                                  R"(","Settings":{"Policies":[)");
  std::string_view separator;
  for (const Policy& policy : policies) {
    absl::StrAppend(&text, separator, R"({"Type":)", Dump(policy.type), R"(,"Settings":)",
                    policy.settings.empty() ? "{}" : policy.settings, "}");
    separator = ",";
  }
  text += "]}}";
  return text;
}

}  // namespace weft::hns
