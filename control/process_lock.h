// SPDX-License-Identifier: Apache-2.0
// A lock file; the system releases it when the process that holds it dies.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace weft::control {

// `path` is UTF-8; the file is created if needed, its folder must exist. FailedPrecondition:
// another process, or another ProcessLock of this one, holds it.
class ProcessLock {
 public:
  // Of the one process that works on a folder of ours.
  static absl::StatusOr<ProcessLock> TryTake(const std::string& path) { return Take(path, true); }
  // Of a folder in host-local's store, which host-local holds for milliseconds, taken as it takes
  // it (go-filemutex: flock; on Windows LockFileEx of the first byte of a file that is shared, so
  // that host-local waits and does not fail).
  static absl::StatusOr<ProcessLock> TryTakeHostLocal(const std::string& path) {
    return Take(path, false);
  }
  ~ProcessLock();
  ProcessLock(ProcessLock&& other) noexcept : file_(std::exchange(other.file_, kNone)) {}
  ProcessLock& operator=(ProcessLock&&) = delete;

 private:
  static constexpr std::intptr_t kNone = -1;
  static absl::StatusOr<ProcessLock> Take(const std::string& path, bool ours);
  explicit ProcessLock(std::intptr_t file) : file_(file) {}
  std::intptr_t file_;  // the system's descriptor
};

}  // namespace weft::control
