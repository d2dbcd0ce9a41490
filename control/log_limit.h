// SPDX-License-Identifier: Apache-2.0
// Limits a line to once in five minutes, so that a condition that comes and goes every second does
// not fill the log.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "control/clock.h"

namespace weft::control {

// One thread.
class LogLimit {
 public:
  static constexpr Duration kPeriod = std::chrono::minutes(5);
  static constexpr std::size_t kMost = 1024;  // lines that are remembered

  // Whether the line `key` may be written now; if so, it counts as written.
  bool Allows(std::string_view key, TimePoint now);

 private:
  absl::flat_hash_map<std::string, TimePoint> written_;
};

// `text` without its digits: sentences that differ only in a count are the same condition.
std::string WithoutNumbers(std::string_view text);

}  // namespace weft::control
