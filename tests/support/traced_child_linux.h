// SPDX-License-Identifier: Apache-2.0
// A program under ptrace: which of its system calls change something outside it, and what happens
// when it is killed before one of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weft::testing {

struct TracedRun {
  bool killed = false;
  int exit_code = -1;
  // The calls that change something, in order: "unlink PATH", "write PATH", "send".
  std::vector<std::string> changes;
};

// Runs `words` with its output in `output` (a file), and kills it before its change `kill_at`,
// counted from zero. Its threads are followed.
TracedRun RunTraced(const std::vector<std::string>& words, const std::string& output,
                    std::size_t kill_at = SIZE_MAX);

}  // namespace weft::testing
