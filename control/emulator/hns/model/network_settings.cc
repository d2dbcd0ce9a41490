// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/network_settings.h"

#include <initializer_list>
#include <iterator>

#include "absl/strings/match.h"
#include "control/emulator/hns/model/features.h"

namespace weft::hns::emulator {
namespace {

const std::initializer_list<std::string_view> kNetworkTypes = {
    "NAT",     "ICS",      "Transparent", "L2Bridge",   "L2Tunnel",      "Overlay",
    "Private", "Internal", "Mirrored",    "Infiniband", "ConstrainedICS"};
constexpr std::uint32_t kDisableHostPort = 1024;

std::optional<std::string> ReadType(const Json& value) {
  const auto word = WordOf(value, kNetworkTypes);
  if (!word) return std::nullopt;
  return std::string(std::data(kNetworkTypes)[*word]);
}

Json ReadSubnet(const Json& item) {
  Json subnet = Json::object();
  Put(subnet, "IpAddressPrefix", Field(item, "IpAddressPrefix"));
  Put(subnet, "Policies", Field(item, "Policies"));
  Put(subnet, "Routes", WithoutZeroes(Field(item, "Routes")));
  Put(subnet, "IpSubnets", WithoutZeroes(Field(item, "IpSubnets")));
  Put(subnet, "Flags", Field(item, "Flags"));
  return subnet;
}

// Checks one subnet of a new network, also against those of the other overlays.
Reply CheckSubnet(Core& core, const NetworkObject& network, const SubnetFacts& subnet) {
  if (core.settings.gateway_needed && NeedsAdapter(network.type) && !subnet.gateway)
    return Refuse(hresult::kInvalidSubnet, "It has no gateway.");
  if (subnet.gateway && !subnet.prefix.Contains(*subnet.gateway))
    return Refuse(hresult::kInvalidSubnet, "The gateway is not in it.");
  if (!core.settings.overlapping_subnets_accepted && NeedsAdapter(network.type)) {
    for (const auto& [id, other] : core.state.networks) {
      for (const auto& theirs : SubnetsOf(other.ipams)) {
        if (NeedsAdapter(other.type) && theirs.prefix.Overlaps(subnet.prefix))
          return Refuse(hresult::kInvalidSubnet);
      }
    }
  }
  if (network.type != "Overlay") return {};
  if (!subnet.vsid) return Refuse(hresult::kInvalidNetwork, "The subnet has no VSID.");
  if (*subnet.vsid < 4096 || *subnet.vsid > 16777214) return Refuse(hresult::kInvalidArgument);
  for (const auto& [id, other] : core.state.networks) {
    if (other.type != "Overlay") continue;
    for (const auto& theirs : SubnetsOf(other.ipams)) {
      if (!core.settings.same_vsid_accepted && theirs.vsid == subnet.vsid)
        return Refuse(hresult::kInvalidArgument);
    }
  }
  return {};
}

Reply CheckSubnets(Core& core, const NetworkObject& network) {
  std::size_t sent = 0, v4 = 0, v6 = 0;
  for (const auto& ipam : network.ipams) sent += ItemsOf(Field(ipam, "Subnets")).size();
  const auto subnets = SubnetsOf(network.ipams);
  if (subnets.size() != sent) return Refuse(hresult::kInvalidSubnet);
  if (sent == 0 && network.type == "Overlay" && core.settings.subnet_needed)
    return Refuse(hresult::kInvalidNetwork, "It has no subnet.");
  for (const auto& subnet : subnets) {
    ++(subnet.prefix.family() == IpFamily::kV4 ? v4 : v6);
    if (Reply reply = CheckSubnet(core, network, subnet); !reply.ok()) return reply;
  }
  if (v4 != 0 && v6 != 0 && !Supports(core.settings.version, Feature::kDualStack))
    return Refuse(hresult::kInvalidSubnet, "Two address families.");
  return {};
}

Reply ReadNetworkPolicies(Core& core, const Json& value, NetworkObject& network) {
  const auto specs = ReadPolicies(value);
  if (!specs) return Refuse(hresult::kInvalidPolicy);
  for (const auto& spec : *specs) {
    const Hresult code = CheckNetworkPolicy(core.settings, network.type, spec);
    if (Failed(code)) return Refuse(code);
    network.policies.Add(spec.type, spec.settings);
  }
  return {};
}

Reply CheckOtherNetworks(Core& core, const NetworkObject& network) {
  for (const auto& [id, other] : core.state.networks) {
    if (!network.name.empty() && other.name == network.name)
      return Refuse(hresult::kNetworkAlreadyExists);
    if (network.type == other.type && (network.type == "NAT" || network.type == "ICS"))
      return Refuse(kDuplicateName);
  }
  const auto taken = core.state.taken_names.find(network.name);
  if (taken != core.state.taken_names.end() && core.now < taken->second)
    return Refuse(hresult::kNetworkAlreadyExists);
  return {};
}

// The settings of the last policy of `type`; null if there is none.
Json SettingsOf(const PolicyList& policies, std::string_view type) {
  Json settings;
  policies.ForEach([&](const PolicyList::Item& item) {
    if (absl::EqualsIgnoreCase(item.type, type)) settings = *ParseDocument(item.settings);
  });
  return settings;
}

std::optional<PhysicalAdapter> FindAdapter(Core& core, const PolicyList& policies, bool& named) {
  named = true;
  const Json by_name = SettingsOf(policies, "NetAdapterName");
  if (!by_name.is_null()) return core.host.FindByName(TextOf(Field(by_name, "NetworkAdapterName")));
  const Json by_address = SettingsOf(policies, "ProviderAddress");
  if (!by_address.is_null()) {
    const auto address = IpAddress::Parse(TextOf(Field(by_address, "ProviderAddress")));
    if (!address) return std::nullopt;
    return core.host.FindByAddress(*address);
  }
  const Json by_constraint = SettingsOf(policies, "InterfaceConstraint");
  if (!by_constraint.is_null())
    return core.host.FindByName(TextOf(Field(by_constraint, "InterfaceAlias")));
  named = false;
  if (core.settings.adapter_choice == AdapterChoice::kDefaultRoute) return core.host.FindDefault();
  const std::vector<PhysicalAdapter> usable = core.host.UsableAdapters();
  if (usable.empty()) return std::nullopt;
  return usable[Draw(core) % usable.size()];
}

}  // namespace

bool NeedsAdapter(std::string_view type) {
  return type == "Overlay" || type == "L2Bridge" || type == "L2Tunnel" || type == "Transparent";
}

std::optional<Json> ReadIpams(const Json& value) {
  Json ipams = Json::array();
  if (value.is_null()) return ipams;
  if (!value.is_array()) return std::nullopt;
  for (const auto& item : value) {
    const auto type = WordOf(Field(item, "Type"), {"Static", "Dhcp"});
    if (!type) return std::nullopt;
    Json ipam = Json::object();
    if (*type == 1) ipam["Type"] = "Dhcp";
    Json subnets = Json::array();
    for (const auto& subnet : ItemsOf(Field(item, "Subnets")))
      subnets.push_back(ReadSubnet(subnet));
    Put(ipam, "Subnets", std::move(subnets));
    ipams.push_back(std::move(ipam));
  }
  return ipams;
}

std::vector<SubnetFacts> SubnetsOf(const Json& ipams) {
  std::vector<SubnetFacts> facts;
  for (const auto& ipam : ItemsOf(ipams)) {
    for (const auto& item : ItemsOf(Field(ipam, "Subnets"))) {
      const auto prefix = IpPrefix::Parse(TextOf(Field(item, "IpAddressPrefix")));
      if (!prefix) continue;
      SubnetFacts subnet{*prefix, std::nullopt, std::nullopt, true};
      for (const auto& route : ItemsOf(Field(item, "Routes")))
        if (!subnet.gateway) subnet.gateway = IpAddress::Parse(TextOf(Field(route, "NextHop")));
      for (const auto& policy : ItemsOf(Field(item, "Policies"))) {
        if (!absl::EqualsIgnoreCase(TextOf(Field(policy, "Type")), "VSID")) continue;
        const Json& settings = Field(policy, "Settings");
        subnet.vsid = static_cast<std::uint32_t>(NumberOf(Field(settings, "IsolationId")));
      }
      subnet.gateway_reserved = (NumberOf(Field(item, "Flags")) & 1) == 0;
      facts.push_back(subnet);
    }
  }
  return facts;
}

Reply ReadNetworkSettings(Core& core, const Json& document, NetworkObject& network) {
  const auto type = ReadType(Field(document, "Type"));
  if (!type) return Refuse(hresult::kInvalidNetworkType);
  network.type = *type;
  network.name = TextOf(Field(document, "Name"));
  network.flags = static_cast<std::uint32_t>(NumberOf(Field(document, "Flags")));
  if (network.type == "Private") network.flags |= kNonPersistent;
  if ((network.flags & kDisableHostPort) != 0 &&
      !Supports(core.settings.version, Feature::kDisableHostPort)) {
    return Refuse(hresult::kInvalidArgument);
  }
  if (const Json& dns = Field(document, "Dns"); dns.is_object()) network.dns = WithoutZeroes(dns);
  const auto ipams = ReadIpams(Field(document, "Ipams"));
  if (!ipams) return Refuse(hresult::kInvalidNetwork);
  network.ipams = *ipams;

  Reply reply = CheckOtherNetworks(core, network);
  if (reply.ok()) reply = CheckSubnets(core, network);
  if (reply.ok()) reply = ReadNetworkPolicies(core, Field(document, "Policies"), network);
  return reply;
}

Reply ChooseAdapter(Core& core, NetworkObject& network) {
  if (!NeedsAdapter(network.type)) return {};
  const Json by_name = SettingsOf(network.policies, "NetAdapterName");
  if (IsHostAdapterName(TextOf(Field(by_name, "NetworkAdapterName"))))
    return Refuse(hresult::kInvalidArgument);
  const auto adapter = FindAdapter(core, network.policies, network.adapter_named);
  if (adapter && adapter->is_virtual) return Refuse(hresult::kInvalidArgument);
  if (!adapter || !adapter->usable) return Refuse(hresult::kAdapterNotFound);
  for (const auto& [id, other] : core.state.networks) {
    const bool transparent = (other.type == "Transparent") != (network.type == "Transparent");
    if (other.adapter == adapter->name && transparent) return Refuse(hresult::kAdapterNotFound);
  }
  network.adapter = adapter->name;
  return {};
}

}  // namespace weft::hns::emulator
