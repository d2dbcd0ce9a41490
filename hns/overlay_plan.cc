// SPDX-License-Identifier: Apache-2.0
#include "hns/overlay_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "hns/base_network.h"

namespace weft::hns {
namespace {

constexpr std::string_view kOverlayType = "Overlay";

std::string RefusedByVersion(const OverlaySpec& spec, Version version) {
  if (!SupportsRemoteSubnet(version)) {
    return absl::StrCat("HNS ", version.ToString(),
                        " knows no remote subnets: an overlay needs 9.2 or later (Windows Server "
                        "2019 with KB4489899); install the updates of this Windows");
  }
  if (spec.port != kUsualVxlanPort && !SupportsVxlanPort(version)) {
    return absl::StrCat("net-conf's Backend.Port is ", spec.port, ", but HNS ", version.ToString(),
                        " supports VXLAN on port 4789 only (another port: 10.3 or later, Windows "
                        "Server 2022); set Backend.Port to 4789 on all nodes");
  }
  return {};
}

// Names of the local endpoints in our PodCIDR, which would be deleted with the network. kube-proxy
// creates its own again.
std::vector<std::string> LocalEndpoints(const OverlaySpec& spec, const Network& network,
                                        std::span<const Endpoint> endpoints) {
  std::vector<std::string> names;
  for (const Endpoint& endpoint : endpoints) {
    if (endpoint.network != network.id || endpoint.is_remote() || endpoint.is_source_vip())
      continue;
    const auto& ips = endpoint.ip_configurations;
    const bool in_subnet = std::any_of(ips.begin(), ips.end(), [&](const IpConfiguration& ip) {
      return spec.subnet.Contains(ip.address);
    });
    if (in_subnet) names.push_back(endpoint.name.empty() ? endpoint.id.ToString() : endpoint.name);
  }
  return names;
}

std::string RefusedByEndpoints(const OverlaySpec& spec, const std::string& differences,
                               std::vector<std::string> names) {
  constexpr std::size_t kNamed = 3;
  const std::size_t count = names.size();
  if (count > kNamed) names.resize(kNamed);
  return absl::StrCat(
      "the HNS network ", spec.name, " has ", differences, "; ", count,
      count == 1 ? " endpoint in it has an address" : " endpoints in it have addresses", " of our ",
      spec.subnet.ToString(), " (", absl::StrJoin(names, ", "), count > kNamed ? ", ..." : "",
      "), so it is not replaced: undo the change in net-conf, or drain this node and delete these "
      "endpoints (flannelctl hns endpoint delete)");
}

// The VSID that HNS shows, else one of the network's own routes: the desired one if any has it.
std::optional<std::uint32_t> IsolationOf(const OverlaySpec& spec, const Network& network) {
  if (network.subnets.empty()) return std::nullopt;
  std::optional<std::uint32_t> found = network.subnets.front().isolation_id;
  if (found) return found;
  for (const Policy& policy : network.policies) {
    const auto route = ReadRemoteSubnetRoute(policy);
    if (!route) continue;
    found = route->isolation_id.value();
    if (route->isolation_id == spec.isolation_id) break;
  }
  return found;
}

}  // namespace

std::string PhysicalAdapter(std::string_view adapter) {
  std::string_view name = adapter;
  if (absl::ConsumePrefix(&name, "vEthernet (") && absl::ConsumeSuffix(&name, ")"))
    return std::string(name);
  return std::string(adapter);
}

bool IsAdapterOf(const OverlaySpec& spec, std::string_view adapter) {
  const std::string physical = PhysicalAdapter(adapter);
  return !physical.empty() &&
         (physical == PhysicalAdapter(spec.adapter) || physical == spec.adapter_by_mac);
}

std::vector<std::vector<Policy>> AdapterCandidates(const OverlaySpec& spec) {
  std::vector<std::vector<Policy>> candidates;
  const std::string first = PhysicalAdapter(spec.adapter);
  if (!first.empty()) candidates.push_back({NetAdapterNamePolicy(first)});
  if (!spec.adapter_by_mac.empty() && spec.adapter_by_mac != first)
    candidates.push_back({NetAdapterNamePolicy(spec.adapter_by_mac)});
  if (!spec.ambiguous.empty()) return candidates;
  if (spec.by_address) {
    candidates.push_back({ProviderAddressPolicy(spec.node_address)});
    candidates.emplace_back();
  } else if (candidates.empty()) {
    candidates.emplace_back();
  }
  return candidates;
}

Network OverlayNetwork(const OverlaySpec& spec, std::size_t candidate) {
  Network network;
  network.name = spec.name;
  network.type = kOverlayType;
  if (std::vector<std::vector<Policy>> candidates = AdapterCandidates(spec);
      candidate < candidates.size())
    network.policies = std::move(candidates[candidate]);
  if (spec.port != kUsualVxlanPort) network.policies.push_back(VxlanPortPolicy(spec.port));
  Subnet subnet;
  subnet.prefix = spec.subnet;
  subnet.isolation_id = spec.isolation_id.value();
  subnet.routes.push_back({spec.gateway(), IpPrefix()});
  network.subnets.push_back(std::move(subnet));
  network.flags = kEnableNonPersistent;
  return network;
}

std::vector<std::string> Differences(const OverlaySpec& spec, const Network& network) {
  std::vector<std::string> differences;
  const auto differs = [&](std::string_view what, std::string_view is, std::string_view desired) {
    differences.push_back(absl::StrCat(what, " ", is, " instead of ", desired));
  };
  if (!network.IsOfType(kOverlayType)) differs("type", network.type, kOverlayType);
  if (network.subnets.empty()) {
    differs("subnet", "none", spec.subnet.ToString());
  } else {
    const Subnet& first = network.subnets.front();
    if (first.prefix != spec.subnet)
      differs("subnet", first.prefix.ToString(), spec.subnet.ToString());
    if (const auto vsid = IsolationOf(spec, network); vsid && *vsid != spec.isolation_id.value())
      differs("VSID", absl::StrCat(*vsid), absl::StrCat(spec.isolation_id.value()));
  }
  if (const auto port = network.vxlan_port(); port && *port != spec.port)
    differs("UDP port", absl::StrCat(*port), absl::StrCat(spec.port));
  return differences;
}

std::string Assumed(const OverlaySpec& spec, const Network& network) {
  std::vector<std::string> assumed;
  if (!IsolationOf(spec, network))
    assumed.push_back(absl::StrCat("the VSID ", spec.isolation_id.value()));
  if (!network.vxlan_port() && spec.port != kUsualVxlanPort)
    assumed.push_back(absl::StrCat("the UDP port ", spec.port));
  if (assumed.empty()) return {};
  return absl::StrCat("HNS does not show whether the network ", spec.name, " has ",
                      absl::StrJoin(assumed, " and "),
                      ": assumed; if peers are not reached, drain "
                      "this node and reboot it, so that HNS creates it again");
}

const Network* FindOverlay(const OverlaySpec& spec, std::span<const Network> networks) {
  const Network* found = nullptr;
  for (const Network& network : networks) {
    if (network.name != spec.name) continue;
    if (Differences(spec, network).empty()) return &network;
    if (found == nullptr) found = &network;
  }
  return found;
}

NetworkPlan PlanNetwork(const OverlaySpec& spec, Version version, std::span<const Network> networks,
                        std::span<const Endpoint> endpoints, std::size_t candidate) {
  NetworkPlan plan;
  const Network* const existing = FindOverlay(spec, networks);
  if (existing != nullptr) plan.existing = *existing;
  plan.reason = RefusedByVersion(spec, version);
  if (!plan.reason.empty()) return plan;
  plan.base = MissingBaseNetwork(spec, networks, candidate);
  const bool named = !AdapterCandidates(spec).empty();
  if (existing == nullptr) {
    plan.action = named ? NetworkAction::kCreate : NetworkAction::kRefuse;
    plan.reason = named ? "" : spec.ambiguous;
    if (!named) plan.base.reset();
    plan.document = OverlayNetwork(spec, candidate);
    return plan;
  }
  const std::vector<std::string> found = Differences(spec, *existing);
  if (found.empty()) {
    plan.action = NetworkAction::kAdopt;
    return plan;
  }
  const std::string differences = absl::StrJoin(found, ", ");
  std::vector<std::string> names = LocalEndpoints(spec, *existing, endpoints);
  if (!names.empty()) {
    plan.base.reset();  // no change at all
    plan.reason = RefusedByEndpoints(spec, differences, std::move(names));
    return plan;
  }
  if (!named) {
    plan.base.reset();
    plan.reason = spec.ambiguous;
    return plan;
  }
  plan.action = NetworkAction::kRecreate;
  plan.reason =
      absl::StrCat("the HNS network ", spec.name, " has ", differences,
                   ", and no endpoint in it has an address of our ", spec.subnet.ToString());
  plan.document = OverlayNetwork(spec, candidate);
  return plan;
}

}  // namespace weft::hns
