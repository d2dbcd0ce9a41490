// SPDX-License-Identifier: Apache-2.0
// Where containerd on this node reads CNI configurations and finds the plugins, and which of the
// configurations it takes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace weft::cni {

// Paths are UTF-8.
struct ContainerdFolders {
  std::string conf_dir, bin_dir;
  std::string unread{};  // what may set them too and is not understood, with the next step
  friend bool operator==(const ContainerdFolders&, const ContainerdFolders&) = default;
};

// What containerd has on this system when nothing else is said.
struct ContainerdDefaults {
  std::string config;  // config.toml, whether it exists or not
  ContainerdFolders folders;
  std::string separator, end;  // of a plugin's path: "\\", ".exe"
};
ContainerdDefaults DefaultsOfContainerd();

// conf_dir and bin_dir (the first of bin_dirs) of the CRI plugin's `cni` in `toml`, of each version
// of config.toml; containerd's defaults on this system for what it does not set. Of TOML's forms it
// knows those of `containerd config default`; imported files are not read. The error names the
// line: a value that is no text.
absl::StatusOr<ContainerdFolders> FoldersIn(std::string_view toml);

// FoldersIn of the file; a missing one sets nothing.
absl::StatusOr<ContainerdFolders> ReadContainerdFolders(const std::string& path);

// Whether containerd reads a file of this name, or path, as a CNI configuration.
bool IsConfigName(std::string_view name);

// The names of `conf_dir`'s configurations in the order in which containerd takes them: it uses the
// first. A missing folder has none.
absl::StatusOr<std::vector<std::string>> ConfigsIn(const std::string& conf_dir);

}  // namespace weft::cni
