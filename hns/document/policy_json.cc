// SPDX-License-Identifier: Apache-2.0
// The policies that weft writes and reads, in hcsshim v0.14.1's order of keys.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hns/document/document_json.h"
#include "hns/document/endpoint.h"
#include "hns/document/network.h"

namespace weft::hns {
namespace {

Policy PolicyOf(std::string_view type, const Json& settings) {
  return {std::string(type), Dump(settings)};
}

Json SettingsOf(const Policy& policy) {
  absl::StatusOr<Json> settings = ParseObject(policy.settings, policy.type);
  return settings.ok() ? *std::move(settings) : Json::object();
}

// The text member `key` in the settings of each policy of `type`, in order, without empty ones.
std::vector<std::string> TextsOf(const std::vector<Policy>& policies, std::string_view type,
                                 std::string_view key) {
  std::vector<std::string> texts;
  for (const Policy& policy : policies) {
    if (!absl::EqualsIgnoreCase(policy.type, type)) continue;
    std::string text = TextMember(SettingsOf(policy), key);
    if (!text.empty()) texts.push_back(std::move(text));
  }
  return texts;
}

std::optional<IpAddress> ProviderAddressOf(const std::vector<Policy>& policies) {
  const auto texts = TextsOf(policies, policy_type::kProviderAddress, "ProviderAddress");
  for (const std::string& text : texts) {
    const auto address = IpAddress::Parse(text);
    if (address && !address->IsUnspecified()) return address;
  }
  return std::nullopt;
}

}  // namespace

Policy NetAdapterNamePolicy(std::string_view adapter) {
  return PolicyOf(policy_type::kNetAdapterName, {{"NetworkAdapterName", adapter}});
}

Policy HostRoutePolicy() { return PolicyOf(policy_type::kHostRoute, Json::object()); }

Policy VxlanPortPolicy(std::uint16_t port) {
  return PolicyOf(policy_type::kVxlanPort, {{"Port", port}});
}

Policy ProviderAddressPolicy(const IpAddress& address) {
  return PolicyOf(policy_type::kProviderAddress, {{"ProviderAddress", address.ToString()}});
}

// Text, not a Json: called for each of thousands of peers.
Policy RemoteSubnetRoutePolicy(const RemoteSubnetRoute& route) {
  return {std::string(policy_type::kRemoteSubnetRoute),
          absl::StrCat(R"({"DestinationPrefix":")", route.destination.ToString(),
                       R"(","IsolationId":)", route.isolation_id.value(), R"(,"ProviderAddress":")",
                       route.provider_address.ToString(), R"(","DistributedRouterMacAddress":")",
                       route.router_mac.ToString(), R"("})")};
}

std::optional<RemoteSubnetRoute> ReadRemoteSubnetRoute(const Policy& policy) {
  if (!absl::EqualsIgnoreCase(policy.type, policy_type::kRemoteSubnetRoute)) return std::nullopt;
  const Json settings = SettingsOf(policy);
  const auto destination = IpPrefix::Parse(TextMember(settings, "DestinationPrefix"));
  const auto id = IsolationId::From(NumberMember(settings, "IsolationId").value_or(0));
  const auto provider = IpAddress::Parse(TextMember(settings, "ProviderAddress"));
  const auto mac = MacAddress::Parse(TextMember(settings, "DistributedRouterMacAddress"));
  if (!destination || !id || !provider || !mac) return std::nullopt;
  return RemoteSubnetRoute{*destination, *id, *provider, *mac};
}

bool Network::IsOfType(std::string_view desired) const {
  return absl::EqualsIgnoreCase(type, desired);
}

bool Network::Has(std::string_view policy_type) const {
  return std::any_of(policies.begin(), policies.end(), [&](const Policy& policy) {
    return absl::EqualsIgnoreCase(policy.type, policy_type);
  });
}

std::optional<IpAddress> Network::provider_address() const { return ProviderAddressOf(policies); }

std::optional<IpAddress> Endpoint::provider_address() const { return ProviderAddressOf(policies); }

std::optional<MacAddress> Network::dr_mac() const {
  const auto texts = TextsOf(policies, policy_type::kDrMacAddress, "Address");
  if (texts.empty()) return std::nullopt;
  const auto mac = MacAddress::Parse(texts.back());
  return mac && !mac->IsZero() ? mac : std::nullopt;
}

std::string Network::adapter_name() const {
  const auto texts = TextsOf(policies, policy_type::kNetAdapterName, "NetworkAdapterName");
  return texts.empty() ? "" : texts.front();
}

std::optional<std::uint16_t> Network::vxlan_port() const {
  for (const Policy& policy : policies) {
    if (!absl::EqualsIgnoreCase(policy.type, policy_type::kVxlanPort)) continue;
    const auto port = NumberMember(SettingsOf(policy), "Port");
    if (port && *port > 0 && *port <= 0xffff) return static_cast<std::uint16_t>(*port);
  }
  return std::nullopt;
}

}  // namespace weft::hns
