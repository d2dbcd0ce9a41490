// SPDX-License-Identifier: Apache-2.0
#include "control/own_files.h"

#include <filesystem>
#include <random>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/file_io.h"

namespace weft::control {

std::string RandomName() {
  std::random_device random;
  return absl::StrFormat("%08x%08x", random(), random());
}

std::string WithoutEndSlash(std::string folder) {
  constexpr char kSeparator = std::filesystem::path::preferred_separator;
  while (folder.size() > 1 && (folder.back() == '/' || folder.back() == kSeparator) &&
         folder[folder.size() - 2] != ':')  // "C:" is not the root folder
    folder.pop_back();
  return folder;
}

absl::StatusOr<std::string> SetForeignAside(const std::string& path) {
  const absl::Status own = CheckOwn(path);
  if (own.ok()) return std::string();
  const std::string aside = absl::StrCat(path, ".foreign-", RandomName());
  std::error_code error;
  std::filesystem::rename(PathOf(path), PathOf(aside), error);
  if (!error) return absl::StrCat(own.message(), "; it is now ", aside);
  return absl::PermissionDeniedError(
      absl::StrCat(own.message(), ", and it cannot be renamed: ", error.message(), "; remove it"));
}

}  // namespace weft::control
