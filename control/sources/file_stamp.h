// SPDX-License-Identifier: Apache-2.0
// Detects whether the file at a path is still the one that was read, without reading it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "absl/status/statusor.h"

namespace weft::control {

struct FileStamp {
  std::uint64_t size = 0;      // bytes
  std::int64_t modified = 0;   // nanoseconds (Linux) or 100 ns (Windows); for comparison only
  std::uint64_t volume = 0;    // device or volume serial number
  std::uint64_t identity = 0;  // inode or file index: another after a rename over the path
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// Follows symlinks. Errors have the system's text only: the caller names the file.
absl::StatusOr<FileStamp> StampOf(const std::filesystem::path& path);

}  // namespace weft::control
