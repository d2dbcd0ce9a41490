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

// ResourceExhausted is a full disk alone: room there gives this process no descriptor or memory.
absl::Status Failure(int error, std::string_view what) {
  const absl::Status status = absl::ErrnoToStatus(error, what);
  if (!absl::IsResourceExhausted(status) || error == ENOSPC || error == EDQUOT) return status;
  return absl::UnavailableError(status.message());
}

int WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// And closes it.
int Sync(int file, int error) {
  // It was created with 0600.
  if (error == 0 && (::fchmod(file, 0644) < 0 || ::fsync(file) < 0)) error = errno;
  if (::close(file) < 0 && error == 0) error = errno;
  return error;
}

std::string FolderOf(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Writes the folder's entries to disk, where it can be opened and the file system supports it.
void SyncFolder(const std::string& folder) {
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  (void)::fsync(directory);
  (void)::close(directory);
}

}  // namespace

absl::Status ReplaceFileText(const std::string& path,
                             absl::FunctionRef<absl::Status(TextSink)> write) {
  const std::string folder = FolderOf(path);
  const std::string temporary = TemporaryOf(path);
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return Failure(errno, absl::StrCat("cannot make a file in ", folder));
  int error = 0;
  absl::Status status = write([&](std::string_view piece) {
    if (error == 0) error = WriteAll(file, piece);
  });
  error = Sync(file, error);
  if (error == 0 && status.ok() && ::rename(temporary.c_str(), path.c_str()) < 0) error = errno;
  if (error != 0) status = Failure(error, "cannot write it");
  if (status.ok())
    SyncFolder(folder);
  else
    ::unlink(temporary.c_str());
  return status;
}

absl::Status AppendFileText(const std::string& path, std::size_t size, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0) return Failure(errno, "cannot open it");
  const auto at = static_cast<off_t>(size);
  struct stat info {};
  if (::fstat(file, &info) == 0 && info.st_size < at) {
    ::close(file);
    return absl::OutOfRangeError("another process has cut it short");
  }
  const bool placed = ::ftruncate(file, at) == 0 && ::lseek(file, at, SEEK_SET) == at;
  const int error = Sync(file, placed ? WriteAll(file, text) : errno);
  if (error != 0) return Failure(error, "cannot write it");
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
