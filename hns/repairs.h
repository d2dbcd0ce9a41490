// SPDX-License-Identifier: Apache-2.0
// Records what was in sync in HNS, was lost or changed there, and was written again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hns/retry_delay.h"

namespace weft::hns {

// Shared by a keeper and its successors. Any thread.
class Repairs {
 public:
  enum class Kind : std::uint8_t { kNetwork, kHostRoute, kRoute, kEndpoint };
  static constexpr Duration kDay = std::chrono::hours(24);

  struct Last {
    std::uint64_t all = 0;     // since the start
    std::uint64_t recent = 0;  // in the last 24 h
    TimePoint at{};            // of the last one
    std::string what;          // it, as in Add
    std::string Text() const {
      return absl::StrCat("restored ", what,
                          " in HNS, which another program or HNS had deleted or changed; ", recent,
                          " restored in 24 h");
    }
  };

  // `what`, for people: "the network flannel.4096".
  void Add(Kind kind, std::uint64_t count, std::string what, TimePoint now) {
    const std::lock_guard lock(mutex_);
    counts_[static_cast<std::size_t>(kind)] += count;
    last_.all += count;
    last_.at = now;
    last_.what = std::move(what);
    while (!recent_.empty() && now - recent_.front().first >= kDay) recent_.pop_front();
    if (recent_.empty() || now - recent_.back().first >= std::chrono::minutes(1))
      recent_.emplace_back(now, 0);
    recent_.back().second += count;
  }
  std::uint64_t Count(Kind kind) const {
    const std::lock_guard lock(mutex_);
    return counts_[static_cast<std::size_t>(kind)];
  }
  Last ReadLast(TimePoint now) const {
    const std::lock_guard lock(mutex_);
    Last last = last_;
    for (const auto& [since, count] : recent_) last.recent += now - since < kDay ? count : 0;
    return last;
  }

 private:
  mutable std::mutex mutex_;
  std::array<std::uint64_t, 4> counts_{};
  Last last_;
  std::deque<std::pair<TimePoint, std::uint64_t>> recent_;  // by minute, oldest first
};

}  // namespace weft::hns
