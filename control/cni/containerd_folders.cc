// SPDX-License-Identifier: Apache-2.0
#include "control/cni/containerd_folders.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/file_io.h"

namespace weft::cni {
namespace {

constexpr std::size_t kMostToml = 1024 * 1024;  // bytes

// "[plugins."io.containerd.grpc.v1.cri".cni]" of version 2, "[plugins.cri.cni]" of version 1,
// "[plugins.'io.containerd.cri.v1.runtime'.cni]" of version 3.
bool IsCniSection(std::string_view line) {
  std::string name;
  for (const char c : line)
    if (!absl::StrContains("[]\"' \t", c)) name += c;
  return name == "plugins.cri.cni" || name == "plugins.io.containerd.grpc.v1.cri.cni" ||
         name == "plugins.io.containerd.cri.v1.runtime.cni";
}

// "cni = { conf_dir = '/a' }", "cni.conf_dir = '/a'"; not "cni_conf_dir = '/a'", a runtime's.
bool SetsFolder(std::string_view line) {
  const std::size_t at = std::min(line.find("conf_dir"), line.find("bin_dir"));
  return at != line.npos && at > 0 && line[at - 1] != '_' &&
         absl::StrContains(line.substr(0, at), "cni");
}

// The first string in `text`, which begins after the equals sign; empty: there is none.
std::optional<std::string> FirstString(std::string_view text) {
  const std::size_t begin = text.find_first_of("\"'#");
  if (begin == text.npos || text[begin] == '#') return std::nullopt;
  const char quote = text[begin];
  std::string out;
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == quote) return out;
    if (quote == '"' && text[i] == '\\') {  // of a path: "C:\\opt\\cni"
      if (++i == text.size() || (text[i] != '\\' && text[i] != '"')) return std::nullopt;
    }
    out += text[i];
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<ContainerdFolders> FoldersIn(std::string_view toml) {
  ContainerdFolders folders = DefaultsOfContainerd().folders;
  bool in_cni = false;
  std::string* open = nullptr;  // of a list that continues on the next line
  int number = 0;
  for (std::string_view line : absl::StrSplit(toml, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    std::string* value = std::exchange(open, nullptr);
    std::string_view text = line;
    if (!value) {
      if (line.front() == '[') {
        in_cni = IsCniSection(line.substr(0, line.find('#')));
        continue;
      }
      const std::size_t equals = line.find('=');
      if (equals == line.npos) continue;
      const std::string_view key = absl::StripAsciiWhitespace(line.substr(0, equals));
      text = absl::StripAsciiWhitespace(line.substr(equals + 1));
      const bool imports = key == "imports" && (text == "[" || FirstString(text).has_value());
      if (imports || (!in_cni && SetsFolder(line)))
        folders.unread =
            absl::StrCat("line ", number, imports ? ", which imports other files" : "",
                         ", may set conf_dir or bin_dir; give both with --conf-dir and --bin-dir");
      value = !in_cni                                 ? nullptr
              : key == "conf_dir"                     ? &folders.conf_dir
              : key == "bin_dir" || key == "bin_dirs" ? &folders.bin_dir
                                                      : nullptr;
      if (!value) continue;
      if (text == "[") {
        open = value;
        continue;
      }
      if (text == "[]") continue;
    }
    const std::optional<std::string> found = FirstString(text);
    if (!found)
      return absl::InvalidArgumentError(absl::StrCat("line ", number, " has no text in quotes"));
    if (!found->empty()) *value = *found;
  }
  return folders;
}

absl::StatusOr<ContainerdFolders> ReadContainerdFolders(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(control::PathOf(path), error) && !error)
    return DefaultsOfContainerd().folders;
  const auto wrong = [&path](const absl::Status& why) {
    return absl::Status(why.code(), absl::StrCat("containerd's configuration ", path, ": ",
                                                 why.message(), "; give --conf-dir and --bin-dir"));
  };
  const absl::StatusOr<std::string> text = control::ReadFileText(path, kMostToml);
  if (!text.ok()) return wrong(text.status());
  absl::StatusOr<ContainerdFolders> folders = FoldersIn(*text);
  if (!folders.ok()) return wrong(folders.status());
  if (!folders->unread.empty()) folders->unread = absl::StrCat(path, ": ", folders->unread);
  return folders;
}

bool IsConfigName(std::string_view name) {
  return name.ends_with(".conf") || name.ends_with(".conflist") || name.ends_with(".json");
}

absl::StatusOr<std::vector<std::string>> ConfigsIn(const std::string& conf_dir) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator each(control::PathOf(conf_dir), error), end;
       !error && each != end; each.increment(error)) {
    const std::u8string name = each->path().filename().u8string();
    const std::string text(name.begin(), name.end());
    if (IsConfigName(text)) names.push_back(text);
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return absl::UnavailableError(absl::StrCat("cannot read the folder ", conf_dir, ": ",
                                               error.message(), "; give another --conf-dir"));
  std::ranges::sort(names);
  return names;
}

}  // namespace weft::cni
