// SPDX-License-Identifier: Apache-2.0
#include "control/kube/rewrites.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/manual_clock.h"

namespace weft::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr auto kCalm = 15min;

class RewritesTest : public ::testing::Test {
 protected:
  // How long the answer has to wait.
  control::Duration Count() {
    rewrites.Count(clock.Now(), "a/public-ip to \"1.2.3.4\"");
    return rewrites.answer_at() - clock.Now();
  }
  weft::testing::ManualClock clock;
  Rewrites rewrites{[] { return 0.0; }, kCalm};
};

TEST_F(RewritesTest, TheFirstIsAnsweredAtOnceAndLaterOnesWithBackOff) {
  EXPECT_EQ(Count(), 0s);
  for (const auto wait : {100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms, 12800ms, 25600ms,
                          51200ms, 102400ms, 204800ms, 300000ms, 300000ms}) {
    clock.Advance(1s);
    EXPECT_EQ(Count(), wait);
  }
  EXPECT_EQ(rewrites.times(), 15);
}

TEST_F(RewritesTest, AfterAQuietPeriodTheBackOffIsReset) {
  Count(), Count(), Count();
  clock.Advance(kCalm - 1s);
  EXPECT_TRUE(rewrites.IsLasting(clock.Now()));
  EXPECT_EQ(Count(), 400ms);
  clock.Advance(kCalm);
  EXPECT_FALSE(rewrites.IsLasting(clock.Now()));
  EXPECT_EQ(Count(), 0s);
  EXPECT_EQ(rewrites.times(), 1);
}

// Otherwise a program that answers every patch of ours would seem quiet.
TEST_F(RewritesTest, TheLongestWaitIsShorterThanTheQuietPeriod) {
  Rewrites restless([] { return 0.999; }, kCalm);
  for (int i = 0; i < 50; ++i) restless.Count(clock.Now(), "x");
  EXPECT_LT(restless.answer_at() - clock.Now(), kCalm);
}

TEST_F(RewritesTest, OneRewriteIsNoCondition) {
  EXPECT_FALSE(rewrites.IsLasting(clock.Now()));
  Count();
  EXPECT_FALSE(rewrites.IsLasting(clock.Now()));
  Count();
  EXPECT_TRUE(rewrites.IsLasting(clock.Now()));
  rewrites.Reset();
  EXPECT_FALSE(rewrites.IsLasting(clock.Now()));
  EXPECT_EQ(Count(), 0s);
}

TEST_F(RewritesTest, ReportedWithCountAndNextStep) {
  Count();
  EXPECT_EQ(rewrites.Describe("win1"),
            "another program changed our annotations of node \"win1\": a/public-ip to \"1.2.3.4\"; "
            "they are put back; `kubectl get node win1 -o yaml --show-managed-fields` names the "
            "writer");
  Count(), Count();
  EXPECT_THAT(rewrites.Describe("win1"), HasSubstr("node \"win1\", 3 times so far: "));
  EXPECT_THAT(rewrites.Describe("win1"), HasSubstr("they are put back, each time later"));
}

}  // namespace
}  // namespace weft::kube
