// SPDX-License-Identifier: Apache-2.0
#include "control/file_io.h"

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "control/own_files.h"

namespace weft::control {

constexpr std::string_view kMark = ".weft-";

std::filesystem::path PathOf(std::string_view utf8) {
  return std::u8string(utf8.begin(), utf8.end());
}

std::error_code MakeFolders(const std::filesystem::path& folder) {
  std::error_code error;
  if (folder.lexically_normal().has_relative_path())
    std::filesystem::create_directories(folder, error);
  return error;
}

bool MayExist(const std::string& path) {
  std::error_code error;
  const auto found = std::filesystem::status(PathOf(path), error);
  return found.type() != std::filesystem::file_type::not_found;
}

std::string TemporaryOf(const std::string& path) { return absl::StrCat(path, kMark, RandomName()); }

bool IsTemporaryOf(std::string_view file, std::string_view name) {
  return absl::ConsumePrefix(&file, name) && absl::ConsumePrefix(&file, kMark) &&
         IsRandomName(file);
}

void RemoveTemporariesOf(const std::string& path) {
  const std::filesystem::path file = PathOf(path);
  std::error_code error, ignored;
  for (std::filesystem::directory_iterator each(file.parent_path(), error), end; each != end;
       each.increment(error)) {
    if (IsTemporaryOf(each->path().filename().string(), file.filename().string()))
      std::filesystem::remove(each->path(), ignored);
  }
}

absl::StatusOr<std::string> ReadFileText(const std::string& path, std::size_t most) {
  errno = 0;
  std::ifstream file(PathOf(path), std::ios::binary);
  if (!file) {
    const std::error_code cause(errno, std::generic_category());
    if (!MayExist(path)) return absl::NotFoundError("it does not exist");
    return absl::UnavailableError(absl::StrCat("it cannot be opened: ", cause.message()));
  }
  std::string text;  // grows: most files are small
  for (std::array<char, 4096> piece; file && text.size() <= most;) {
    file.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) return absl::UnavailableError("it cannot be read");
  if (text.size() > most) return absl::ResourceExhaustedError("it is too large");
  return text;
}

absl::Status ReplaceFileText(const std::string& path, const std::string& text) {
  return ReplaceFileText(path, [&text](TextSink append) {
    append(text);
    return absl::OkStatus();
  });
}

std::string StepToWrite(const absl::Status& status, std::string_view flag) {
  return absl::IsResourceExhausted(status)
             ? absl::StrCat("make room on that disk, or choose another with ", flag)
             : absl::StrCat("give flanneld a folder it may write to with ", flag);
}

}  // namespace weft::control
