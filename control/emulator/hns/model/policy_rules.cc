// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/policy_rules.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>

#include "absl/strings/match.h"
#include "control/emulator/hns/model/features.h"
#include "control/emulator/hns/model/refusal.h"
#include "vxlan/ip_prefix.h"
#include "vxlan/mac_address.h"

namespace weft::hns::emulator {
namespace {

bool IsOneOf(std::string_view type, std::initializer_list<std::string_view> types) {
  return std::ranges::any_of(types,
                             [&](std::string_view t) { return absl::EqualsIgnoreCase(t, type); });
}

bool IsNetworkPolicy(std::string_view type) {
  return IsOneOf(type, {"NetAdapterName", "ProviderAddress", "InterfaceConstraint",
                        "SourceMacAddress", "DrMacAddress", "RemoteSubnetRoute", "HostRoute",
                        "VxlanPort", "VSwitchExtension", "AutomaticDNS", "SetPolicy", "L4Proxy",
                        "LayerConstraint", "NetworkACL", "NeighborDiscovery"});
}

bool IsEndpointPolicy(std::string_view type) {
  return IsOneOf(type, {"PortMapping", "ACL", "QOS", "OutBoundNAT", "SDNRoute", "ProviderAddress",
                        "EncapOverhead", "L4Proxy", "L2Driver", "L4WFPPROXY", "PortName", "Iov",
                        "InterfaceConstraint", "TierAcl", "Encryption", "VLAN",
                        "InterfaceParameters", "Firewall"});
}

Hresult CheckRoute(const Json& settings) {
  const std::uint64_t vsid = NumberOf(Field(settings, "IsolationId"));
  const bool good = IpPrefix::Parse(TextOf(Field(settings, "DestinationPrefix"))) &&
                    IpAddress::Parse(TextOf(Field(settings, "ProviderAddress"))) &&
                    MacAddress::Parse(TextOf(Field(settings, "DistributedRouterMacAddress"))) &&
                    vsid >= 4096 && vsid <= 16777214;
  return good ? hresult::kOk : hresult::kInvalidPolicy;
}

bool VersionHas(Version version, std::string_view type) {
  if (IsOneOf(type, {"RemoteSubnetRoute", "HostRoute"}))
    return Supports(version, Feature::kRemoteSubnet);
  if (IsOneOf(type, {"VxlanPort"})) return Supports(version, Feature::kVxlanPort);
  if (IsOneOf(type, {"L4Proxy"})) return Supports(version, Feature::kL4Proxy);
  if (IsOneOf(type, {"L4WFPPROXY"})) return Supports(version, Feature::kL4WfpProxy);
  if (IsOneOf(type, {"SetPolicy"})) return Supports(version, Feature::kSetPolicy);
  if (IsOneOf(type, {"TierAcl"})) return Supports(version, Feature::kTierAcl);
  if (IsOneOf(type, {"NetworkACL"})) return Supports(version, Feature::kNetworkAcl);
  return true;
}

// Applies one spec to a list, which may be a copy.
Hresult ChangeOne(const Settings& settings, Change change, const PolicySpec& spec,
                  const std::function<Hresult(const PolicySpec&)>& check, PolicyList& list,
                  Milliseconds shown_from) {
  if (change == Change::kRemove) {
    if (list.Remove(spec.type, spec.settings) || !settings.missing_policy_refused)
      return hresult::kOk;
    return hresult::kPolicyNotFound;
  }
  if (const Hresult code = check(spec); Failed(code)) return code;
  const bool single = IsOneOf(spec.type, {"RemoteSubnetRoute", "HostRoute"});
  if (single && settings.duplicates != Duplicates::kAppended) {
    const bool same_prefix = settings.duplicates == Duplicates::kRefusedByPrefix &&
                             list.HasRouteTo(TextOf(Field(spec.settings, "DestinationPrefix")));
    if (same_prefix || list.Has(spec.type, spec.settings)) return hresult::kPolicyAlreadyExists;
  }
  list.Add(spec.type, spec.settings, shown_from);
  return hresult::kOk;
}

Reply ChangeInOrder(const Settings& settings, Change change, std::span<const PolicySpec> specs,
                    const std::function<Hresult(const PolicySpec&)>& check, PolicyList& list,
                    Milliseconds shown_from) {
  for (const auto& spec : specs) {
    const Hresult code = ChangeOne(settings, change, spec, check, list, shown_from);
    if (Failed(code)) return Refuse(code);
  }
  return {};
}

}  // namespace

std::optional<std::vector<PolicySpec>> ReadPolicies(const Json& array) {
  std::vector<PolicySpec> specs;
  if (array.is_null()) return specs;
  if (!array.is_array()) return std::nullopt;
  for (const auto& item : array) {
    PolicySpec spec{TextOf(Field(item, "Type")), Field(item, "Settings")};
    if (spec.type.empty()) return std::nullopt;
    if (spec.settings.is_null()) {  // flat, as v1 has it
      spec.settings = item;
      for (auto it = item.begin(); it != item.end(); ++it) {
        if (IsOneOf(it.key(), {"Type", "Settings"})) spec.settings.erase(it.key());
      }
    }
    if (!spec.settings.is_object()) return std::nullopt;
    specs.push_back(std::move(spec));
  }
  return specs;
}

Hresult CheckNetworkPolicy(const Settings& settings, std::string_view network_type,
                           const PolicySpec& policy) {
  if (!IsNetworkPolicy(policy.type) || !VersionHas(settings.version, policy.type))
    return hresult::kInvalidPolicyType;
  if (IsOneOf(policy.type, {"ProviderAddress"}) && !settings.network_provider_address)
    return hresult::kInvalidPolicyType;
  const bool of_overlay =
      IsOneOf(policy.type, {"RemoteSubnetRoute", "HostRoute", "VxlanPort", "DrMacAddress"});
  if (of_overlay && network_type != "Overlay") return hresult::kInvalidPolicy;
  if (IsOneOf(policy.type, {"RemoteSubnetRoute"})) return CheckRoute(policy.settings);
  if (IsOneOf(policy.type, {"VxlanPort"})) {
    const std::uint64_t port = NumberOf(Field(policy.settings, "Port"));
    if (port == 0 || port > 65535) return hresult::kInvalidPolicy;
  }
  return hresult::kOk;
}

Hresult CheckEndpointPolicy(const Settings& settings, const PolicySpec& policy) {
  if (!IsEndpointPolicy(policy.type) || !VersionHas(settings.version, policy.type))
    return hresult::kInvalidPolicyType;
  if (IsOneOf(policy.type, {"ProviderAddress"}) &&
      !IpAddress::Parse(TextOf(Field(policy.settings, "ProviderAddress")))) {
    return hresult::kInvalidPolicy;
  }
  return hresult::kOk;
}

std::optional<Change> ReadChange(const Json& request_type) {
  const auto word = WordOf(request_type, {"Add", "Remove", "Update"});
  if (!word) return std::nullopt;
  return static_cast<Change>(*word);
}

Reply ChangePolicies(const Settings& settings, Change change, const std::vector<PolicySpec>& specs,
                     const std::function<Hresult(const PolicySpec&)>& check, PolicyList& list,
                     Milliseconds shown_from) {
  if (settings.batch_limit != 0 && specs.size() > settings.batch_limit)
    return Refuse(settings.batch_code);
  std::span<const PolicySpec> rest = specs;
  const bool cut = settings.batch_applied != 0 && specs.size() > settings.batch_applied;
  if (cut) rest = rest.first(static_cast<std::size_t>(settings.batch_applied));

  const bool atomic = settings.atomic_batches && !cut && specs.size() > 1;
  if (atomic && change == Change::kAdd) {
    for (const auto& spec : rest) {
      if (const Hresult code = check(spec); Failed(code)) return Refuse(code);
    }
  }
  // Copies the list, which may be long, only if an error could leave the request half done.
  const bool refuses = change == Change::kRemove || settings.duplicates != Duplicates::kAppended;
  const bool whole = (atomic && refuses) || change == Change::kUpdate;
  PolicyList copy;
  if (whole) copy = list;
  PolicyList& target = whole ? copy : list;
  if (change == Change::kUpdate)
    for (const auto& spec : rest) target.RemoveType(spec.type);
  Reply reply = ChangeInOrder(settings, change, rest, check, target, shown_from);
  if (whole && reply.ok()) list = std::move(copy);
  if (reply.ok() && cut) return Refuse(settings.batch_code);
  return reply;
}

}  // namespace weft::hns::emulator
