// SPDX-License-Identifier: Apache-2.0
#include "control/host/system_file_linux.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "absl/strings/str_cat.h"

namespace weft::host {

absl::StatusOr<std::string> ReadSystemFile(const std::string& path) {
  constexpr std::size_t kMost = std::size_t{1} << 20;  // bytes
  const std::string what = absl::StrCat("cannot read ", path);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    const bool gone = errno == ENOENT && path.starts_with("/proc/") && ::access("/proc/self", F_OK);
    return gone ? absl::UnavailableError(absl::StrCat(what, ": /proc is not mounted"))
                : absl::ErrnoToStatus(errno, what);
  }
  struct stat info {};
  ::fstat(file, &info);
  std::string text;
  std::array<char, 4096> piece;
  ssize_t length = 0;
  errno = 0;
  if (S_ISREG(info.st_mode)) {
    while ((length = ::read(file, piece.data(), piece.size())) > 0 && text.size() < kMost)
      text.append(piece.data(), static_cast<std::size_t>(length));
  }
  const int error = errno;
  ::close(file);
  if (!S_ISREG(info.st_mode))
    return absl::UnavailableError(absl::StrCat(what, ": it is masked, or no regular file"));
  if (length < 0) return absl::ErrnoToStatus(error, what);
  return text;
}

}  // namespace weft::host
