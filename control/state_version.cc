// SPDX-License-Identifier: Apache-2.0
#include "control/state_version.h"

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/file_io.h"
#include "control/json_fields.h"

namespace weft::control {

absl::Status CheckStateFile(const std::string& path) {
  std::error_code error;
  // Opening a FIFO would wait for its writer.
  const auto type = std::filesystem::symlink_status(PathOf(path), error).type();
  if (type != std::filesystem::file_type::regular && type != std::filesystem::file_type::none)
    return absl::OkStatus();
  std::string text(std::size_t{64} << 10, '\0');
  errno = 0;
  std::ifstream file(PathOf(path), std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad())
    return absl::UnavailableError(
        absl::StrCat(path, " cannot be read: ", std::generic_category().message(errno),
                     "; let this account read it"));
  text.resize(static_cast<std::size_t>(file.gcount()));
  Json head = Json::object();
  bool is_version = false;
  const auto keep = [&](int depth, Json::parse_event_t event, Json& parsed) {
    const bool names_it = event == Json::parse_event_t::key && depth == 1 && parsed == "version";
    if (std::exchange(is_version, names_it)) head["version"] = parsed;
    return true;
  };
  const Json ignored = Json::parse(text, keep, /*allow_exceptions=*/false);  // it may be cut off
  return CheckStateVersion(path, head);
}

}  // namespace weft::control
