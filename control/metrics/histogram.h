// SPDX-License-Identifier: Apache-2.0
// Durations in buckets that are fixed, so that no input adds a series.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace weft::metrics {

// Not thread-safe.
class Histogram {
 public:
  // Upper bounds in seconds, inclusive; what is longer counts in the last bucket, "+Inf".
  static constexpr std::array<double, 13> kBounds = {0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5,
                                                     1,     2.5,   5,    10,   30,  120};

  void Add(std::chrono::steady_clock::duration took) {
    const double seconds = std::chrono::duration<double>(took).count();
    std::size_t bucket = 0;
    while (bucket < kBounds.size() && seconds > kBounds[bucket]) ++bucket;
    ++counts_[bucket];
    sum_ += seconds;
  }
  // By bucket, not cumulative.
  const std::array<std::uint64_t, kBounds.size() + 1>& counts() const { return counts_; }
  double sum() const { return sum_; }

 private:
  std::array<std::uint64_t, kBounds.size() + 1> counts_{};
  double sum_ = 0;
};

}  // namespace weft::metrics
