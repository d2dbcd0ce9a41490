// SPDX-License-Identifier: Apache-2.0
// Measures the clock with dependent multiplications, which take three cycles each on every x86-64
// of the last decade; the time stamp counter does not count core cycles. (Not with additions: newer
// cores do several in a cycle, even dependent ones.)
#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "bench/tools/sockets_linux.h"
#include "bench/tools/traffic.h"

namespace weft::bench {

// The best of several slices, because other processes use some of the time.
int MeasureClock() {
  constexpr int kSlices = 20;
  constexpr std::uint64_t kMultiplications = 5'000'000, kCycles = 3;
  std::uint64_t product = 3;
  double best = 0;
  for (int slice = 0; slice < kSlices; ++slice) {
    const double began = Seconds();
    for (std::uint64_t i = 0; i < kMultiplications; ++i) {
      product *= product;
      asm volatile("" : "+r"(product));  // prevents merging and removal
    }
    best = std::max(best, static_cast<double>(kMultiplications * kCycles) / (Seconds() - began));
  }
  std::printf("{\"ghz\": %.2f}\n", best * 1e-9);
  return 0;
}

}  // namespace weft::bench
