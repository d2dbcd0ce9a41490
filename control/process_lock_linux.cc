// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "control/process_lock.h"

namespace weft::control {

absl::StatusOr<ProcessLock> ProcessLock::Take(const std::string& path, bool ours) {
  // O_NONBLOCK: a FIFO in its place must not stop this process.
  const int flags = (ours ? O_RDWR : O_RDONLY) | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int file = ::open(path.c_str(), flags, 0600);
  if (file < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open the lock ", path));
  ProcessLock lock(file);
  // Any user who may open the file could hold the lock.
  if (struct stat info{}; ours && ::fstat(file, &info) == 0 && info.st_uid == ::geteuid())
    (void)::fchmod(file, 0600);
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return absl::FailedPreconditionError(absl::StrCat("another process holds ", path));
    if (errno != EINTR)
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot take the lock ", path));
  }
  return lock;
}

ProcessLock::~ProcessLock() {
  if (file_ != kNone) ::close(static_cast<int>(file_));
}

}  // namespace weft::control
