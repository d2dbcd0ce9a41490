// SPDX-License-Identifier: Apache-2.0
// How HNS differs from the desired state, for the admin endpoint: requested on the control thread,
// answered on the HNS thread.
#include <algorithm>
#include <utility>

#include "control/daemon/daemon.h"

namespace weft::daemon {

std::optional<absl::StatusOr<admin::Plan>> Daemon::RequestPlan(const std::string& name,
                                                               bool repair) {
  const auto find = [this, name] {
    return std::find_if(plans_.begin(), plans_.end(),
                        [&](const PlanRequest& each) { return each.name == name; });
  };
  if (const auto request = find(); request != plans_.end()) {
    std::optional<absl::StatusOr<admin::Plan>> plan = request->plan;
    if (plan) plans_.erase(request);
    return plan;
  }
  const auto reply = [this, find, alive = std::weak_ptr(alive_)](absl::StatusOr<admin::Plan> plan) {
    Post(alive, [this, find, plan = std::move(plan)] {
      const auto request = find();
      if (request == plans_.end()) return;
      request->plan = plan;
      if (admin_) admin_->PlanReady();
    });
  };
  if (!network_.RequestPlan(repair, reply)) {
    return absl::FailedPreconditionError(
        config_.hns ? "the desired state of HNS is not known yet; \"flannelctl status\" shows what "
                      "flanneld waits for"
                    : "this flanneld does not program HNS; it does with --dataplane=hns, or with "
                      "--hns=emulator:PATH");
  }
  // Plans whose client disconnected are never fetched.
  constexpr std::size_t kMost = 16;
  if (plans_.size() >= kMost) plans_.pop_front();
  plans_.push_back({name});
  return std::nullopt;
}

}  // namespace weft::daemon
