// SPDX-License-Identifier: Apache-2.0
// What HNS lacks, as its keeper sees it.
#include <chrono>
#include <utility>

#include "control/daemon/node_network.h"

namespace weft::daemon {
namespace {

using Clock = std::chrono::steady_clock;

// A round writes some routes and wants to go on; more of them are left to the usual rounds.
constexpr int kMostRounds = 1000;

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
  keeper.Recheck();
  for (int rounds = 0; rounds < kMostRounds; ++rounds) {
    const auto outcome = keeper.Round(Clock::now());
    if (!outcome.next || *outcome.next > Clock::now()) break;
  }
  const absl::StatusOr<hns::Drift> after = keeper.Look();
  if (!after.ok()) return after.status();
  plan.repaired = true;
  plan.left = after->differences;
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

}  // namespace weft::daemon
