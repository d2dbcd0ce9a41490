// SPDX-License-Identifier: Apache-2.0
// One thing that can be wrong while the daemon runs: logged when it begins or changes, kept while
// it lasts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "control/daemon/log.h"

namespace weft::daemon {

class Trouble {
 public:
  // A sentence for people; empty: it is over.
  void Set(std::string_view text) {
    if (text == text_) return;
    text_ = text;
    if (text_.empty()) return;
    ++times_;
    LogWarning(text_);
  }
  const std::string& text() const { return text_; }
  std::uint64_t times() const { return times_; }  // it began or changed

 private:
  std::string text_;
  std::uint64_t times_ = 0;
};

}  // namespace weft::daemon
