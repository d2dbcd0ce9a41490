// SPDX-License-Identifier: Apache-2.0
// One cycle an addition, each waiting for the last: counts cycles where the time stamp counter
// counts something else.
#include <cstdint>
#include <cstdio>

#include "bench/tools/sockets_linux.h"
#include "bench/tools/traffic.h"

namespace weft::bench {

int MeasureClock() {
  constexpr std::uint64_t kRounds = 20'000'000, kAdditions = 8;
  std::uint64_t sum = 0;
  const double began = Seconds();
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    for (std::uint64_t k = 0; k < kAdditions; ++k) {
      sum += i;
      asm volatile("" : "+r"(sum));  // neither joined nor removed
    }
  }
  const double took = Seconds() - began;
  std::printf("{\"ghz\": %.2f}\n", static_cast<double>(kRounds * kAdditions) / took * 1e-9);
  return 0;
}

}  // namespace weft::bench
