// SPDX-License-Identifier: Apache-2.0
// Three cycles a multiplication, each waiting for the last, on every x86-64 of the last decade:
// counts cycles where the time stamp counter counts something else. (Additions will not do: newer
// cores do several in a cycle, dependent or not.)
#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "bench/tools/sockets_linux.h"
#include "bench/tools/traffic.h"

namespace weft::bench {

// The best of several slices: what others take of the machine is not its clock.
int MeasureClock() {
  constexpr int kSlices = 20;
  constexpr std::uint64_t kMultiplications = 5'000'000, kCycles = 3;
  std::uint64_t product = 3;
  double best = 0;
  for (int slice = 0; slice < kSlices; ++slice) {
    const double began = Seconds();
    for (std::uint64_t i = 0; i < kMultiplications; ++i) {
      product *= product;
      asm volatile("" : "+r"(product));  // neither joined nor removed
    }
    best = std::max(best, static_cast<double>(kMultiplications * kCycles) / (Seconds() - began));
  }
  std::printf("{\"ghz\": %.2f}\n", best * 1e-9);
  return 0;
}

}  // namespace weft::bench
