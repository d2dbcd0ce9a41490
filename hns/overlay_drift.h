// SPDX-License-Identifier: Apache-2.0
// What the keeper would do now, without doing it; for `flannelctl plan` and `hns drift`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hns/object_ledger.h"
#include "hns/overlay_plan.h"
#include "hns/route_plan.h"
#include "hns/sequence.h"

namespace weft::hns {

struct OverlayInspection {
  Version version;
  NetworkPlan network;
  bool host_route_missing = false;
  RoutePlan routes;  // all desired routes if the network is to be created
};

// Makes no modifying call. `desired` and `may_remove`: as for PlanRoutes. `made`: networks of the
// ledger.
Sequence<absl::StatusOr<OverlayInspection>> InspectOverlay(const OverlaySpec& spec,
                                                           const RemoteSubnetRoutes& desired,
                                                           bool may_remove = true,
                                                           std::vector<KnownObject> made = {});

// `networks`; those of our name are completed with what schema 2 does not show: from the ledger if
// weft created them, else from schema 1. What cannot be read stays empty.
Sequence<std::vector<Network>> FillUnshown(const OverlaySpec& spec, std::vector<KnownObject> made,
                                           std::vector<Network> networks);

// A modifying call that the keeper would make.
struct PlannedCall {
  std::string what;      // "create the network flannel.4096"
  std::string document;  // the request; empty for a delete
};
// In the keeper's order. Routes are batched as for an HNS that answers quickly.
std::vector<PlannedCall> PlannedCalls(const OverlayInspection& inspection, const OverlaySpec& spec);

struct Drift {
  std::string refused;                   // why the keeper may change nothing; empty: it may
  std::vector<std::string> differences;  // sentences that name their object
  std::vector<std::string> objects;      // of each difference: "the route to 10.244.1.0/24"
  std::vector<PlannedCall> calls;

  // `how`: "is missing".
  void Add(const std::string& object, std::string_view how);
  // `sentence` names the object itself.
  void AddSentence(std::string object, std::string sentence);
};
// The differences of `before` whose object has none in `after`. An object that is repaired in part
// does not count.
std::vector<std::string> Repaired(const Drift& before, const Drift& after);
Drift DriftOf(const OverlayInspection& inspection, const OverlaySpec& spec);

}  // namespace weft::hns
