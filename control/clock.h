// SPDX-License-Identifier: Apache-2.0
// Time as a parameter: the system's clock in the daemon, a clock set by hand in tests
// (tests/support/manual_clock.h).
#pragma once

#include <chrono>
#include <cstdint>

namespace weft::control {

// For deadlines and ages. Never goes backwards; has no relation to the date.
using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

// When that is or was, in Unix seconds, by the system's clocks as they are now.
inline std::int64_t UnixSecondsAt(TimePoint at) {
  const auto date =
      std::chrono::system_clock::now().time_since_epoch() + (at - std::chrono::steady_clock::now());
  return std::chrono::duration_cast<std::chrono::seconds>(date).count();
}

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
