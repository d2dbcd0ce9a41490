// SPDX-License-Identifier: Apache-2.0
// What the keeper would do now, without doing it: for `flannelctl plan` and `hns drift`.
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
  // Empty where the network does not stand yet: then all wanted routes come.
  bool host_route_missing = false;
  RoutePlan routes;
};

// Makes no modifying call. `wanted` and `may_remove` as PlanRoutes has them; `made`: networks, as
// the ledger has them.
Sequence<absl::StatusOr<OverlayInspection>> InspectOverlay(const OverlaySpec& spec,
                                                           const RemoteSubnetRoutes& desired,
                                                           bool may_remove = true,
                                                           std::vector<KnownObject> made = {});

// `networks` with what schema 2 does not show of those of our name: as they were made, where we
// made them, else as schema 1 shows it. What cannot be asked stays unknown.
Sequence<std::vector<Network>> FillUnshown(const OverlaySpec& spec, std::vector<KnownObject> made,
                                           std::vector<Network> networks);

// One modifying call that would be made.
struct PlannedCall {
  std::string what;      // "create the network flannel.4096"
  std::string document;  // as HNS would be given it; empty for a delete
};
// In the order in which the keeper would make them. Routes in batches as it makes them of a quick
// HNS.
std::vector<PlannedCall> PlannedCalls(const OverlayInspection& look, const OverlaySpec& spec);

// What a keeper would do now.
struct Drift {
  std::string refused;                   // why nothing may be done; empty: it may
  std::vector<std::string> differences;  // sentences that name their object
  std::vector<std::string> objects;      // of each difference: "the route to 10.244.1.0/24"
  std::vector<PlannedCall> calls;

  // One that differs from what it should be: "is missing".
  void Add(const std::string& object, std::string_view how);
  // The same in a sentence of its own.
  void AddSentence(std::string object, std::string sentence);
};
// Of the differences `before` those whose object is not among those `after`: a thing that was put
// right in part is not done.
std::vector<std::string> PutRight(const Drift& before, const Drift& after);
Drift DriftOf(const OverlayInspection& look, const OverlaySpec& spec);

}  // namespace weft::hns
