// SPDX-License-Identifier: Apache-2.0
// Waits for what another thread calls.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <source_location>

#include "tests/support/wait.h"

namespace weft::testing {

// Counts calls; any thread.
class Calls {
 public:
  void Add() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  // Waits until there were more than `before`.
  ::testing::AssertionResult MoreThan(
      int before, std::source_location where = std::source_location::current()) {
    std::unique_lock lock(mutex_);
    return Await({std::chrono::seconds(60), where}, changed_, lock,
                 [&] { return count_ > before; });
  }
  int count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

}  // namespace weft::testing
