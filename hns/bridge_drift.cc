// SPDX-License-Identifier: Apache-2.0
// The part of bridge_machine.h that changes nothing.
#include "absl/strings/str_cat.h"
#include "hns/bridge_machine.h"

namespace weft::hns {

std::string BridgeNetworkPath(const Guid& id) {
  return absl::StrCat("/networks/", id.ToUpperString());
}
std::string BridgeEndpointPath(const Guid& id) {
  return absl::StrCat("/endpoints/", id.ToUpperString());
}

Sequence<absl::StatusOr<BridgePlan>> InspectBridge(const BridgeSpec& spec) {
  const auto networks_text = co_await call::Hns("list the networks", "GET", "/networks/");
  if (!networks_text.ok()) co_return networks_text.status();
  const auto networks = ParseBridgeNetworks(*networks_text);
  if (!networks.ok()) co_return networks.status();
  const auto endpoints_text = co_await call::Hns("list the endpoints", "GET", "/endpoints/");
  if (!endpoints_text.ok()) co_return endpoints_text.status();
  const auto endpoints = ParseBridgeEndpoints(*endpoints_text);
  if (!endpoints.ok()) co_return endpoints.status();
  co_return PlanBridge(spec, *networks, *endpoints);
}

std::vector<PlannedCall> PlannedCalls(const BridgePlan& plan, const BridgeSpec& spec) {
  std::vector<PlannedCall> calls;
  if (plan.network == BridgeAction::kRefuse) return calls;
  if (plan.network == BridgeAction::kRecreate) {
    calls.push_back({absl::StrCat("delete the network ", spec.name, " (",
                                  plan.existing->id.ToString(), "): ", plan.reason),
                     ""});
  }
  const bool adopted = plan.network == BridgeAction::kAdopt;
  if (!adopted)
    calls.push_back({absl::StrCat("create the network ", spec.name), BridgeNetworkJson(spec)});
  const bool right = plan.endpoint == BridgeAction::kAdopt;
  if (plan.existing_endpoint && !right) {
    calls.push_back({absl::StrCat("delete the endpoint ", spec.endpoint_name(), " (",
                                  plan.existing_endpoint->id.ToString(), ")"),
                     ""});
  }
  if (!right) {
    calls.push_back({absl::StrCat("create the endpoint ", spec.endpoint_name()),
                     BridgeEndpointJson(spec, adopted ? plan.existing->id : Guid())});
  }
  if (!right || !plan.existing_endpoint->attached) {
    calls.push_back({absl::StrCat("attach the endpoint ", spec.endpoint_name(), " to the host"),
                     HostAttachJson()});
  }
  return calls;
}

Drift DriftOf(const BridgePlan& plan, const BridgeSpec& spec) {
  Drift drift;
  if (plan.network == BridgeAction::kRefuse) {
    drift.refused = plan.reason;
    return drift;
  }
  drift.calls = PlannedCalls(plan, spec);
  const std::string network = absl::StrCat("the network ", spec.name);
  if (plan.network == BridgeAction::kCreate) drift.Add(network, "is missing");
  if (plan.network == BridgeAction::kRecreate) drift.AddSentence(network, plan.reason);
  const std::string endpoint = absl::StrCat("the endpoint ", spec.endpoint_name());
  if (!plan.existing_endpoint) {
    drift.Add(endpoint, "is missing");
  } else if (plan.endpoint != BridgeAction::kAdopt) {
    drift.Add(endpoint, "differs from the desired one");
  } else if (!plan.existing_endpoint->attached) {
    drift.Add(endpoint, "is not attached to the host");
  }
  return drift;
}

}  // namespace weft::hns
