// SPDX-License-Identifier: Apache-2.0
// /healthz, /livez and /readyz with the texts of upstream v0.28.9, and behind "not ready yet" the
// first reason; ?verbose has a line for each check.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "control/admin/http_codec.h"
#include "control/admin/schema.h"

namespace weft::daemon {

using ReadChecks = std::function<std::vector<admin::Check>()>;

// Ready: every check is ok.
bool AllOk(const std::vector<admin::Check>& checks);

// The result of `read`, at most 100 ms old: any process may request it at any rate.
class RecentChecks {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  explicit RecentChecks(ReadChecks read) : read_(std::move(read)) {}
  const std::vector<admin::Check>& At(TimePoint now);

 private:
  const ReadChecks read_;
  std::vector<admin::Check> checks_;
  std::optional<TimePoint> read_at_;
};

// /healthz shows only that the process answers: a restart would correct no failing check.
admin::Handler HealthHandler(ReadChecks checks);

}  // namespace weft::daemon
