// SPDX-License-Identifier: Apache-2.0
// Time for the emulator: the system's clock, or one set by a test.
#pragma once

#include <chrono>
#include <thread>

namespace weft::hns::emulator {

using Milliseconds = std::chrono::milliseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  // Since any epoch; a saved state continues with the same one.
  virtual Milliseconds Now() = 0;
  // Blocks only the caller. A test's clock advances instead.
  virtual void Sleep(Milliseconds how_long) = 0;
};

// Wall time, so that a saved state is valid in the next process.
class SystemClock final : public Clock {
 public:
  Milliseconds Now() override {
    return std::chrono::duration_cast<Milliseconds>(
        std::chrono::system_clock::now().time_since_epoch());
  }
  void Sleep(Milliseconds how_long) override { std::this_thread::sleep_for(how_long); }
};

}  // namespace weft::hns::emulator
