// SPDX-License-Identifier: Apache-2.0
// A lock file of the one process that works on a folder; the system releases it when that dies.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace weft::control {

class ProcessLock {
 public:
  // FailedPrecondition: another process, or another ProcessLock of this one, holds it. `path` is
  // UTF-8; the file is created if needed, its folder must exist.
  static absl::StatusOr<ProcessLock> TryTake(const std::string& path);
  ~ProcessLock();
  ProcessLock(ProcessLock&& other) noexcept : file_(std::exchange(other.file_, kNone)) {}
  ProcessLock& operator=(ProcessLock&&) = delete;

 private:
  static constexpr std::intptr_t kNone = -1;
  explicit ProcessLock(std::intptr_t file) : file_(file) {}
  std::intptr_t file_;  // the system's descriptor
};

}  // namespace weft::control
