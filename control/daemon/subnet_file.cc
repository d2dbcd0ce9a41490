// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/subnet_file.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/file_io.h"

namespace weft::daemon {
namespace {

namespace fs = std::filesystem;

// Larger is none of ours.
constexpr std::uintmax_t kMaxSize = 64 * 1024;  // octets

std::optional<std::string> Read(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(control::PathOf(path), error);
  if (error || size > kMaxSize) return std::nullopt;
  absl::StatusOr<std::string> text = control::ReadFileText(path);
  if (!text.ok()) return std::nullopt;
  return *std::move(text);
}

}  // namespace

absl::Status SubnetFile::Write(const std::string& text) {
  std::error_code error;
  const fs::path folder = control::PathOf(path_).parent_path();
  if (!folder.empty()) fs::create_directories(folder, error);
  const absl::Status status =
      error ? absl::UnavailableError(absl::StrCat("cannot make the folder: ", error.message()))
            : control::ReplaceFileText(path_, text);
  if (!status.ok()) {
    return absl::Status(
        status.code(), absl::StrCat("subnet file ", path_, ": ", status.message(),
                                    "; give flanneld a folder it may write to with --subnet-file"));
  }
  written_ = true;
  return absl::OkStatus();
}

bool SubnetFile::Holds(const std::string& text) const { return Read(path_) == text; }

absl::StatusOr<bool> SubnetFile::WithdrawUnless(const std::string& text) {
  std::error_code error;
  if (!fs::exists(control::PathOf(path_), error) || Holds(text)) return false;
  const absl::Status status = Remove();
  if (!status.ok()) return status;
  return true;
}

absl::StatusOr<bool> SubnetFile::WithdrawIfOfEarlierBoot() {
  if (!control::IsOfEarlierBoot(path_)) return false;
  const absl::Status status = Remove();
  if (!status.ok()) return status;
  return true;
}

absl::Status SubnetFile::Remove() {
  written_ = false;
  std::error_code error;
  fs::remove(control::PathOf(path_), error);
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "subnet file ", path_, ": it is out of date and cannot be removed: ", error.message(),
      "; remove it, pods would start with its addresses"));
}

}  // namespace weft::daemon
