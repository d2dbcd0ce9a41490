// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <cerrno>

#include "absl/status/status.h"
#include "control/sources/file_stamp.h"

namespace weft::control {

absl::StatusOr<FileStamp> StampOf(const std::filesystem::path& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return absl::ErrnoToStatus(errno, "cannot be read");
  // Opening a FIFO would wait for its writer.
  if (!S_ISREG(found.st_mode)) return absl::InvalidArgumentError("is not a regular file");
  FileStamp stamp;
  stamp.size = static_cast<std::uint64_t>(found.st_size);
  stamp.modified =
      static_cast<std::int64_t>(found.st_mtim.tv_sec) * 1'000'000'000 + found.st_mtim.tv_nsec;
  stamp.volume = found.st_dev;
  stamp.identity = found.st_ino;
  return stamp;
}

}  // namespace weft::control
