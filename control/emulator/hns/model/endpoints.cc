// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/endpoints.h"

#include "control/emulator/hns/model/endpoint_settings.h"
#include "control/emulator/hns/model/networks.h"
#include "control/emulator/hns/model/policy_rules.h"

namespace weft::hns::emulator {
namespace {

HostEndpoint AsHostSees(const EndpointObject& endpoint) {
  HostEndpoint host{endpoint.id, endpoint.name, MacAddress(), IpAddress(), 0};
  if (const auto mac = MacAddress::Parse(endpoint.mac)) host.mac = *mac;
  if (!endpoint.addresses.empty()) {
    const auto& [ip, prefix_length] = endpoint.addresses.front();
    if (const auto address = IpAddress::Parse(ip)) host.address = *address;
    host.prefix_length = static_cast<int>(prefix_length);
  }
  return host;
}

}  // namespace

Reply CreateEndpoint(Core& core, NetworkObject& network, const Guid& desired_id,
                     const Json& document) {
  if (IsDegraded(core, network)) return Refuse(hresult::kDegradedOperation);
  EndpointObject endpoint;
  endpoint.network = network.id;
  endpoint.id = IdFor(core, desired_id, document);
  if (endpoint.id.is_zero()) return Refuse(kGuidConversionFailure);
  if (core.state.endpoints.contains(endpoint.id)) return Refuse(hresult::kObjectAlreadyExists);
  Reply reply = ReadEndpointSettings(core, network, document, endpoint);
  if (!reply.ok()) return reply;
  ++network.endpoints_made;
  reply.text = endpoint.id.ToString();
  core.state.endpoints.emplace(endpoint.id, std::move(endpoint));
  return reply;
}

Reply ModifyEndpoint(Core& core, EndpointObject& endpoint, const Json& request) {
  const auto resource = WordOf(Field(request, "ResourceType"), {"Port", "Policy"});
  const auto change = ReadChange(Field(request, "RequestType"));
  if (resource != 1 || !change) return Refuse(hresult::kRequestUnsupported);
  const auto specs = ReadPolicies(Field(Field(request, "Settings"), "Policies"));
  if (!specs) return Refuse(hresult::kInvalidPolicy);
  const auto check = [&](const PolicySpec& spec) {
    return CheckEndpointPolicy(core.settings, spec);
  };
  core.policies += specs->size();
  return ChangePolicies(core.settings, *change, *specs, check, endpoint.policies);
}

Reply UpdateEndpoint(Core& core, EndpointObject& endpoint, const Json& document) {
  const auto specs = ReadPolicies(Field(document, "Policies"));
  if (!specs) return Refuse(hresult::kInvalidPolicy);
  PolicyList policies;
  for (const auto& spec : *specs) {
    const Hresult code = CheckEndpointPolicy(core.settings, spec);
    if (Failed(code)) return Refuse(code);
    policies.Add(spec.type, spec.settings);
  }
  if (!Field(document, "Policies").is_null()) endpoint.policies = std::move(policies);
  if (const Json& dns = Field(document, "Dns"); dns.is_object()) endpoint.dns = WithoutZeroes(dns);
  return {};
}

Reply DeleteEndpoint(Core& core, Guid id) {
  return DropEndpoint(core, id) ? Reply() : Refuse(hresult::kEndpointNotFound);
}

Reply AttachEndpoint(Core& core, EndpointObject& endpoint, std::uint32_t compartment) {
  if (endpoint.attached) return Refuse(core.settings.already_attached_code);
  endpoint.attached = true;
  endpoint.detached = false;
  endpoint.compartment = compartment;
  if (compartment != 0) core.host.AttachEndpoint(AsHostSees(endpoint));
  Notify(core, Notification::kNetworkEndpointAttached, endpoint.id);
  return {};
}

Reply DetachEndpoint(Core& core, EndpointObject& endpoint) {
  if (!endpoint.attached) return Refuse(kEndpointNotAttached);
  if (endpoint.compartment != 0) core.host.DetachEndpoint(endpoint.id);
  endpoint.attached = endpoint.stale = false;
  endpoint.detached = true;
  endpoint.compartment = 0;
  Notify(core, Notification::kNetworkEndpointDetached, endpoint.id);
  return {};
}

bool DropEndpoint(Core& core, Guid id) {
  const auto found = core.state.endpoints.find(id);
  if (found == core.state.endpoints.end()) return false;
  if (found->second.attached) DetachEndpoint(core, found->second);
  for (auto& [guid, space] : core.state.namespaces) std::erase(space.endpoints, id);
  core.state.endpoints.erase(found);
  return true;
}

void DropEndpointsOf(Core& core, Guid network) {
  std::vector<Guid> ids;
  for (const auto& [id, endpoint] : core.state.endpoints) {
    if (endpoint.network == network) ids.push_back(id);
  }
  for (const Guid& id : ids) DropEndpoint(core, id);
}

}  // namespace weft::hns::emulator
