// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/v1_networks.h"

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "control/emulator/hns/model/v1_policies.h"

namespace weft::hns::emulator {
namespace {

Json DnsFromV1(const Json& document) {
  Json dns = Json::object();
  Put(dns, "Domain", Field(document, "DNSSuffix"));
  Json servers = Json::array();
  const std::string list = TextOf(Field(document, "DNSServerList"));
  for (const auto server : absl::StrSplit(list, ',', absl::SkipWhitespace())) {
    servers.push_back(std::string(server));
  }
  Put(dns, "ServerList", std::move(servers));
  return dns;
}

Json SubnetFromV1(const Json& document) {
  Json subnet = Json::object();
  Put(subnet, "IpAddressPrefix", Field(document, "AddressPrefix"));
  const Json& gateway = Field(document, "GatewayAddress");
  if (!TextOf(gateway).empty()) {
    const bool v6 = absl::StrContains(TextOf(gateway), ':');
    subnet["Routes"] =
        Json::array({{{"NextHop", gateway}, {"DestinationPrefix", v6 ? "::/0" : "0.0.0.0/0"}}});
  }
  Json policies = Json::array();
  for (const auto& policy : ItemsOf(Field(document, "Policies"))) {
    if (!absl::EqualsIgnoreCase(TextOf(Field(policy, "Type")), "VSID")) {
      policies.push_back(policy);
    } else {
      policies.push_back(
          {{"Type", "VSID"}, {"Settings", {{"IsolationId", Field(policy, "VSID")}}}});
    }
  }
  Put(subnet, "Policies", std::move(policies));
  return subnet;
}

void AddPolicy(Json& policies, const char* type, const char* key, const Json& value) {
  if (!TextOf(value).empty()) policies.push_back({{"Type", type}, {"Settings", {{key, value}}}});
}

}  // namespace

Json NetworkFromV1(const Json& document) {
  Json network = {{"ID", Field(document, "ID")},
                  {"Name", Field(document, "Name")},
                  {"Type", Field(document, "Type")},
                  {"Flags", Field(document, "Flags")},
                  {"Dns", DnsFromV1(document)}};
  Json subnets = Json::array();
  for (const auto& subnet : ItemsOf(Field(document, "Subnets"))) {
    subnets.push_back(SubnetFromV1(subnet));
  }
  if (!subnets.empty()) network["Ipams"] = Json::array({{{"Subnets", std::move(subnets)}}});
  Json policies = Json::array();
  AddPolicy(policies, "NetAdapterName", "NetworkAdapterName",
            Field(document, "NetworkAdapterName"));
  AddPolicy(policies, "ProviderAddress", "ProviderAddress", Field(document, "ManagementIP"));
  for (const auto& policy : ItemsOf(Field(document, "Policies"))) policies.push_back(policy);
  network["Policies"] = std::move(policies);
  return network;
}

Json EndpointFromV1(const Json& document) {
  Json endpoint = {{"ID", Field(document, "ID")},
                   {"Name", Field(document, "Name")},
                   {"MacAddress", Field(document, "MacAddress")},
                   {"Policies", EndpointPoliciesFromV1(Field(document, "Policies"))},
                   {"Dns", DnsFromV1(document)}};
  const bool remote = Field(document, "IsRemoteEndpoint") == true;
  endpoint["Flags"] = remote ? Json(1) : Field(document, "Flags");
  Json configurations = Json::array();
  for (const char* key : {"IPAddress", "IPv6Address"}) {
    const Json& ip = Field(document, key);
    if (TextOf(ip).empty()) continue;
    const bool v4 = std::string_view(key) == "IPAddress";
    Json item = {{"IpAddress", ip}};
    Put(item, "PrefixLength", Field(document, v4 ? "PrefixLength" : "IPv6PrefixLength"));
    configurations.push_back(std::move(item));
  }
  endpoint["IpConfigurations"] = std::move(configurations);
  if (const Json& gateway = Field(document, "GatewayAddress"); !TextOf(gateway).empty()) {
    endpoint["Routes"] = Json::array({{{"NextHop", gateway}, {"DestinationPrefix", "0.0.0.0/0"}}});
  }
  return endpoint;
}

}  // namespace weft::hns::emulator
