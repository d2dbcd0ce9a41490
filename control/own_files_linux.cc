// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "control/file_io.h"
#include "control/own_files.h"

namespace weft::control {
namespace {

// The owner that a user namespace or a file server shows for unknown users (overflowuid).
constexpr uid_t kNotShown = 65534;

bool IsOwn(uid_t user) { return user == 0 || user == kNotShown || user == ::geteuid(); }

}  // namespace

std::string DefaultStateFolder() { return "/var/lib/weft"; }

std::string FormerStateFolder() { return {}; }

std::string OnSystemDrive(const std::string& path) { return path; }

absl::Status CheckOwn(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return absl::OkStatus();
  if (!IsOwn(info.st_uid))
    return absl::PermissionDeniedError(absl::StrCat(path, " belongs to user ", info.st_uid));
  const bool group = (info.st_mode & S_IWGRP) != 0 && info.st_gid != 0 && info.st_gid != getegid();
  if (S_ISREG(info.st_mode) && (group || (info.st_mode & S_IWOTH) != 0))
    return absl::PermissionDeniedError(absl::StrCat(path, " may be written by other users"));
  return absl::OkStatus();
}

absl::StatusOr<std::string> MakeOwnFolder(const std::string& folder) {
  absl::StatusOr<std::string> aside = SetForeignAside(folder);
  if (!aside.ok()) return aside;
  if (const std::error_code error = MakeFolders(folder); error)
    return absl::UnavailableError(absl::StrCat("cannot make the folder: ", error.message()));
  return aside;
}

}  // namespace weft::control
