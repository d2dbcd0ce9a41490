// SPDX-License-Identifier: Apache-2.0
// Sleeps until a port has something or another thread wakes the sleeper.
#pragma once

#include <chrono>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "dataplane/packet_port.h"

namespace weft::dataplane {

// One thread waits; any thread may wake it.
class WaitSet {
 public:
  // The handles must outlive the set. At most 63 on Windows. The error names the call that failed.
  static absl::StatusOr<std::unique_ptr<WaitSet>> Make(std::span<const WaitHandle> handles);
  ~WaitSet();

  // Returns when a handle is ready, Wake was called (since the last Wait), or `timeout` has passed;
  // a negative timeout is infinite. True: a handle is ready.
  bool Wait(std::chrono::milliseconds timeout);
  // The same without the handles.
  void WaitForWake(std::chrono::milliseconds timeout);

  void Wake();

 private:
  struct Impl;
  explicit WaitSet(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::dataplane
