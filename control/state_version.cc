// SPDX-License-Identifier: Apache-2.0
#include "control/state_version.h"

#include <cstddef>
#include <filesystem>
#include <system_error>

#include "control/file_io.h"
#include "control/json_fields.h"

namespace weft::control {

absl::Status CheckStateFile(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // the journal's
  std::error_code error;
  // Opening a FIFO would wait for its writer.
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(PathOf(path), error)))
    return absl::OkStatus();
  const std::string text = ReadFileText(path, kMostBytes).value_or("");
  // The journal is lines of JSON, of which the first is its head.
  auto head = Json::parse(text.substr(0, text.find('\n')), nullptr, false);
  if (!head.is_object()) head = Json::parse(text, nullptr, false);
  return head.is_object() ? CheckStateVersion(path, head) : absl::OkStatus();
}

}  // namespace weft::control
