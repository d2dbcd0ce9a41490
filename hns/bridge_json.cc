// SPDX-License-Identifier: Apache-2.0
// hcsshim's HNSNetwork and HNSEndpoint, with the keys that upstream v0.28.9 fills in.
#include "absl/strings/str_cat.h"
#include "hns/bridge.h"
#include "hns/document/document_json.h"
#include "hns/overlay_plan.h"

namespace weft::hns {
namespace {

constexpr std::uint32_t kDegraded = 5;

// Attached and AttachedSharing.
bool IsAttached(const Json& endpoint) {
  const auto state = NumberMember(endpoint, "State");
  return state == 2u || state == 3u;
}

// An object counts as an array of one.
absl::StatusOr<Json> Objects(std::string_view output, std::string_view what) {
  absl::StatusOr<Json> wrapped =
      ParseObject(absl::StrCat(R"({"Output":)", output.empty() ? "[]" : output, "}"), what);
  if (!wrapped.ok()) return wrapped.status();
  Json found = Member(*wrapped, "Output");
  if (found.is_object()) return Json::array({std::move(found)});
  return found.is_array() ? std::move(found) : Json::array();
}

}  // namespace

std::vector<std::string> AdapterCandidates(const BridgeSpec& spec) {
  std::vector<std::string> candidates;
  const std::string first = PhysicalAdapter(spec.adapter);
  if (!first.empty()) candidates.push_back(first);
  if (!spec.adapter_by_mac.empty() && spec.adapter_by_mac != first)
    candidates.push_back(spec.adapter_by_mac);
  if (spec.ambiguous.empty() && (spec.any_adapter || candidates.empty())) candidates.emplace_back();
  return candidates;
}

std::string BridgeNetworkJson(const BridgeSpec& spec, std::size_t candidate) {
  Json json = {{"Name", spec.name}, {"Type", "L2Bridge"}};
  Json subnet = {{"AddressPrefix", spec.subnet.ToString()},
                 {"GatewayAddress", spec.gateway().ToString()}};
  json["Subnets"] = Json::array({std::move(subnet)});
  const std::vector<std::string> candidates = AdapterCandidates(spec);
  if (candidate < candidates.size() && !candidates[candidate].empty())
    json["NetworkAdapterName"] = candidates[candidate];
  if (!spec.dns_servers.empty()) json["DNSServerList"] = spec.dns_servers;
  return Dump(json);
}

std::string BridgeEndpointJson(const BridgeSpec& spec, const Guid& network) {
  const Json json = {{"Name", spec.endpoint_name()},
                     {"VirtualNetwork", network.ToUpperString()},
                     {"IPAddress", spec.endpoint_address().ToString()}};
  return Dump(json);
}

std::string HostAttachJson() { return R"({"SystemType":"Host","CompartmentId":1})"; }

absl::StatusOr<std::vector<BridgeNetwork>> ParseBridgeNetworks(std::string_view output) {
  const absl::StatusOr<Json> objects = Objects(output, "HNS's networks");
  if (!objects.ok()) return objects.status();
  std::vector<BridgeNetwork> networks;
  for (const Json& object : *objects) {
    const auto id = Guid::Parse(TextMember(object, "ID"));
    if (!id) continue;
    BridgeNetwork network;
    network.id = *id;
    network.name = TextMember(object, "Name");
    network.type = TextMember(object, "Type");
    for (const Json& subnet : ArrayMember(object, "Subnets")) {
      const auto prefix = IpPrefix::Parse(TextMember(subnet, "AddressPrefix"));
      const auto gateway = IpAddress::Parse(TextMember(subnet, "GatewayAddress"));
      if (prefix) network.subnets.push_back({*prefix, gateway.value_or(IpAddress())});
    }
    network.management_ip = IpAddress::Parse(TextMember(object, "ManagementIP"));
    network.degraded = NumberMember(object, "State") == kDegraded;
    networks.push_back(std::move(network));
  }
  return networks;
}

absl::StatusOr<std::vector<BridgeEndpoint>> ParseBridgeEndpoints(std::string_view output) {
  const absl::StatusOr<Json> objects = Objects(output, "HNS's endpoints");
  if (!objects.ok()) return objects.status();
  std::vector<BridgeEndpoint> endpoints;
  for (const Json& object : *objects) {
    const auto id = Guid::Parse(TextMember(object, "ID"));
    if (!id) continue;
    BridgeEndpoint endpoint;
    endpoint.id = *id;
    endpoint.name = TextMember(object, "Name");
    endpoint.network = Guid::Parse(TextMember(object, "VirtualNetwork")).value_or(Guid());
    endpoint.address = IpAddress::Parse(TextMember(object, "IPAddress"));
    const Json& remote = Member(object, "IsRemoteEndpoint");
    endpoint.remote = remote.is_boolean() && remote.get<bool>();
    endpoint.attached = IsAttached(object);
    endpoints.push_back(std::move(endpoint));
  }
  return endpoints;
}

}  // namespace weft::hns
