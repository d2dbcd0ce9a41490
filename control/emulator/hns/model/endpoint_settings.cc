// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/endpoint_settings.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "control/emulator/hns/model/features.h"
#include "control/emulator/hns/model/policy_rules.h"
#include "vxlan/mac_address.h"

namespace weft::hns::emulator {
namespace {

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
  if (sent.prefix_length == 0) {
    sent.prefix_length = static_cast<std::uint32_t>(subnet->prefix.length());
  }
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
  IpAddress address = subnet.prefix.base();
  for (int tries = 0; tries < 65536 && subnet.prefix.Contains(address); ++tries) {
    if (!IsReserved(subnet, address) && !IsTaken(core, endpoint, address.ToString())) {
      endpoint.addresses.push_back(
          {address.ToString(), static_cast<std::uint32_t>(subnet.prefix.length())});
      return;
    }
    address = address.Next();
  }
}

Reply ReadAddresses(Core& core, const NetworkObject& network, const Json& configurations,
                    EndpointObject& endpoint) {
  const auto subnets = SubnetsOf(network.ipams);
  for (const auto& item : ItemsOf(configurations)) {
    EndpointObject::Address sent{TextOf(Field(item, "IpAddress")),
                                 static_cast<std::uint32_t>(NumberOf(Field(item, "PrefixLength")))};
    const auto address = IpAddress::Parse(sent.ip);
    if (!address || sent.prefix_length > static_cast<std::uint32_t>(address->bits())) {
      return Refuse(hresult::kInvalidIp);
    }
    if (!endpoint.is_remote()) {
      if (Reply reply = CheckAddress(core, subnets, sent); !reply.ok()) return reply;
    }
    if (!core.settings.same_address_accepted && IsTaken(core, endpoint, sent.ip)) {
      return Refuse(hresult::kObjectAlreadyExists);
    }
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
    if (const Hresult code = CheckEndpointPolicy(core.settings, spec); Failed(code)) {
      return Refuse(code);
    }
    if (absl::EqualsIgnoreCase(spec.type, "PortMapping") && IsPortTaken(core, spec.settings)) {
      return Refuse(hresult::kPortAlreadyExists);
    }
    endpoint.policies.Add(spec.type, spec.settings);
  }
  return {};
}

}  // namespace

Reply ReadEndpointSettings(Core& core, const NetworkObject& network, const Json& document,
                           EndpointObject& endpoint) {
  endpoint.name = TextOf(Field(document, "Name"));
  endpoint.flags = static_cast<std::uint32_t>(NumberOf(Field(document, "Flags")));
  endpoint.mac = TextOf(Field(document, "MacAddress"));
  if (!endpoint.mac.empty() && !MacAddress::Parse(endpoint.mac)) {
    return Refuse(hresult::kInvalidEndpoint, "The MAC address is none.");
  }
  if (endpoint.mac.empty()) {
    const std::uint64_t drawn = Draw(core);
    endpoint.mac = network.mac_block + absl::StrFormat("%X-%02X", drawn & 0xF, (drawn >> 4) & 0xFF);
  }
  if (const Json& dns = Field(document, "Dns"); dns.is_object()) endpoint.dns = WithoutZeroes(dns);
  if (const Json& routes = Field(document, "Routes"); routes.is_array()) {
    endpoint.routes = WithoutZeroes(routes);
  }
  Reply reply = ReadAddresses(core, network, Field(document, "IpConfigurations"), endpoint);
  if (reply.ok()) reply = ReadEndpointPolicies(core, Field(document, "Policies"), endpoint);
  return reply;
}

}  // namespace weft::hns::emulator
