// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/endpoints.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "control/emulator/hns/model/features.h"
#include "control/emulator/hns/model/networks.h"
#include "control/emulator/hns/model/policy_rules.h"
#include "vxlan/mac_address.h"

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

// Whether another endpoint of the network has `ip`; `by` is not in the state yet.
bool IsTaken(const Core& core, const EndpointObject& by, const std::string& ip) {
  return std::ranges::any_of(core.state.endpoints, [&](const auto& entry) {
    const EndpointObject& other = entry.second;
    return other.network == by.network &&
           std::ranges::any_of(other.addresses, [&](auto& address) { return address.ip == ip; });
  });
}

// The network's own address, its gateway, and IPv4's broadcast address.
bool IsReserved(const SubnetFacts& subnet, const IpAddress& address) {
  if (subnet.gateway_reserved && subnet.gateway == address) return true;
  if (subnet.prefix.length() >= subnet.prefix.base().bits() - 1) return false;
  if (address == subnet.prefix.base()) return true;
  return address.is_v4() && !subnet.prefix.Contains(address.Next());
}

// An address of a local endpoint; its prefix length is the subnet's where none was sent.
Reply CheckAddress(Core& core, const std::vector<SubnetFacts>& subnets,
                   EndpointObject::Address& sent) {
  const IpAddress address = *IpAddress::Parse(sent.ip);
  if (subnets.empty()) return {};  // a network that uses outside addresses
  const auto subnet = std::ranges::find_if(
      subnets, [&](const SubnetFacts& facts) { return facts.prefix.Contains(address); });
  if (subnet == subnets.end()) return Refuse(hresult::kInvalidIp);
  if (IsReserved(*subnet, address)) return Refuse(hresult::kAddrInvalidOrReserved);
  if (sent.prefix_length == 0)
    sent.prefix_length = static_cast<std::uint32_t>(subnet->prefix.length());
  const bool single = sent.prefix_length == static_cast<std::uint32_t>(address.bits());
  if (single && subnet->prefix.length() != address.bits() &&
      !Supports(core.settings.version, Feature::kSlash32)) {
    return Refuse(hresult::kInvalidArgument, "A single address is no prefix here.");
  }
  return {};
}

// Chooses the first free address of the first subnet; none if the subnet is full or absent.
void ChooseAddress(Core& core, const std::vector<SubnetFacts>& subnets, EndpointObject& endpoint) {
  if (subnets.empty()) return;
  const SubnetFacts& subnet = subnets.front();
  for (IpAddress address = subnet.prefix.base(); subnet.prefix.Contains(address);
       address = address.Next()) {
    if (!IsReserved(subnet, address) && !IsTaken(core, endpoint, address.ToString())) {
      endpoint.addresses.push_back(
          {address.ToString(), static_cast<std::uint32_t>(subnet.prefix.length())});
      return;
    }
  }
}

Reply ReadAddresses(Core& core, const NetworkObject& network, const Json& configurations,
                    EndpointObject& endpoint) {
  const auto subnets = SubnetsOf(network.ipams);
  for (const auto& item : ItemsOf(configurations)) {
    EndpointObject::Address sent{TextOf(Field(item, "IpAddress")),
                                 static_cast<std::uint32_t>(NumberOf(Field(item, "PrefixLength")))};
    const auto address = IpAddress::Parse(sent.ip);
    if (!address || sent.prefix_length > static_cast<std::uint32_t>(address->bits()))
      return Refuse(hresult::kInvalidIp);
    if (!endpoint.is_remote()) {
      if (Reply reply = CheckAddress(core, subnets, sent); !reply.ok()) return reply;
    }
    if (!core.settings.same_address_accepted && IsTaken(core, endpoint, sent.ip))
      return Refuse(hresult::kObjectAlreadyExists);
    endpoint.addresses.push_back(std::move(sent));
  }
  if (endpoint.addresses.empty() && !endpoint.is_remote()) ChooseAddress(core, subnets, endpoint);
  return {};
}

// A port of the host can belong to one endpoint only.
bool IsPortTaken(const Core& core, const Json& desired) {
  bool taken = false;
  for (const auto& [id, other] : core.state.endpoints) {
    other.policies.ForEach([&](const PolicyList::Item& item) {
      if (taken || !absl::EqualsIgnoreCase(item.type, "PortMapping")) return;
      const Json theirs = *ParseDocument(item.settings);
      taken = NumberOf(Field(theirs, "ExternalPort")) == NumberOf(Field(desired, "ExternalPort")) &&
              NumberOf(Field(theirs, "Protocol")) == NumberOf(Field(desired, "Protocol")) &&
              TextOf(Field(theirs, "VIP")) == TextOf(Field(desired, "VIP"));
    });
  }
  return taken;
}

Reply ReadEndpointPolicies(Core& core, const Json& value, EndpointObject& endpoint) {
  const auto specs = ReadPolicies(value);
  if (!specs) return Refuse(hresult::kInvalidPolicy);
  for (const auto& spec : *specs) {
    if (const Hresult code = CheckEndpointPolicy(core.settings, spec); Failed(code))
      return Refuse(code);
    if (absl::EqualsIgnoreCase(spec.type, "PortMapping") && IsPortTaken(core, spec.settings))
      return Refuse(hresult::kPortAlreadyExists);
    endpoint.policies.Add(spec.type, spec.settings);
  }
  return {};
}

Reply ReadEndpointSettings(Core& core, const NetworkObject& network, const Json& document,
                           EndpointObject& endpoint) {
  endpoint.name = TextOf(Field(document, "Name"));
  endpoint.flags = static_cast<std::uint32_t>(NumberOf(Field(document, "Flags")));
  endpoint.mac = TextOf(Field(document, "MacAddress"));
  if (!endpoint.mac.empty() && !MacAddress::Parse(endpoint.mac))
    return Refuse(hresult::kInvalidEndpoint, "The MAC address is none.");
  if (endpoint.mac.empty()) {
    const std::uint64_t drawn = Draw(core);
    endpoint.mac = network.mac_block + absl::StrFormat("%X-%02X", drawn & 0xF, (drawn >> 4) & 0xFF);
  }
  if (const Json& dns = Field(document, "Dns"); dns.is_object()) endpoint.dns = WithoutZeroes(dns);
  if (const Json& routes = Field(document, "Routes"); routes.is_array())
    endpoint.routes = WithoutZeroes(routes);
  Reply reply = ReadAddresses(core, network, Field(document, "IpConfigurations"), endpoint);
  if (reply.ok()) reply = ReadEndpointPolicies(core, Field(document, "Policies"), endpoint);
  return reply;
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
  for (const auto& [id, endpoint] : core.state.endpoints)
    if (endpoint.network == network) ids.push_back(id);
  for (const Guid& id : ids) DropEndpoint(core, id);
}

// ---- In the form of schema 2 and of HNS v1.

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

struct Names {
  std::string_view v2, v1;      // the type
  std::string_view key2, key1;  // a member with another name; empty: none
};
constexpr std::array kNames = {
    Names{"ProviderAddress", "PA", "ProviderAddress", "PA"},
    Names{"OutBoundNAT", "OutBoundNAT", "Exceptions", "ExceptionList"},
    Names{"SDNRoute", "ROUTE", "", ""},
    Names{"PortMapping", "NAT", "", ""},
    Names{"VLAN", "VLAN", "IsolationId", "VLAN"},
};

void Rename(Json& object, std::string_view from, std::string_view to) {
  const auto found = object.find(from);
  if (found == object.end()) return;
  Json value = std::move(*found);
  object.erase(found);
  object[std::string(to)] = std::move(value);
}

Json PolicyFromV1(const Json& flat) {
  Json settings = flat;
  settings.erase("Type");
  std::string type = TextOf(Field(flat, "Type"));
  for (const Names& names : kNames) {
    if (!absl::EqualsIgnoreCase(names.v1, type)) continue;
    type = std::string(names.v2);
    Rename(settings, names.key1, names.key2);
    break;
  }
  return {{"Type", type}, {"Settings", std::move(settings)}};
}

// {"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.0.2.1"}} is
// {"Type":"PA","PA":"192.0.2.1"}.
Json EndpointPolicyToV1(std::string_view type, const Json& settings) {
  Json flat = settings;
  std::string name(type);
  for (const Names& names : kNames) {
    if (!absl::EqualsIgnoreCase(names.v2, type)) continue;
    name = std::string(names.v1);
    Rename(flat, names.key2, names.key1);
    break;
  }
  flat["Type"] = name;
  return flat;
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

Json EndpointPoliciesFromV1(const Json& array) {
  if (!array.is_array()) return array;
  Json policies = Json::array();
  for (const auto& item : array) {
    const bool flat = item.is_object() && Field(item, "Settings").is_null();
    policies.push_back(flat ? PolicyFromV1(item) : item);
  }
  return policies;
}

}  // namespace weft::hns::emulator
