// SPDX-License-Identifier: Apache-2.0
// What HNS lacks, as its keeper sees it.
#include <chrono>
#include <utility>

#include "control/node/node_network.h"

namespace weft::node {
namespace {

using Clock = std::chrono::steady_clock;

// A round writes some routes and wants to go on; more of them are left to the usual rounds.
constexpr int kMostRounds = 1000;

// Why what is left is left: each with HNS's own code.
std::vector<std::string> CausesOf(const hns::OverlayOutcome& outcome) {
  std::vector<std::string> causes = outcome.pending;
  if (causes.empty() && outcome.state < hns::OverlayState::kHolds)
    causes.push_back(outcome.sentence);
  causes.insert(causes.end(), outcome.notes.begin(), outcome.notes.end());
  return causes;
}

std::vector<std::string> CausesOf(const hns::BridgeOutcome& outcome) {
  std::vector<std::string> causes;
  if (outcome.state < hns::BridgeState::kHolds) causes.push_back(outcome.sentence);
  causes.insert(causes.end(), outcome.notes.begin(), outcome.notes.end());
  return causes;
}

template <typename Keeper>
absl::StatusOr<admin::Plan> Look(Keeper& keeper, const std::string& network, bool repair) {
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
    plan.causes = CausesOf(outcome);
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

}  // namespace

bool NodeNetwork::AskHns(bool repair, std::function<void(absl::StatusOr<admin::Plan>)> told) {
  if (hns_sink_) {
    hns_sink_->Ask([repair, told = std::move(told), name = hns_sink_->wish().name](
                       hns::OverlayKeeper& keeper) { told(Look(keeper, name, repair)); });
    return true;
  }
  if (bridge_) {
    bridge_->Ask([repair, told = std::move(told), name = bridge_->wish().name](
                     hns::BridgeKeeper& keeper) { told(Look(keeper, name, repair)); });
    return true;
  }
  return false;
}

}  // namespace weft::node
