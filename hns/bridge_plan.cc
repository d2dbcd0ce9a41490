// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hns/bridge.h"

namespace weft::hns {
namespace {

constexpr std::string_view kBridgeType = "L2Bridge";

// Compares what upstream compares, and the type.
std::string Difference(const BridgeSpec& spec, const BridgeNetwork& network) {
  if (!absl::EqualsIgnoreCase(network.type, kBridgeType))
    return absl::StrCat("type ", network.type, " instead of ", kBridgeType);
  const BridgeSubnet desired{spec.subnet, spec.gateway()};
  if (std::find(network.subnets.begin(), network.subnets.end(), desired) != network.subnets.end())
    return network.degraded ? "lost its adapter" : "";
  if (network.subnets.empty()) return absl::StrCat("no subnet ", spec.subnet.ToString());
  const BridgeSubnet& first = network.subnets.front();
  return absl::StrCat("subnet ", first.prefix.ToString(), " with gateway ",
                      first.gateway.ToString(), " instead of ", spec.subnet.ToString(), " with ",
                      spec.gateway().ToString());
}

std::size_t LocalEndpoints(const BridgeSpec& spec, const BridgeNetwork& network,
                           std::span<const BridgeEndpoint> endpoints) {
  return static_cast<std::size_t>(
      std::count_if(endpoints.begin(), endpoints.end(), [&](const BridgeEndpoint& endpoint) {
        return endpoint.network == network.id && !endpoint.remote && endpoint.address &&
               endpoint.name != spec.endpoint_name() && spec.subnet.Contains(*endpoint.address);
      }));
}

}  // namespace

BridgePlan PlanBridge(const BridgeSpec& spec, std::span<const BridgeNetwork> networks,
                      std::span<const BridgeEndpoint> endpoints) {
  BridgePlan plan;
  std::string difference;
  for (const BridgeNetwork& network : networks) {
    if (network.name != spec.name) continue;
    difference = Difference(spec, network);
    plan.existing = network;
    if (difference.empty()) break;
  }
  for (const BridgeEndpoint& endpoint : endpoints)
    if (endpoint.name == spec.endpoint_name()) plan.existing_endpoint = endpoint;
  if (!plan.existing) {
    plan.network = BridgeAction::kCreate;
    return plan;
  }
  if (difference.empty()) {
    plan.network = BridgeAction::kAdopt;
    const auto& endpoint = plan.existing_endpoint;
    if (endpoint) {
      const bool right =
          endpoint->network == plan.existing->id && endpoint->address == spec.endpoint_address();
      plan.endpoint = right ? BridgeAction::kAdopt : BridgeAction::kRecreate;
    }
    return plan;
  }
  const std::size_t count = LocalEndpoints(spec, *plan.existing, endpoints);
  if (count > 0) {
    plan.reason = absl::StrCat(
        "the HNS network ", spec.name, " has ", difference, "; ", count,
        count == 1 ? " endpoint in it has an address" : " endpoints in it have addresses",
        " of our ", spec.subnet.ToString(),
        ", so it is not replaced: undo the change in net-conf, or drain this node "
        "and delete these endpoints (flannelctl hns endpoint delete)");
    return plan;
  }
  plan.network = BridgeAction::kRecreate;
  plan.reason = absl::StrCat("the HNS network ", spec.name, " has ", difference);
  return plan;
}

}  // namespace weft::hns
