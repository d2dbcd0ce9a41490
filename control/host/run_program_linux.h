// SPDX-License-Identifier: Apache-2.0
// A short-lived program of the system, run to its end.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace weft::host {

struct ProgramResult {
  int exit_code = 0;   // 128 and its number for a signal
  std::string output;  // both streams
};

// `words`: its path and arguments. It gets an empty standard input, the C locale, and none of our
// descriptors. At the end of `limit` it is killed: DeadlineExceeded; after 4 MiB of output too:
// ResourceExhausted.
absl::StatusOr<ProgramResult> RunProgram(const std::vector<std::string>& words,
                                         std::chrono::milliseconds limit);

}  // namespace weft::host
