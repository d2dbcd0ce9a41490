// SPDX-License-Identifier: Apache-2.0
#include "control/retry.h"

#include "gtest/gtest.h"

namespace weft::control {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Backoff, DoublesToTheMostAndStaysThere) {
  Backoff backoff(RetryPolicy{}, [] { return 0.0; });
  for (const int ms : {800, 1600, 3200, 6400, 12800, 25600, 30000, 30000})
    EXPECT_EQ(backoff.Next(), milliseconds(ms));
}

TEST(Backoff, ResetBeginsAgain) {
  Backoff backoff(RetryPolicy{}, [] { return 0.0; });
  backoff.Next();
  backoff.Next();
  backoff.Reset();
  EXPECT_EQ(backoff.Next(), milliseconds(800));
}

TEST(Backoff, JitterLengthensOneWaitAndIsNotCarriedOn) {
  double roll = 0.5;
  Backoff backoff({seconds(1), seconds(10), 2, 1}, [&roll] { return roll; });
  EXPECT_EQ(backoff.Next(), milliseconds(1500));
  roll = 0;
  EXPECT_EQ(backoff.Next(), seconds(2));
}

TEST(Backoff, AFirstWaitAboveTheMostIsTheMost) {
  Backoff backoff({seconds(60), seconds(10), 2, 0}, [] { return 0.9; });
  EXPECT_EQ(backoff.Next(), seconds(10));
}

TEST(SystemRandom, StaysInItsRange) {
  const Random random = SystemRandom();
  for (int i = 0; i < 1000; ++i) {
    const double roll = random();
    ASSERT_GE(roll, 0);
    ASSERT_LT(roll, 1);
  }
}

}  // namespace
}  // namespace weft::control
