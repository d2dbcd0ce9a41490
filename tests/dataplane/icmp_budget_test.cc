// SPDX-License-Identifier: Apache-2.0
#include "dataplane/icmp_budget.h"

#include <gtest/gtest.h>

namespace weft::dataplane {
namespace {

using std::chrono::milliseconds;

int TakeAll(IcmpBudget& budget, Timestamp now) {
  int taken = 0;
  while (budget.TryConsume(now)) ++taken;
  return taken;
}

TEST(IcmpBudget, AllowsABurstThenOneAMillisecond) {
  IcmpBudget budget;
  EXPECT_EQ(TakeAll(budget, milliseconds(0)), 50);
  EXPECT_EQ(TakeAll(budget, milliseconds(0)), 0);
  EXPECT_EQ(TakeAll(budget, milliseconds(1)), 1);
  EXPECT_EQ(TakeAll(budget, milliseconds(11)), 10);
}

TEST(IcmpBudget, DoesNotSaveMoreThanABurst) {
  IcmpBudget budget;
  EXPECT_EQ(TakeAll(budget, milliseconds(0)), 50);
  EXPECT_EQ(TakeAll(budget, std::chrono::hours(1)), 50);
}

TEST(IcmpBudget, WorksForTimestampsBelowZeroAndEarnsNothingBackwards) {
  IcmpBudget budget;
  EXPECT_EQ(TakeAll(budget, milliseconds(-1000)), 50);
  EXPECT_EQ(TakeAll(budget, milliseconds(-2000)), 0);
  EXPECT_EQ(TakeAll(budget, milliseconds(-999)), 1);
}

}  // namespace
}  // namespace weft::dataplane
