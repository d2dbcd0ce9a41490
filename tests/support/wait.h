// SPDX-License-Identifier: Apache-2.0
// The one rule of tests for a wait with a limit. It goes on up to ten times the limit, but not
// beyond two minutes: what comes after the limit is a failure that begins "late: ", which the
// runner may repeat; what never comes is one that it does not repeat.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <source_location>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>

namespace weft::testing {

// Begins when it is made.
class Wait {
 public:
  using Clock = std::chrono::steady_clock;

  template <typename Rep, typename Period>  // from any duration: Await(10s, ...)
  Wait(std::chrono::duration<Rep, Period> limit,
       std::source_location where = std::source_location::current(),
       Clock::time_point (*now)() = Clock::now)
      : limit_(limit), where_(where), now_(now) {}

  // When it is given up.
  Clock::time_point end() const {
    return begin_ + std::max<Clock::duration>(
                        limit_, std::min<Clock::duration>(10 * limit_, std::chrono::minutes(2)));
  }
  bool over() const { return now_() > end(); }

  // What was waited for has come, or has not.
  [[nodiscard]] ::testing::AssertionResult Ended(bool came = true) const {
    const Clock::duration took = now_() - begin_;
    if (!came || begin_ + took > end()) {
      return ::testing::AssertionFailure() << "did not come within " << Text(end() - begin_);
    }
    if (took > limit_) {
      ADD_FAILURE_AT(where_.file_name(), static_cast<int>(where_.line()))
          << "late: waited " << Text(limit_) << ", came after " << Text(took) << ": " << Place();
    }
    return ::testing::AssertionSuccess();
  }

 private:
  static std::string Text(Clock::duration span) {
    std::ostringstream out;
    out << std::chrono::duration<double>(span).count() << " s";
    return out.str();
  }
  // "worker_test.cc:37"
  std::string Place() const {
    const std::string file = where_.file_name();
    return file.substr(file.find_last_of("/\\") + 1) + ":" + std::to_string(where_.line());
  }

  Clock::duration limit_;
  std::source_location where_;
  Clock::time_point (*now_)();
  Clock::time_point begin_ = now_();
};

// Takes steps until `holds`. A step that blocks takes the time when the wait is given up.
template <typename Holds, typename Step = void (*)()>
[[nodiscard]] ::testing::AssertionResult Await(const Wait& wait, const Holds& holds,
                                               const Step& step = std::this_thread::yield) {
  bool came = holds();
  while (!came && !wait.over()) {
    if constexpr (std::is_invocable_v<Step, Wait::Clock::time_point>)
      step(wait.end());
    else
      step();
    came = holds();
  }
  return wait.Ended(came);
}

// `holds` is called with the lock.
template <typename Holds>
[[nodiscard]] ::testing::AssertionResult Await(const Wait& wait, std::condition_variable& changed,
                                               std::unique_lock<std::mutex>& lock,
                                               const Holds& holds) {
  return wait.Ended(changed.wait_until(lock, wait.end(), holds));
}

// Ends a test that only what is not weft's has failed, such as a program that Wine does not start;
// the runner may repeat it. On the test's thread.
[[noreturn]] inline void PeerFailure(const std::string& why,
                                     std::source_location where = std::source_location::current()) {
  const auto line = static_cast<int>(where.line());
  ADD_FAILURE_AT(where.file_name(), line) << "peer: " << why;
  // GoogleTest ends the test for it, and reports nothing more.
  throw ::testing::AssertionException(::testing::TestPartResult(
      ::testing::TestPartResult::kFatalFailure, where.file_name(), line, why.c_str()));
}

}  // namespace weft::testing
