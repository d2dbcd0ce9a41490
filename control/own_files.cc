// SPDX-License-Identifier: Apache-2.0
#include "control/own_files.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "control/file_io.h"

namespace weft::control {

std::string RandomName() {
  std::random_device random;
  return absl::StrFormat("%08x%08x", random(), random());
}

bool IsRandomName(std::string_view text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

std::string WithoutEndSlash(std::string folder) {
  constexpr char kSeparator = std::filesystem::path::preferred_separator;
  while (folder.size() > 1 && (folder.back() == '/' || folder.back() == kSeparator) &&
         folder[folder.size() - 2] != ':')  // "C:" is not the root folder
    folder.pop_back();
  return folder;
}

std::string WhoElseMayChange(const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  const auto text = [](const fs::path& name) {
    const std::u8string utf8 = name.generic_u8string();
    return std::string(utf8.begin(), utf8.end());
  };
  const auto add = [&found](const absl::Status& own) {
    if (!own.ok() && std::ranges::find(found, own.message()) == found.end())
      found.emplace_back(own.message());
  };
  std::error_code error;
  const fs::path given = PathOf(path);
  for (fs::path each : {fs::absolute(given, error), fs::canonical(given, error)}) {
    if (!each.empty()) add(CheckOwn(text(each)));
    for (; each != each.parent_path(); each = each.parent_path())
      add(CheckOwnFolder(text(each.parent_path())));
  }
  return absl::StrJoin(found, "; ");
}

absl::StatusOr<std::string> SetForeignAside(const std::string& path) {
  const absl::Status own = CheckOwn(path);
  if (own.ok()) return std::string();
  if (!absl::IsPermissionDenied(own)) return own;
  const std::string aside = absl::StrCat(path, ".foreign-", RandomName());
  std::error_code error;
  std::filesystem::rename(PathOf(path), PathOf(aside), error);
  if (!error) return absl::StrCat(own.message(), "; it is now ", aside);
  return absl::PermissionDeniedError(
      absl::StrCat(own.message(), ", and it cannot be renamed: ", error.message(), "; remove it"));
}

absl::StatusOr<std::string> SetForeignFolderAside(const std::string& folder) {
  const std::filesystem::path given = PathOf(OnSystemDrive(folder));
  for (const std::string& ours : {DefaultStateFolder(), OnSystemDrive("/run/flannel")})
    if (given == PathOf(ours)) return SetForeignAside(folder);
  const absl::Status own = CheckOwn(folder);
  if (own.ok()) return std::string();
  return absl::Status(own.code(), absl::StrCat(own.message(),
                                               "; give it to root or Administrators, "
                                               "or name another folder"));
}

}  // namespace weft::control
