// SPDX-License-Identifier: Apache-2.0
// Held by the one process that works on a folder; released by the system when its holder dies.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace weft::control {

class ProcessLock {
 public:
  // FailedPrecondition: another process (or another lock of this one) holds it. `path` is UTF-8;
  // the file is made if need be, its folder exists.
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
