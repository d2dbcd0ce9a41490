// SPDX-License-Identifier: Apache-2.0
// The CNI configuration file that `flannelctl cni install` wrote: replaced, and removed, only while
// its content is what was written.
//
// cni.json in --state-dir is the record: each file with the texts that it may have. A text is
// recorded before it is written, so that a killed run's file is known, whichever text it has.
// Paths are UTF-8.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/cni/plugin_config.h"

namespace weft::cni {

// A longer configuration is not written, and not read.
inline constexpr std::size_t kMostConfigText = 256 * 1024;  // bytes

struct ConfigFile {
  std::string path;                // absolute
  std::vector<std::string> texts;  // its content is one of them
  friend bool operator==(const ConfigFile&, const ConfigFile&) = default;
};

// The record as text, and back. The error has the cause.
std::string ConfigRecordText(const std::vector<ConfigFile>& files);
absl::StatusOr<std::vector<ConfigFile>> ParseConfigRecord(std::string_view text);

struct InstallRequest {
  std::string state_dir;
  std::string path;  // absolute; its folder is created
  std::string text;
  bool overwrite = false;  // also a file that weft did not write, or that was changed since
  // For tests: called before each change on disk.
  std::function<void()> before_change = {};
};

struct InstalledConfig {
  bool written = false;              // false: the file had this content already, or differs
  bool differs = false;              // and may be that of a later weft, whose record there is
  std::vector<std::string> removed;  // our files of earlier runs, in other places
  // Those that were changed since, and a record of a later weft: a sentence each.
  std::vector<std::string> left;
};

// Repeatable: a second run completes a killed one. FailedPrecondition: another run holds the lock,
// or the file is not ours and `overwrite` is not set. Every error names the file, the cause and the
// next step; the file is then as it was, or has the new text and the record both texts.
absl::StatusOr<InstalledConfig> InstallConfig(const InstallRequest& request);

struct RemovedConfig {
  std::vector<std::string> removed;  // paths; with `dry_run` those that would be removed
  // A sentence each: a file that was changed since, or cannot be removed. It stays in the record.
  std::vector<std::string> left;
};

// Removes the files that InstallConfig wrote and nothing else; a missing one is forgotten. Without
// a record there are none. Repeatable.
absl::StatusOr<RemovedConfig> RemoveInstalledConfig(const std::string& state_dir,
                                                    bool dry_run = false);

// The files in the record; empty: there is none.
absl::StatusOr<std::vector<ConfigFile>> ReadConfigRecord(const std::string& state_dir);

// Why a file of the record does not fit the node: file, member, cause and next step, as a sentence;
// or why that is not known. Empty: each fits, or there is none.
std::string WhyUnfit(const std::string& state_dir, const NodeFacts& facts);

}  // namespace weft::cni
