// SPDX-License-Identifier: Apache-2.0
#include "control/file_io.h"

#include <array>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace weft::control {

std::filesystem::path PathOf(std::string_view utf8) {
  return std::u8string(utf8.begin(), utf8.end());
}

std::error_code MakeFolders(const std::filesystem::path& folder) {
  std::error_code error;
  if (folder.lexically_normal().has_relative_path())
    std::filesystem::create_directories(folder, error);
  return error;
}

absl::StatusOr<std::string> ReadFileText(const std::string& path, std::size_t most) {
  std::ifstream file(PathOf(path), std::ios::binary);
  if (!file) return absl::NotFoundError("it cannot be opened");
  std::string text;  // grows: most files are small
  for (std::array<char, 4096> piece; file && text.size() <= most;) {
    file.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) return absl::UnavailableError("it cannot be read");
  if (text.size() > most) return absl::ResourceExhaustedError("it is too large");
  return text;
}

std::string StepToWrite(const absl::Status& status, std::string_view flag) {
  return absl::IsResourceExhausted(status)
             ? absl::StrCat("make room on that disk, or choose another with ", flag)
             : absl::StrCat("give flanneld a folder it may write to with ", flag);
}

}  // namespace weft::control
