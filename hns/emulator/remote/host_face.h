// SPDX-License-Identifier: Apache-2.0
// The machine beside the service, for the processes that a server serves.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "hns/api/api.h"

namespace weft::hns::emulator {

// Any thread.
class HostFace {
 public:
  virtual ~HostFace() = default;
  // `call` and the reply's text are a matter of those two ends.
  virtual Reply Answer(const std::string& call) = 0;
  // Calls `changed` on any thread while what it returns is there; null: it cannot be watched.
  virtual std::shared_ptr<void> Watch(std::function<void()> changed) = 0;
};

}  // namespace weft::hns::emulator
