// SPDX-License-Identifier: Apache-2.0
#include "control/file_io.h"

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace weft::control {

std::filesystem::path PathOf(std::string_view utf8) {
  return std::u8string(utf8.begin(), utf8.end());
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

bool IsOfEarlierBoot(const std::string& path) {
  std::error_code error;
  const auto modified = std::filesystem::last_write_time(PathOf(path), error);
  const std::int64_t boot = BootTime();
  if (error || boot == 0) return false;
  const auto wall = std::chrono::file_clock::to_sys(modified).time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(wall).count() < boot;
}

}  // namespace weft::control
