// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/endpoint_view.h"

#include "absl/strings/str_join.h"
#include "control/emulator/hns/model/networks.h"
#include "control/emulator/hns/model/v1_policies.h"

namespace weft::hns::emulator {
namespace {

// The states of an endpoint in v1.
enum class V1State { kCreated = 1, kAttached, kAttachedSharing, kDetached, kDegraded };

V1State StateOf(Core& core, const EndpointObject& endpoint) {
  if (endpoint.stale) return V1State::kAttachedSharing;
  const V1State plain = endpoint.attached ? V1State::kAttached : V1State::kCreated;
  if (!core.settings.all_endpoint_states) return plain;
  const auto network = core.state.networks.find(endpoint.network);
  if (network != core.state.networks.end() && IsDegraded(core, network->second))
    return V1State::kDegraded;
  if (endpoint.attached)
    return endpoint.compartment != 0 ? V1State::kAttachedSharing : V1State::kAttached;
  return endpoint.detached ? V1State::kDetached : V1State::kCreated;
}

std::string Gateway(const EndpointObject& endpoint) {
  for (const auto& route : endpoint.routes) {
    if (TextOf(Field(route, "DestinationPrefix")) == "0.0.0.0/0")
      return TextOf(Field(route, "NextHop"));
  }
  return {};
}

}  // namespace

std::string EndpointV2(Core&, const EndpointObject& endpoint) {
  Json document = {{"ID", endpoint.id.ToString()},
                   {"HostComputeNetwork", endpoint.network.ToString()},
                   {"Dns", endpoint.dns},
                   {"MacAddress", endpoint.mac},
                   {"Health", {{"Extra", Json::object()}}},
                   {"SchemaVersion", {{"Major", 2}, {"Minor", 0}}}};
  Put(document, "Name", endpoint.name);
  Put(document, "Routes", endpoint.routes);
  Put(document, "Flags", endpoint.flags);
  if (!endpoint.compartment_namespace.is_zero())
    document["HostComputeNamespace"] = endpoint.compartment_namespace.ToString();
  Json configurations = Json::array();
  for (const auto& [ip, prefix_length] : endpoint.addresses) {
    Json item = {{"IpAddress", ip}};
    Put(item, "PrefixLength", prefix_length);
    configurations.push_back(std::move(item));
  }
  Put(document, "IpConfigurations", std::move(configurations));
  Json policies = Json::array();
  endpoint.policies.ForEach([&](const PolicyList::Item& item) {
    policies.push_back({{"Type", item.type}, {"Settings", *ParseDocument(item.settings)}});
  });
  Put(document, "Policies", std::move(policies));
  return Dump(document);
}

Json EndpointV1Facts(Core& core, const EndpointObject& endpoint) {
  Json facts = {{"ID", endpoint.id.ToUpperString()},
                {"Name", endpoint.name},
                {"VirtualNetwork", endpoint.network.ToUpperString()},
                {"MacAddress", endpoint.mac},
                {"Flags", endpoint.flags},
                {"State", static_cast<int>(StateOf(core, endpoint))}};
  const auto network = core.state.networks.find(endpoint.network);
  if (network != core.state.networks.end()) facts["VirtualNetworkName"] = network->second.name;
  for (const auto& [ip, prefix_length] : endpoint.addresses) {
    const bool v4 = ip.find(':') == std::string::npos;
    const char* const key = v4 ? "IPAddress" : "IPv6Address";
    if (facts.contains(key)) continue;
    facts[key] = ip;
    Put(facts, v4 ? "PrefixLength" : "IPv6PrefixLength", prefix_length);
  }
  Put(facts, "GatewayAddress", Gateway(endpoint));
  Put(facts, "IsRemoteEndpoint", endpoint.is_remote());
  Put(facts, "CompartmentId", endpoint.compartment);
  return facts;
}

Json EndpointV1(Core& core, const EndpointObject& endpoint) {
  Json document = EndpointV1Facts(core, endpoint);
  std::vector<std::string> servers;
  for (const auto& server : ItemsOf(Field(endpoint.dns, "ServerList")))
    servers.push_back(TextOf(server));
  Put(document, "DNSServerList", absl::StrJoin(servers, ","));
  Put(document, "DNSSuffix", Field(endpoint.dns, "Domain"));
  if (!endpoint.compartment_namespace.is_zero()) {
    document["Namespace"] = {{"ID", endpoint.compartment_namespace.ToUpperString()}};
  }
  Json& policies = document["Policies"] = Json::array();
  endpoint.policies.ForEach([&](const PolicyList::Item& item) {
    policies.push_back(EndpointPolicyToV1(item.type, *ParseDocument(item.settings)));
  });
  return document;
}

}  // namespace weft::hns::emulator
