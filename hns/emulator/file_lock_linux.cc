// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "hns/emulator/file_lock.h"

namespace weft::hns::emulator {

absl::StatusOr<FileLock> FileLock::Take(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return absl::ErrnoToStatus(errno, "HNS emulator: cannot open its lock " + path);
  FileLock lock(file);
  while (::flock(file, LOCK_EX) != 0) {
    if (errno != EINTR) {
      return absl::ErrnoToStatus(errno, "HNS emulator: cannot take its lock " + path);
    }
  }
  return lock;
}

FileLock::~FileLock() {
  if (file_ != kNone) ::close(static_cast<int>(file_));
}

}  // namespace weft::hns::emulator
