// SPDX-License-Identifier: Apache-2.0
// The lock of a folder in host-local's store, taken as host-local takes it (go-filemutex: flock; on
// Windows LockFileEx of the first byte of a file that is shared). ProcessLock would not do: on
// Windows it refuses to share the file, so that host-local fails instead of waiting.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace weft::cni {

class HostLocalLock {
 public:
  // FailedPrecondition: host-local, or another process, holds it; it does so for milliseconds.
  // `path` is UTF-8; the file is created if needed, its folder must exist.
  static absl::StatusOr<HostLocalLock> TryTake(const std::string& path);
  ~HostLocalLock();
  HostLocalLock(HostLocalLock&& other) noexcept : file_(std::exchange(other.file_, kNone)) {}
  HostLocalLock& operator=(HostLocalLock&&) = delete;

 private:
  static constexpr std::intptr_t kNone = -1;
  explicit HostLocalLock(std::intptr_t file) : file_(file) {}
  std::intptr_t file_;  // the system's descriptor
};

}  // namespace weft::cni
