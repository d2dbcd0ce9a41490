// SPDX-License-Identifier: Apache-2.0
// A clock that only the test advances.
#pragma once

#include "control/clock.h"

namespace weft::testing {

class ManualClock final : public control::Clock {
 public:
  control::TimePoint Now() const override { return now_; }
  void Advance(control::Duration by) { now_ += by; }
  void AdvanceTo(control::TimePoint to) { now_ = to; }

 private:
  control::TimePoint now_{std::chrono::hours(1)};
};

}  // namespace weft::testing
