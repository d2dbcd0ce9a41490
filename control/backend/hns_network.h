// SPDX-License-Identifier: Apache-2.0
// What the overlay and the bridge in HNS report alike.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "control/admin/schema.h"
#include "control/sinks/keeper_thread.h"
#include "hns/overlay_look.h"

namespace weft::backend {

template <typename Outcome>
admin::HnsStatus HnsStatusOf(const std::string& network,
                             const control::KeeperState<Outcome>& state) {
  const Outcome& outcome = state.outcome;
  admin::HnsStatus status;
  status.network = network;
  status.text = state.known ? outcome.sentence : "HNS has not answered yet";
  if (outcome.network_id) status.id = outcome.network_id->ToString();
  status.management_ip = outcome.management_ip;
  status.calls = state.calls;
  status.modifying_calls = state.modifying_calls;
  status.notes = outcome.notes;
  if (state.known && !state.notified)
    status.notes.push_back("HNS does not tell of its restarts: looking every minute finds them");
  return status;
}

// On the HNS thread. What differs in HNS from what `keeper` desires; `repair`: after it was
// corrected. `causes_of` an outcome: why what is left is left, each with HNS's own code.
template <typename Keeper, typename CausesOf>
absl::StatusOr<admin::Plan> ReadPlan(Keeper& keeper, const std::string& network, bool repair,
                                     const CausesOf& causes_of) {
  using Clock = std::chrono::steady_clock;
  // A round writes some routes and wants to go on; more of them are left to the usual rounds.
  constexpr int kMostRounds = 1000;
  const absl::StatusOr<hns::Drift> drift = keeper.Look();
  if (!drift.ok()) return drift.status();
  admin::Plan plan;
  plan.network = network;
  plan.refused = drift->refused;
  plan.differences = drift->differences;
  for (const hns::PlannedCall& call : drift->calls)
    plan.calls.push_back({call.what, call.document});
  if (!repair || !plan.refused.empty()) return plan;
  keeper.OnServiceGone();  // what was refused is tried now, not when its time comes
  for (int rounds = 0; rounds < kMostRounds; ++rounds) {
    const auto outcome = keeper.Round(Clock::now());
    plan.causes = causes_of(outcome);
    if (!outcome.next || *outcome.next > Clock::now()) break;
  }
  const absl::StatusOr<hns::Drift> after = keeper.Look();
  if (!after.ok()) return after.status();
  plan.repaired = true;
  plan.left = after->differences;
  plan.done = hns::PutRight(*drift, *after);
  if (!after->refused.empty()) {  // it lists no differences then
    plan.left = {after->refused};
    plan.done->clear();
  }
  if (plan.left.empty()) plan.causes.reset();
  return plan;
}

}  // namespace weft::backend
