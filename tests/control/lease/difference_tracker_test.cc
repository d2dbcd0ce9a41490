// SPDX-License-Identifier: Apache-2.0
#include "control/lease/difference_tracker.h"

#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/seed.h"

namespace weft::lease {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Tracker = DifferenceTracker<int, std::string>;

TEST(DifferenceTracker, StartsInSync) {
  const Tracker tracker;
  EXPECT_TRUE(tracker.in_sync());
  EXPECT_EQ(tracker.applied(), 0u);
}

TEST(DifferenceTracker, DesiredAndAbsentIsPendingUntilReportedDone) {
  Tracker tracker;
  tracker.SetDesired(1, "a");
  EXPECT_THAT(tracker.pending_upserts(), ElementsAre(1));
  tracker.SetActual(1, "a");
  EXPECT_TRUE(tracker.in_sync());
  EXPECT_EQ(tracker.applied(), 1u);
}

TEST(DifferenceTracker, AbsentIsPendingThoughEveryValueIsAsGood) {
  struct AnyValue {
    bool operator()(const std::string&, const std::string&) const { return true; }
  };
  DifferenceTracker<int, std::string, AnyValue> tracker;
  tracker.SetDesired(1, "a");
  EXPECT_THAT(tracker.pending_upserts(), ElementsAre(1));
  tracker.SetActual(1, "b");
  EXPECT_TRUE(tracker.in_sync());
}

TEST(DifferenceTracker, SameKeyNewValueIsAnUpdate) {
  Tracker tracker;
  tracker.SetDesired(1, "a");
  tracker.SetActual(1, "a");
  tracker.SetDesired(1, "b");
  EXPECT_THAT(tracker.pending_upserts(), ElementsAre(1));
  tracker.SetDesired(1, "a");
  EXPECT_TRUE(tracker.in_sync());
}

TEST(DifferenceTracker, NoLongerDesiredIsPendingRemoval) {
  Tracker tracker;
  tracker.SetDesired(1, "a");
  tracker.SetActual(1, "a");
  tracker.EraseDesired(1);
  EXPECT_THAT(tracker.pending_removals(), ElementsAre(1));
  EXPECT_FALSE(tracker.in_sync());
  tracker.EraseActual(1);
  EXPECT_TRUE(tracker.in_sync());
}

TEST(DifferenceTracker, DesiredAgainBeforeItWasRemovedIsNothingToDo) {
  Tracker tracker;
  tracker.ReplaceActual({{1, "a"}});
  EXPECT_THAT(tracker.pending_removals(), ElementsAre(1));
  tracker.SetDesired(1, "a");
  EXPECT_TRUE(tracker.in_sync());
}

TEST(DifferenceTracker, FromScratchBothWaysRound) {
  Tracker tracker;
  tracker.ReplaceDesired({{1, "right"}, {2, "new"}, {3, "changed"}});
  tracker.ReplaceActual({{1, "right"}, {3, "old"}, {4, "stale"}});
  EXPECT_THAT(tracker.pending_upserts(), ElementsAre(2, 3));
  EXPECT_THAT(tracker.pending_removals(), ElementsAre(4));
  EXPECT_EQ(tracker.applied(), 1u);
  tracker.ReplaceDesired({});
  EXPECT_THAT(tracker.pending_upserts(), IsEmpty());
  EXPECT_THAT(tracker.pending_removals(), ElementsAre(1, 3, 4));
}

TEST(DifferenceTracker, TheOwnerDefinesEquality) {
  struct SameParity {
    bool operator()(int a, int b) const { return a % 2 == b % 2; }
  };
  DifferenceTracker<int, int, SameParity> tracker;
  tracker.SetDesired(1, 10);
  tracker.SetActual(1, 12);
  EXPECT_TRUE(tracker.in_sync());
  tracker.SetActual(1, 13);
  EXPECT_FALSE(tracker.in_sync());
}

TEST(DifferenceTracker, EqualsTheObviousComputationAfterEveryStep) {
  const std::uint32_t seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Tracker tracker;
  for (int step = 0; step < 5000; ++step) {
    const int key = static_cast<int>(random() % 8);
    const std::string value(1, static_cast<char>('a' + random() % 3));
    switch (random() % 4) {
      case 0:
        tracker.SetDesired(key, value);
        break;
      case 1:
        tracker.EraseDesired(key);
        break;
      case 2:
        tracker.SetActual(key, value);
        break;
      default:
        tracker.EraseActual(key);
        break;
    }
    absl::btree_set<int> upserts, removals;
    for (const auto& [k, v] : tracker.desired()) {
      const auto there = tracker.actual().find(k);
      if (there == tracker.actual().end() || there->second != v) upserts.insert(k);
    }
    for (const auto& [k, v] : tracker.actual()) {
      if (!tracker.desired().contains(k)) removals.insert(k);
    }
    ASSERT_EQ(tracker.pending_upserts(), upserts) << "step " << step;
    ASSERT_EQ(tracker.pending_removals(), removals) << "step " << step;
  }
}

}  // namespace
}  // namespace weft::lease
