// SPDX-License-Identifier: Apache-2.0
// What the overlay and the bridge in HNS have in common.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/admin/schema.h"
#include "control/backend/backend.h"
#include "control/sinks/keeper_thread.h"
#include "hns/overlay_drift.h"

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
    status.notes.push_back(
        "HNS does not report its restarts; flanneld checks for them every minute");
  return status;
}

// Why differences remain, each with HNS's error code.
std::vector<std::string> CausesOf(const auto& outcome) {
  std::vector<std::string> causes;
  if constexpr (requires { outcome.pending; }) causes = outcome.pending;
  if (causes.empty() && outcome.state < decltype(outcome.state)::kInSync)
    causes.push_back(outcome.sentence);
  causes.insert(causes.end(), outcome.notes.begin(), outcome.notes.end());
  return causes;
}

inline admin::Plan PlanOf(const std::string& network, const hns::Drift& drift) {
  admin::Plan plan;
  plan.network = network;
  plan.refused = drift.refused;
  plan.differences = drift.differences;
  for (const hns::PlannedCall& call : drift.calls) plan.calls.push_back({call.what, call.document});
  return plan;
}

// On the HNS thread. How HNS differs from the desired state of `keeper`; `repair`: and corrects it.
absl::StatusOr<admin::Plan> ReadPlan(auto& keeper, const std::string& network, bool repair) {
  using Clock = std::chrono::steady_clock;
  // A round writes a part of the routes and requests the next one; beyond this limit the usual
  // rounds continue.
  constexpr int kMostRounds = 1000;
  const absl::StatusOr<hns::Drift> drift = keeper.Inspect();
  if (!drift.ok()) return drift.status();
  admin::Plan plan = PlanOf(network, *drift);
  if (!repair || !plan.refused.empty()) return plan;
  keeper.RetryNow();
  for (int rounds = 0; rounds < kMostRounds; ++rounds) {
    const auto outcome = keeper.Round(Clock::now());
    plan.causes = CausesOf(outcome);
    if (!outcome.next || *outcome.next > Clock::now()) break;
  }
  const absl::StatusOr<hns::Drift> after = keeper.Inspect();
  if (!after.ok()) return after.status();
  plan.repaired = true;
  plan.left = after->differences;
  plan.done = hns::Repaired(*drift, *after);
  if (!after->refused.empty()) {  // it lists no differences then
    plan.left = {after->refused};
    plan.done->clear();
  }
  if (plan.left.empty()) plan.causes.reset();
  return plan;
}

// A backend that is one network in HNS, of IPv4: what `kDesiredFor` makes of the plan. `Keeper`
// programs it on a thread of its own.
template <typename Keeper, typename Desired, auto kDesiredFor>
class HnsNetwork : public Backend {
 public:
  // `follower`: it receives the desired state, decides nothing, and nothing waits for it.
  HnsNetwork(const Context& context, bool follower) : context_(context), follower_(follower) {}

  absl::Status Configure(const NodePlan& plan, const underlay::HostFacts& host) override {
    std::optional<Desired> desired;
    if (plan.v4) {
      absl::StatusOr<Desired> made =
          kDesiredFor(plan, context_.options, context_.conf, host.adapters);
      if (!made.ok()) return made.status();
      desired = *std::move(made);
    }
    desired_ = std::move(desired);
    return absl::OkStatus();
  }
  bool IsComplete() const override { return keeper_ ? desired_ == programmed_ : !desired_; }
  void Poll(control::TimePoint now) override {
    if (keeper_) condition_.Set(keeper_->Supervise(now));
  }
  bool RequestPlan(bool repair, const PlanReply& reply) override {
    if (!keeper_) return false;
    keeper_->Request([repair, reply, name = programmed_->name](auto& keeper) {
      reply(ReadPlan(keeper, name, repair));
    });
    return true;
  }
  void AppendConditions(std::vector<NamedCondition>& out) const override {
    out.push_back({"hns", condition_});
  }
  void FillStatus(admin::Status& status) const override {
    if (keeper_) status.hns = ReadStatus();
  }

 protected:
  virtual admin::HnsStatus ReadStatus() const = 0;
  bool decides() const { return keeper_ && !follower_; }

  const Context& context_;
  const bool follower_;
  // Empty: the plan has no IPv4. `programmed_` is what the keeper has received.
  std::optional<Desired> desired_, programmed_;
  control::Condition condition_;  // a call into HNS takes too long, or has not returned
  std::unique_ptr<Keeper> keeper_;
};

}  // namespace weft::backend
