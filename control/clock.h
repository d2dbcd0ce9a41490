// SPDX-License-Identifier: Apache-2.0
// Time as a parameter: the system's clock in the daemon, a clock set by hand in tests
// (tests/support/manual_clock.h).
#pragma once

#include <chrono>

namespace weft::control {

// For deadlines and ages. Never goes backwards; has no relation to the date.
using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() const = 0;
};

class SystemClock final : public Clock {
 public:
  TimePoint Now() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace weft::control
