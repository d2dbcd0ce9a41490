// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "control/cni/host_local_lock.h"

namespace weft::cni {

absl::StatusOr<HostLocalLock> HostLocalLock::TryTake(const std::string& path) {
  // O_NONBLOCK: a FIFO in its place must not stop this process.
  const int file =
      ::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (file < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open the lock ", path));
  HostLocalLock lock(file);
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return absl::FailedPreconditionError(absl::StrCat("another process holds ", path));
    if (errno != EINTR)
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot take the lock ", path));
  }
  return lock;
}

HostLocalLock::~HostLocalLock() {
  if (file_ != kNone) ::close(static_cast<int>(file_));
}

}  // namespace weft::cni
