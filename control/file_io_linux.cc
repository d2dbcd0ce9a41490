// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "control/file_io.h"

namespace weft::control {
namespace {

int WriteAll(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    done += static_cast<std::size_t>(written);
  }
  if (::fchmod(file, 0644) < 0 || ::fsync(file) < 0) return errno;
  return 0;
}

std::string FolderOf(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Writes the folder's entries to disk, where the file system supports it.
void SyncFolder(const std::string& folder) {
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  (void)::fsync(directory);
  ::close(directory);
}

}  // namespace

absl::Status ReplaceFileText(const std::string& path, const std::string& text) {
  const std::string folder = FolderOf(path);
  const std::string temporary = TemporaryOf(path);
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot make a file in ", folder));
  int error = WriteAll(file, text);
  if (::close(file) < 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) < 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    return absl::ErrnoToStatus(error, "cannot write it");
  }
  SyncFolder(folder);
  return absl::OkStatus();
}

absl::Status AppendFileText(const std::string& path, std::size_t size, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0) return absl::ErrnoToStatus(errno, "cannot open it");
  const auto at = static_cast<off_t>(size);
  struct stat info {};
  int error = ::fstat(file, &info) < 0 ? errno : 0;
  const bool shorter = error == 0 && info.st_size < at;
  if (error == 0 && !shorter) {
    if (::ftruncate(file, at) < 0 || ::lseek(file, at, SEEK_SET) < 0)
      error = errno;
    else
      error = WriteAll(file, text);
  }
  if (::close(file) < 0 && error == 0) error = errno;
  if (shorter) return absl::OutOfRangeError("another process has cut it short");
  if (error != 0) return absl::ErrnoToStatus(error, "cannot write it");
  if (size == 0) SyncFolder(FolderOf(path));
  return absl::OkStatus();
}

std::string BootId() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

void ForgetBootId() {}

}  // namespace weft::control
