// SPDX-License-Identifier: Apache-2.0
// /healthz, /livez and /readyz with the texts of upstream v0.28.9, and behind "not ready yet" the
// first reason; ?verbose has a line for each check. /metrics has the metrics of control/metrics.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/admin/http_codec.h"
#include "control/admin/schema.h"

namespace weft::daemon {

using ReadChecks = std::function<std::vector<admin::Check>()>;

// Ready: every check is ok.
bool AllOk(const std::vector<admin::Check>& checks);

// The result of `read`, at most 100 ms old: any process may request it at any rate.
template <typename Value>
class Recent {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  explicit Recent(std::function<Value()> read) : read_(std::move(read)) {}
  const Value& At(TimePoint now) {
    if (!read_at_ || now - *read_at_ > std::chrono::milliseconds(100)) {
      value_ = read_();
      read_at_ = now;
    }
    return value_;
  }

 private:
  const std::function<Value()> read_;
  Value value_;
  std::optional<TimePoint> read_at_;
};
using RecentChecks = Recent<std::vector<admin::Check>>;

using ReadMetrics = std::function<std::string()>;

// /healthz shows only that the process answers: a restart would correct no failing check.
admin::Handler HealthHandler(ReadChecks checks, ReadMetrics metrics);

}  // namespace weft::daemon
