// SPDX-License-Identifier: Apache-2.0
// One thing that can be wrong while the daemon runs: logged when it begins or changes, kept while
// it lasts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "control/log.h"
#include "control/log_limit.h"

namespace weft::control {

class Condition {
 public:
  // A sentence for people; empty: it is over. A sentence that differs in its numbers only is the
  // same one. Each is logged when it begins, and again no sooner than after five minutes, also
  // where it was over meanwhile: one that lasts is logged then, if it is set again.
  void Set(std::string_view text, control::TimePoint now = std::chrono::steady_clock::now()) {
    if (text == text_ && logged_) return;
    const std::string condition = control::WithoutNumbers(text);
    const bool begins = condition != control::WithoutNumbers(text_);
    text_ = text;
    logged_ = text_.empty();
    if (logged_) return;
    if (begins) ++times_;
    logged_ = limit_.Allows(condition, now);
    if (logged_) LogWarning(text_);
  }
  const std::string& text() const { return text_; }
  std::uint64_t times() const { return times_; }  // it began or changed

 private:
  std::string text_;
  std::uint64_t times_ = 0;
  bool logged_ = true;  // text_, or there is none
  control::LogLimit limit_;
};

}  // namespace weft::control
