// SPDX-License-Identifier: Apache-2.0
#include "tests/support/wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>

namespace weft::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

Wait::Clock::duration now{};
Wait::Clock::time_point Now() { return Wait::Clock::time_point(now); }

class WaitTest : public ::testing::Test {
 protected:
  static Wait Limit(Wait::Clock::duration limit) {
    return {limit, std::source_location::current(), Now};
  }
  // A wait whose steps take half a second, for what comes after `when`.
  static ::testing::AssertionResult For(Wait::Clock::duration limit, Wait::Clock::duration when) {
    const auto begin = now;
    return Await(
        Limit(limit), [&] { return now - begin >= when; }, [] { now += 500ms; });
  }
};

TEST_F(WaitTest, WhatComesInTimePasses) {
  EXPECT_TRUE(For(5s, 0s));
  EXPECT_TRUE(For(5s, 5s));
}

TEST_F(WaitTest, WhatComesLaterIsLateAndDidCome) {
  ::testing::AssertionResult came = ::testing::AssertionFailure();
  const std::string place = "came after 7 s: wait_test.cc:";
  EXPECT_NONFATAL_FAILURE(came = For(5s, 7s), "late: waited 5 s, " + place);
  EXPECT_TRUE(came);
  EXPECT_NONFATAL_FAILURE(came = For(5s, 50s), "late: waited 5 s, came after 50 s");
  EXPECT_TRUE(came);
}

TEST_F(WaitTest, WhatComesAfterTenTimesTheLimitHasNotCome) {
  const struct {
    Wait::Clock::duration limit, end;
    const char* text;
  } rows[] = {
      {5s, 50s, "did not come within 50 s"},
      {200ms, 2s, "did not come within 2 s"},
      {60s, 120s, "did not come within 120 s"},
      {300s, 300s, "did not come within 300 s"},
  };
  for (const auto& row : rows) {
    const auto begin = now;
    const auto came = For(row.limit, 1h);
    EXPECT_FALSE(came);
    EXPECT_THAT(came.message(), HasSubstr(row.text));
    EXPECT_EQ(now - begin, row.end + 500ms);
  }
}

// For a call that ends by itself.
TEST_F(WaitTest, ACallIsMeasured) {
  const Wait wait = Limit(5s);
  now += 5s;
  EXPECT_TRUE(wait.Ended());
  now += 1ms;
  EXPECT_NONFATAL_FAILURE(EXPECT_TRUE(wait.Ended()), "late: waited 5 s, came after 5.001 s");
  now += 45s;
  EXPECT_FALSE(wait.Ended());
  EXPECT_FALSE(Limit(5s).Ended(/*came=*/false));
}

TEST_F(WaitTest, AStepMayBlockUntilTheEnd) {
  std::vector<Wait::Clock::time_point> ends;
  EXPECT_FALSE(Await(
      Limit(5s), [] { return false; },
      [&](Wait::Clock::time_point end) {
        ends.push_back(end);
        now = end.time_since_epoch() + 1ms;
      }));
  EXPECT_THAT(ends, ::testing::ElementsAre(Wait::Clock::time_point(now) - 1ms));
}

TEST_F(WaitTest, AConditionVariableIsWaitedFor) {
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
  std::thread thread([&] {
    const std::lock_guard lock(mutex);
    ready = true;
    changed.notify_all();
  });
  {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(Await(60s, changed, lock, [&] { return ready; }));
    EXPECT_FALSE(Await(1ms, changed, lock, [] { return false; }));
  }
  thread.join();
}

TEST_F(WaitTest, APeersFailureEndsTheTest) {
  EXPECT_NONFATAL_FAILURE(EXPECT_THROW(PeerFailure("wine64 ended"), ::testing::AssertionException),
                          "peer: wine64 ended");
}

}  // namespace
}  // namespace weft::testing
