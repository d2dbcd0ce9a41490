// SPDX-License-Identifier: Apache-2.0
// Delays before a retry.
#pragma once

#include <algorithm>
#include <chrono>

namespace weft::hns {

using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

// Poll periods: for what HNS assigns asynchronously, and after we refused to act, since another
// process may remove the cause.
inline constexpr Duration kManagementIpPeriod = std::chrono::milliseconds(500);
inline constexpr Duration kRefusalPeriod = std::chrono::seconds(10);

// Doubles from `first` to `most`. Without jitter: a node's HNS serves that node only.
class RetryDelay {
 public:
  constexpr RetryDelay(Duration first, Duration most) : first_(first), most_(most), next_(first) {}
  Duration Next() {
    const Duration now = next_;
    next_ = std::min(next_ * 2, most_);
    return now;
  }
  void Reset() { next_ = first_; }

 private:
  Duration first_, most_, next_;
};

}  // namespace weft::hns
