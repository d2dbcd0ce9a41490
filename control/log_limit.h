// SPDX-License-Identifier: Apache-2.0
// The same line at once, and then at most every five minutes: a condition that comes and goes each
// second does not fill the log.
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

  // Whether the line `key` may be written now; then it counts as written.
  bool Allows(std::string_view key, TimePoint now);

 private:
  absl::flat_hash_map<std::string, TimePoint> written_;
};

// `text` without its digits: a sentence that counts seconds or tries is of the same condition.
std::string WithoutNumbers(std::string_view text);

}  // namespace weft::control
