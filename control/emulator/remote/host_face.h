// SPDX-License-Identifier: Apache-2.0
// The host of the service, for the clients of a server.
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
  // The form of `call` and of the reply's text is known to the two ends only.
  virtual Reply Answer(const std::string& call) = 0;
  // Calls `changed` on any thread while what it returns exists; null: it cannot be watched.
  virtual std::shared_ptr<void> Watch(std::function<void()> changed) = 0;
};

}  // namespace weft::hns::emulator
