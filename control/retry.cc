// SPDX-License-Identifier: Apache-2.0
#include "control/retry.h"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

namespace weft::control {

Random SystemRandom() {
  const auto engine = std::make_shared<std::mt19937_64>(std::random_device()());
  return [engine] { return std::uniform_real_distribution<>(0, 1)(*engine); };
}

Backoff::Backoff(RetryPolicy policy, Random random)
    : policy_(policy), random_(std::move(random)), wait_(policy.first) {}

Duration Backoff::Next() {
  const auto stretched = [](Duration wait, double by) {
    return std::chrono::duration_cast<Duration>(
        std::chrono::duration<double, Duration::period>(wait) * by);
  };
  const Duration wait = std::min(wait_, policy_.most);
  wait_ = std::min(stretched(wait, policy_.factor), policy_.most);
  return stretched(wait, 1 + policy_.jitter * random_());
}

}  // namespace weft::control
