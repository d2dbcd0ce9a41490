// SPDX-License-Identifier: Apache-2.0
#include "control/file_io.h"

#include <chrono>
#include <filesystem>
#include <system_error>

namespace weft::control {

std::filesystem::path PathOf(std::string_view utf8) {
  return std::u8string(utf8.begin(), utf8.end());
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
