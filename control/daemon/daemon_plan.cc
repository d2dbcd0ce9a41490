// SPDX-License-Identifier: Apache-2.0
// What HNS lacks, for the admin endpoint: asked on the control thread, answered on HNS's.
#include <utility>

#include "control/daemon/daemon.h"

namespace weft::daemon {

std::optional<absl::StatusOr<admin::Plan>> Daemon::AskPlan(const std::string& ask, bool repair) {
  if (const auto asked = plans_.find(ask); asked != plans_.end()) {
    std::optional<absl::StatusOr<admin::Plan>> answer = asked->second;
    if (answer) plans_.erase(asked);
    return answer;
  }
  const auto told = [this, ask, alive = std::weak_ptr(alive_)](absl::StatusOr<admin::Plan> plan) {
    loop_.Post([this, ask, alive, plan = std::move(plan)] {
      const std::shared_ptr<bool> still = alive.lock();
      if (!still || !*still) return;
      const auto asked = plans_.find(ask);
      if (asked == plans_.end()) return;
      asked->second = plan;
      if (admin_) admin_->Answered();
    });
  };
  if (!network_.AskHns(repair, told)) {
    return absl::FailedPreconditionError(
        config_.hns ? "flanneld does not know yet what HNS should have; \"flannelctl status\" says "
                      "what it waits for"
                    : "this flanneld programs no HNS; it does with --dataplane=hns, or with "
                      "--hns=emulator:PATH");
  }
  // Those whose asker went away are never fetched.
  constexpr std::size_t kMost = 16;
  if (plans_.size() >= kMost) plans_.erase(plans_.begin());
  plans_.emplace(ask, std::nullopt);
  return std::nullopt;
}

}  // namespace weft::daemon
