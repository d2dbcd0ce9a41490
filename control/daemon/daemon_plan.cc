// SPDX-License-Identifier: Apache-2.0
// What differs in HNS, for the admin endpoint: requested on the control thread, answered on HNS's.
#include <algorithm>
#include <utility>

#include "control/daemon/daemon.h"

namespace weft::daemon {

std::optional<absl::StatusOr<admin::Plan>> Daemon::AskPlan(const std::string& ask, bool repair) {
  const auto find = [this, ask] {
    return std::find_if(plans_.begin(), plans_.end(),
                        [&](const Asked& each) { return each.ask == ask; });
  };
  if (const auto asked = find(); asked != plans_.end()) {
    std::optional<absl::StatusOr<admin::Plan>> answer = asked->answer;
    if (answer) plans_.erase(asked);
    return answer;
  }
  const auto reply = [this, find, alive = std::weak_ptr(alive_)](absl::StatusOr<admin::Plan> plan) {
    Post(alive, [this, find, plan = std::move(plan)] {
      const auto asked = find();
      if (asked == plans_.end()) return;
      asked->answer = plan;
      if (admin_) admin_->Answered();
    });
  };
  if (!network_.RequestPlan(repair, reply)) {
    return absl::FailedPreconditionError(
        config_.hns ? "flanneld does not know yet what HNS should have; \"flannelctl status\" says "
                      "what it waits for"
                    : "this flanneld programs no HNS; it does with --dataplane=hns, or with "
                      "--hns=emulator:PATH");
  }
  // Those whose asker went away are never fetched.
  constexpr std::size_t kMost = 16;
  if (plans_.size() >= kMost) plans_.pop_front();
  plans_.push_back({ask});
  return std::nullopt;
}

}  // namespace weft::daemon
