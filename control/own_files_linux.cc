// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/file_io.h"
#include "control/own_files_linux.h"

namespace weft::control {
namespace {

constexpr std::uint32_t kNobody = 65534;    // the kernel's overflowuid
constexpr std::int64_t kNfsMagic = 0x6969;  // <linux/magic.h>

bool IsOwn(const std::string& path, uid_t user) {
  if (user == 0 || user == ::geteuid()) return true;
  struct statfs place {};
  if (user != kNobody || ::statfs(path.c_str(), &place) != 0) return false;
  const absl::StatusOr<std::string> map = ReadFileText("/proc/self/uid_map");
  return map.ok() && IsNobodyUnknown(*map, place.f_type);
}

bool OthersMayWrite(const struct stat& info) {
  const bool group = (info.st_mode & S_IWGRP) != 0 && info.st_gid != 0 && info.st_gid != getegid();
  return group || (info.st_mode & S_IWOTH) != 0;
}

// After stat() has failed.
absl::Status Uninspected(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(path, " cannot be inspected: ", std::generic_category().message(error)));
}

// A file or folder that exists.
absl::Status Judge(const std::string& path, const struct stat& info, bool others_may_write) {
  if (!IsOwn(path, info.st_uid))
    return absl::PermissionDeniedError(absl::StrCat(path, " belongs to user ", info.st_uid));
  if (others_may_write)
    return absl::PermissionDeniedError(absl::StrCat(path, " may be written by other users"));
  return absl::OkStatus();
}

}  // namespace

bool IsNobodyUnknown(std::string_view uid_map, std::int64_t file_system) {
  if (file_system == kNfsMagic) return true;
  for (const std::string_view line : absl::StrSplit(uid_map, '\n', absl::SkipWhitespace())) {
    const std::vector<std::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    std::uint32_t first = 0, count = 0;
    if (words.size() != 3 || !absl::SimpleAtoi(words[0], &first) ||
        !absl::SimpleAtoi(words[2], &count) || (kNobody >= first && kNobody - first < count))
      return false;
  }
  return true;
}

std::string DefaultStateFolder() { return "/var/lib/weft"; }

std::string FormerStateFolder() { return {}; }

std::string OnSystemDrive(const std::string& path) { return path; }

absl::Status CheckOwn(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return Uninspected(path, errno);
  return Judge(path, info, S_ISREG(info.st_mode) && OthersMayWrite(info));
}

absl::Status CheckOwnFolder(const std::string& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return Uninspected(folder, errno);
  // In a sticky folder only a file's own user renames it.
  return Judge(folder, info, (info.st_mode & S_ISVTX) == 0 && OthersMayWrite(info));
}

absl::StatusOr<std::string> MakeOwnFolder(const std::string& folder) {
  absl::StatusOr<std::string> aside = SetForeignFolderAside(folder);
  if (!aside.ok()) return aside;
  if (const std::error_code error = MakeFolders(folder); error)
    return absl::UnavailableError(absl::StrCat("cannot make the folder: ", error.message()));
  return aside;
}

absl::StatusOr<OwnFile> CreateOwnFile(const std::string& path) {
  // O_NONBLOCK: a FIFO in its place must not stop this process.
  const int file =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  const auto failed = [](int error) {
    return absl::Status(absl::ErrnoToStatusCode(error),
                        error == ELOOP ? "it is a link" : std::generic_category().message(error));
  };
  if (file < 0) return failed(errno);
  struct stat info {};
  absl::Status status;
  if (::fstat(file, &info) == 0 &&
      (!S_ISREG(info.st_mode) || info.st_nlink != 1 ||
       (info.st_uid != ::geteuid() && info.st_uid != kNobody) || !IsOwn(path, info.st_uid))) {
    status = absl::PermissionDeniedError(
        "it is another user's, or no regular file, or has a second name");
  } else if (::fchmod(file, 0600) != 0 || ::ftruncate(file, 0) != 0) {
    status = failed(errno);
  }
  std::FILE* const stream = status.ok() ? ::fdopen(file, "wb") : nullptr;
  if (stream) return OwnFile(stream);
  if (status.ok()) status = failed(errno);
  ::close(file);
  return status;
}

}  // namespace weft::control
