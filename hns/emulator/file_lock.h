// SPDX-License-Identifier: Apache-2.0
// One process at a time; released by the system when its holder dies.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace weft::hns::emulator {

class FileLock {
 public:
  // Waits until it is free. Makes the file if need be; what stands in it is left alone.
  static absl::StatusOr<FileLock> Take(const std::string& path);
  ~FileLock();
  FileLock(FileLock&& other) noexcept : file_(std::exchange(other.file_, kNone)) {}
  FileLock& operator=(FileLock&&) = delete;

 private:
  static constexpr std::intptr_t kNone = -1;
  explicit FileLock(std::intptr_t file) : file_(file) {}
  std::intptr_t file_;  // the system's descriptor
};

}  // namespace weft::hns::emulator
