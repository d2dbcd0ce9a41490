// SPDX-License-Identifier: Apache-2.0
#include "control/service/service_arguments.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "control/config/flag_table.h"
#include "control/config/options.h"
#include "control/own_files.h"
#include "vxlan/text/printable.h"

namespace weft::service {
namespace {

// As Windows reads it: "C:\x", "\x" (on the system drive) and "\\server\x" are whole, "C:x" is not.
bool IsRelative(std::string_view path) {
  const auto is_slash = [](char c) { return c == '/' || c == '\\'; };
  if (path.empty()) return false;
  if (is_slash(path[0])) return false;
  return path.size() < 3 || !absl::ascii_isalpha(static_cast<unsigned char>(path[0])) ||
         path[1] != ':' || !is_slash(path[2]);
}

bool IsPath(std::string_view value) { return value == "PATH" || value == "file:PATH"; }

}  // namespace

std::string DefaultLogFolder() {
  std::string folder = control::OnSystemDrive("/var/log/weft");
  std::replace(folder.begin(), folder.end(), '/', '\\');
  return folder;
}

absl::StatusOr<std::vector<std::string>> ServiceArguments(std::span<const std::string> words,
                                                          const config::Environment& environment) {
  const absl::StatusOr<config::CommandLine> line = config::ParseFlags(words, environment);
  if (!line.ok()) return line.status();
  if (line->values.version) return absl::InvalidArgumentError("--version is no flag of a service");
  for (const std::string& warning : line->warnings)
    if (warning.starts_with("IGNORED")) return absl::InvalidArgumentError(warning);
  const config::FlagValues defaults;
  for (const config::FlagRow& row : config::FlagTable()) {
    const std::string text = TextOf(row, line->values);
    if (text == TextOf(row, defaults)) continue;
    if (row.value == "SECRET")
      return absl::InvalidArgumentError(
          absl::StrCat("--", row.name,
                       ": any user of this machine can read the command line of a service; leave "
                       "the flag out"));
    const std::string_view path = absl::StripPrefix(text, "file:");
    const bool is_name = row.name == "admin" && path == "none";
    if (IsPath(row.value) && !is_name && IsRelative(path))
      return absl::InvalidArgumentError(
          absl::StrCat("--", row.name, "=", Quoted(text),
                       ": a service starts in Windows' own folder; give the whole path, as in "
                       "C:\\k\\",
                       path));
  }
  if (const auto options = config::MakeOptions(line->values, environment); !options.ok())
    return options.status();
  std::vector<std::string> arguments(words.begin(), words.end());
  if (line->values.log_dir.empty())
    arguments.push_back(absl::StrCat("--log-dir=", DefaultLogFolder()));
  return arguments;
}

}  // namespace weft::service
