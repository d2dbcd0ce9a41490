// SPDX-License-Identifier: Apache-2.0
#include "dataplane/wait_set.h"

#include <gtest/gtest.h>

#include <thread>

namespace weft::dataplane {
namespace {

using std::chrono::milliseconds;

TEST(WaitSet, AWakeBeforeTheWaitIsNotLost) {
  auto waits = WaitSet::Make({});
  ASSERT_TRUE(waits.ok()) << waits.status();
  (*waits)->Wake();
  (*waits)->Wake();
  EXPECT_FALSE((*waits)->Wait(milliseconds(-1)));  // returns at once; no handle is ready
  (*waits)->Wake();
  (*waits)->WaitForWake(milliseconds(-1));
}

TEST(WaitSet, AnotherThreadWakesTheSleeper) {
  auto waits = WaitSet::Make({});
  ASSERT_TRUE(waits.ok()) << waits.status();
  std::jthread other([&] { (*waits)->Wake(); });
  EXPECT_FALSE((*waits)->Wait(milliseconds(-1)));
}

TEST(WaitSet, TimePasses) {
  auto waits = WaitSet::Make({});
  ASSERT_TRUE(waits.ok()) << waits.status();
  EXPECT_FALSE((*waits)->Wait(milliseconds(1)));
  (*waits)->WaitForWake(milliseconds(0));
}

}  // namespace
}  // namespace weft::dataplane
