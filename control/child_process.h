// SPDX-License-Identifier: Apache-2.0
// A short-lived foreign program, run to its end without a shell.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace weft::control {

struct ChildSpec {
  std::string program;  // an absolute path
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::chrono::milliseconds limit;
  std::size_t most_output = std::size_t{1} << 20;
  bool inherits_environment = true;  // this process's, under `env`
  // What it starts in a session of its own is killed with it, too. It then has a supervisor process
  // on Linux; on Windows this is always so.
  bool supervised = true;
};

struct ChildResult {
  int exit_code = 0;   // 128 plus its number for a signal
  std::string output;  // standard output
  std::string errors;  // the first 4 KiB of standard error
};

// Blocks until the program has ended. It gets an empty standard input and none of our descriptors.
// It is killed, with the processes that it started, after `limit` (DeadlineExceeded), after
// `most_output` (ResourceExhausted) and when `stop` is set (Cancelled, within 20 ms); what it
// leaves running is killed when it ends. The error does not name the program.
absl::StatusOr<ChildResult> RunChild(const ChildSpec& spec, const std::atomic<bool>& stop);

// The file of `command`: itself if it is an absolute path, else the first in `path`, a value of the
// variable PATH. Relative and empty entries of `path`, which mean the current folder, are left out.
// On Windows `extensions` (PATHEXT) are tried where `command` has none of its own; scripts, which
// need a shell, are refused.
absl::StatusOr<std::string> FindProgram(const std::string& command, const std::string& path,
                                        const std::string& extensions);

}  // namespace weft::control
