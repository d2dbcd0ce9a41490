// SPDX-License-Identifier: Apache-2.0
// Time for the emulator: the system's, or one that a test turns by hand.
#pragma once

#include <chrono>
#include <thread>

namespace weft::hns::emulator {

using Milliseconds = std::chrono::milliseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  // Since any epoch; a state that is saved goes on by it.
  virtual Milliseconds Now() = 0;
  // Holds up the caller, and nobody else. A test's clock goes forward instead.
  virtual void Sleep(Milliseconds how_long) = 0;
};

// Wall time: the next process goes on by it.
class SystemClock final : public Clock {
 public:
  Milliseconds Now() override {
    return std::chrono::duration_cast<Milliseconds>(
        std::chrono::system_clock::now().time_since_epoch());
  }
  void Sleep(Milliseconds how_long) override { std::this_thread::sleep_for(how_long); }
};

}  // namespace weft::hns::emulator
