// SPDX-License-Identifier: Apache-2.0
// How long to wait before something that failed is tried again.
#pragma once

#include <algorithm>
#include <chrono>

namespace weft::hns {

using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

// Between two looks for what HNS gives in its own time, and after a refusal of ours, whose cause
// others may mend.
inline constexpr Duration kManagementIpPeriod = std::chrono::milliseconds(500);
inline constexpr Duration kRefusalPeriod = std::chrono::seconds(10);

// Doubles from `first` to `most`. Without chance: a node's HNS serves that node only.
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
