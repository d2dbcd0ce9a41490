// SPDX-License-Identifier: Apache-2.0
// hcsshim v0.14.1's HostComputeEndpoint, in its order of keys.
#include "hns/document/document_json.h"
#include "hns/document/endpoint.h"
#include "hns/document/members_json.h"

namespace weft::hns {

std::string EndpointJson(const Endpoint& endpoint) {
  Json json = Json::object();
  if (!endpoint.id.is_zero()) json["ID"] = endpoint.id.ToString();
  if (!endpoint.name.empty()) json["Name"] = endpoint.name;
  if (!endpoint.network.is_zero()) json["HostComputeNetwork"] = endpoint.network.ToString();
  if (!endpoint.compartment_namespace.is_zero())
    json["HostComputeNamespace"] = endpoint.compartment_namespace.ToString();
  if (!endpoint.policies.empty()) json["Policies"] = PoliciesOf(endpoint.policies);
  for (const IpConfiguration& ip : endpoint.ip_configurations) {
    Json item = {{"IpAddress", ip.address.ToString()}};
    if (ip.prefix_length != 0) item["PrefixLength"] = ip.prefix_length;
    json["IpConfigurations"].push_back(std::move(item));
  }
  json["Dns"] = Json::object();
  if (!endpoint.routes.empty()) json["Routes"] = RoutesOf(endpoint.routes);
  if (!endpoint.mac.empty()) json["MacAddress"] = endpoint.mac;
  if (endpoint.flags != 0) json["Flags"] = endpoint.flags;
  AddTail(json);
  return Dump(json);
}

absl::StatusOr<Endpoint> ParseEndpoint(std::string_view json) {
  const absl::StatusOr<Json> document = ParseObject(json, "the endpoint's document");
  if (!document.ok()) return document.status();
  const auto id = Guid::Parse(TextMember(*document, "ID"));
  if (!id) return absl::DataLossError("the endpoint's document has no \"ID\"");

  Endpoint endpoint;
  endpoint.id = *id;
  endpoint.name = TextMember(*document, "Name");
  endpoint.network = Guid::Parse(TextMember(*document, "HostComputeNetwork")).value_or(Guid());
  endpoint.compartment_namespace =
      Guid::Parse(TextMember(*document, "HostComputeNamespace")).value_or(Guid());
  for (const Json& item : ArrayMember(*document, "IpConfigurations")) {
    const auto address = IpAddress::Parse(TextMember(item, "IpAddress"));
    const auto length = NumberMember(item, "PrefixLength").value_or(0);
    if (!address || length > static_cast<std::uint32_t>(address->bits())) continue;
    endpoint.ip_configurations.push_back({*address, static_cast<int>(length)});
  }
  endpoint.mac = TextMember(*document, "MacAddress");
  endpoint.routes = ReadRoutes(*document);
  endpoint.policies = ReadPolicies(*document);
  endpoint.flags = NumberMember(*document, "Flags").value_or(0);
  return endpoint;
}

}  // namespace weft::hns
