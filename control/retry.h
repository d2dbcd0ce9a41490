// SPDX-License-Identifier: Apache-2.0
// Back-off as a value: the wait before the next try.
#pragma once

#include <chrono>
#include <functional>

#include "control/clock.h"

namespace weft::control {

// Uniform in [0, 1).
using Random = std::function<double()>;
// Seeded from the system.
Random SystemRandom();

// client-go's reflector (as in upstream v0.28.9): 800 ms doubling to 30 s, each lengthened
// by up to `jitter` of itself so that a thousand nodes do not come back at once.
struct RetryPolicy {
  Duration first = std::chrono::milliseconds(800);
  Duration most = std::chrono::seconds(30);  // before jitter
  double factor = 2;
  double jitter = 1;
};

class Backoff {
 public:
  Backoff(RetryPolicy policy, Random random);
  // The wait before the next try; grows with every call.
  Duration Next();
  // Call after a success.
  void Reset() { wait_ = policy_.first; }

 private:
  RetryPolicy policy_;
  Random random_;
  Duration wait_;
};

}  // namespace weft::control
