// SPDX-License-Identifier: Apache-2.0
// The emulator's clock in tests: it advances only when a thread sleeps.
#pragma once

#include <atomic>

#include "control/emulator/hns/model/clock.h"

namespace weft::testing {

// Any thread.
class EmulatorClock final : public hns::emulator::Clock {
 public:
  hns::emulator::Milliseconds Now() override { return hns::emulator::Milliseconds(now_.load()); }
  void Sleep(hns::emulator::Milliseconds how_long) override { Advance(how_long); }
  void Advance(hns::emulator::Milliseconds by) { now_ += by.count(); }

 private:
  std::atomic<std::int64_t> now_{1'000'000};
};

}  // namespace weft::testing
