// SPDX-License-Identifier: Apache-2.0
// The seed of a random test. The same in every run, so that a failure is caused by the last change;
// another one with WEFT_SEED=7, a new one in each run with WEFT_SEED=random.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

namespace weft {

// Show it: SCOPED_TRACE("seed " + std::to_string(seed)).
inline std::uint32_t TestSeed() {
  const char* const desired = std::getenv("WEFT_SEED");
  if (desired == nullptr) return 4096;
  if (std::string_view(desired) == "random") return std::random_device{}();
  return static_cast<std::uint32_t>(std::stoul(desired));
}

}  // namespace weft
