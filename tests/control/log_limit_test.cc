// SPDX-License-Identifier: Apache-2.0
#include "control/log_limit.h"

#include <gtest/gtest.h>

namespace weft::control {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr TimePoint kStart{std::chrono::hours(1)};

TEST(LogLimitTest, TheSameLineIsWrittenOnceInFiveMinutes) {
  LogLimit limit;
  EXPECT_TRUE(limit.Allows("eth0 has no address", kStart));
  EXPECT_FALSE(limit.Allows("eth0 has no address", kStart + seconds(1)));
  EXPECT_FALSE(limit.Allows("eth0 has no address", kStart + minutes(5) - seconds(1)));
  EXPECT_TRUE(limit.Allows("eth0 has no address", kStart + minutes(5)));
  EXPECT_FALSE(limit.Allows("eth0 has no address", kStart + minutes(6))) << "since the last one";
}

TEST(LogLimitTest, AnotherLineIsWrittenAtOnce) {
  LogLimit limit;
  EXPECT_TRUE(limit.Allows("eth0 has no address", kStart));
  EXPECT_TRUE(limit.Allows("eth1 has no address", kStart));
}

// The memory is bounded; forgetting costs a repeated line at most.
TEST(LogLimitTest, MoreLinesThanAreRememberedAreStillWritten) {
  LogLimit limit;
  for (std::size_t i = 0; i < 3 * LogLimit::kMost; ++i)
    ASSERT_TRUE(limit.Allows(std::to_string(i), kStart)) << i;
  EXPECT_TRUE(limit.Allows("0", kStart)) << "it was forgotten";
}

TEST(LogLimitTest, ExpiredLinesMakeRoomForNewOnes) {
  LogLimit limit;
  for (std::size_t i = 1; i < LogLimit::kMost; ++i) limit.Allows(std::to_string(i), kStart);
  EXPECT_TRUE(limit.Allows("kept", kStart + minutes(5)));
  EXPECT_TRUE(limit.Allows("one more", kStart + minutes(5)));
  EXPECT_FALSE(limit.Allows("kept", kStart + minutes(5)));
}

TEST(LogLimitTest, ASentenceWithAnotherCountIsTheSameSentence) {
  EXPECT_EQ(WithoutNumbers("HcnOpenNetwork has been under way for 6 s"),
            WithoutNumbers("HcnOpenNetwork has been under way for 117 s"));
  EXPECT_NE(WithoutNumbers("3 threads hang"), WithoutNumbers("3 threads hang; restart it"));
}

}  // namespace
}  // namespace weft::control
