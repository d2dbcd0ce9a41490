// SPDX-License-Identifier: Apache-2.0
#include "control/log_limit.h"

#include "absl/strings/ascii.h"

namespace weft::control {

bool LogLimit::Allows(std::string_view key, TimePoint now) {
  const auto known = written_.find(key);
  if (known != written_.end() && now - known->second < kPeriod) return false;
  if (known == written_.end() && written_.size() >= kMost) {
    absl::erase_if(written_, [now](const auto& line) { return now - line.second >= kPeriod; });
    if (written_.size() >= kMost) written_.clear();
  }
  written_.insert_or_assign(std::string(key), now);
  return true;
}

std::string WithoutNumbers(std::string_view text) {
  std::string rest(text);
  std::erase_if(rest, [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
  return rest;
}

}  // namespace weft::control
