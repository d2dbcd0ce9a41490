// SPDX-License-Identifier: Apache-2.0
// Waits for what another thread calls.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace weft::testing {

// Counts calls; any thread.
class Calls {
 public:
  void Add() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  // Waits until there were more than `before`. Only a failure waits for the whole limit.
  bool MoreThan(int before) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return count_ > before; });
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
