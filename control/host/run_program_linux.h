// SPDX-License-Identifier: Apache-2.0
// A short-lived program of the system, run to its end.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace weft::host {

struct ProgramResult {
  int exit_code = 0;   // 128 plus its number for a signal
  std::string output;  // stdout and stderr
};

// `words`: its path and arguments. It gets an empty standard input, the C locale, and none of our
// descriptors. It is killed after `limit` (DeadlineExceeded) and after 4 MiB of output
// (ResourceExhausted).
absl::StatusOr<ProgramResult> RunProgram(const std::vector<std::string>& words,
                                         std::chrono::milliseconds limit);

}  // namespace weft::host
