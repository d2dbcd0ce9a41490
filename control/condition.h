// SPDX-License-Identifier: Apache-2.0
// A condition that may appear while the daemon runs: logged when it begins or changes, kept while
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
  // `text` is a sentence for people; empty: the condition is over. Sentences that differ only in
  // their numbers are the same condition. Each is logged when it begins, but not twice within five
  // minutes, even if it was over in between; if it lasts longer, the next Set logs it.
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
  std::uint64_t times() const { return times_; }  // how often it began or changed

 private:
  std::string text_;
  std::uint64_t times_ = 0;
  bool logged_ = true;  // text_ is in the log, or empty
  control::LogLimit limit_;
};

}  // namespace weft::control
