// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <stdlib.h>
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
  if (::fchmod(file, 0644) < 0 || ::fsync(file) < 0) return errno;  // mkostemp made it 0600
  return 0;
}

}  // namespace

absl::Status ReplaceFileText(const std::string& path, const std::string& text) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const int file = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot make a file in ", folder));
  int error = WriteAll(file, text);
  if (::close(file) < 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) < 0) error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    return absl::ErrnoToStatus(error, "cannot write it");
  }
  // The new name itself must be on disk too. A file system that cannot do that has done its best.
  if (const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      directory >= 0) {
    (void)::fsync(directory);
    ::close(directory);
  }
  return absl::OkStatus();
}

std::string BootId() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

}  // namespace weft::control
