// SPDX-License-Identifier: Apache-2.0
#include "control/service/event_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/support/manual_clock.h"

namespace weft::service {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EventReporterTest : public ::testing::Test {
 protected:
  void Report(const Health& health) { reporter_.Report(health, clock_.Now()); }
  void Ready() { Report({.ready = true}); }
  void NotReady(std::string reason) { Report({.ready = false, .reason = std::move(reason)}); }
  void Failing(std::vector<std::pair<std::string, std::string>> conditions) {
    Report({.ready = true, .conditions = std::move(conditions)});
  }
  std::vector<std::string> Written() { return std::exchange(written_, {}); }

  std::vector<std::string> written_;
  weft::testing::ManualClock clock_;
  EventReporter reporter_{[this](Event event, const std::vector<std::string>& strings) {
    written_.push_back(
        absl::StrCat(RowOf(event).name, strings.empty() ? "" : " ", absl::StrJoin(strings, "|")));
  }};
};

TEST_F(EventReporterTest, AStartAndItsEnd) {
  reporter_.Running("1.0");
  Ready();
  reporter_.Ended(0, "the service manager's request");
  EXPECT_THAT(Written(),
              ElementsAre("running 1.0", "ready", "stopped the service manager's request"));
}

TEST_F(EventReporterTest, AnEndWithAnError) {
  reporter_.Ended(2, "flag provided but not defined: -x");
  EXPECT_THAT(Written(), ElementsAre("failed 2|flag provided but not defined: -x"));
}

TEST_F(EventReporterTest, AStartThatIsNotReadyIsReportedAfterAMinute) {
  NotReady("source: no API server");
  clock_.Advance(seconds(59));
  NotReady("source: no API server");
  EXPECT_THAT(Written(), IsEmpty());
  clock_.Advance(seconds(1));
  NotReady("source: no API server");
  clock_.Advance(seconds(1));
  NotReady("source: another reason");
  EXPECT_THAT(Written(), ElementsAre("not-ready source: no API server"));
}

TEST_F(EventReporterTest, ALossOfReadinessAndItsReturnAreReportedAtOnce) {
  Ready();
  NotReady("hns: gone");
  Ready();
  EXPECT_THAT(Written(), ElementsAre("ready", "not-ready hns: gone", "ready"));
}

TEST_F(EventReporterTest, AConditionIsReportedOnceItLastsAMinuteAndWhenItIsOver) {
  Ready();
  Failing({{"log", "disk full, 1 line"}});
  clock_.Advance(seconds(59));
  Failing({{"log", "disk full, 2 lines"}});
  EXPECT_THAT(Written(), ElementsAre("ready"));
  clock_.Advance(seconds(1));
  Failing({{"log", "disk full, 3 lines"}});
  Failing({{"log", "disk full, 4 lines"}});
  EXPECT_THAT(Written(), ElementsAre("condition log|disk full, 3 lines"));
  Ready();
  Ready();
  EXPECT_THAT(Written(), ElementsAre("condition-over log|disk full, 4 lines"));
}

TEST_F(EventReporterTest, AConditionThatComesAndGoesIsNotReported) {
  Ready();
  for (int i = 0; i < 100; ++i) {
    Failing({{"vni", "no other node"}});
    clock_.Advance(seconds(30));
    Ready();
  }
  EXPECT_THAT(Written(), ElementsAre("ready"));
}

TEST_F(EventReporterTest, ANodeThatFlapsForADayWritesFewEventsAndTheLatestState) {
  for (int i = 0; i < 24 * 3600; ++i) {
    if (i % 2 == 0)
      Ready();
    else
      NotReady("hns: gone");
    clock_.Advance(seconds(1));
  }
  const std::size_t most = EventReporter::kBurst + 24 * 60 / 5;
  EXPECT_LE(written_.size(), most);
  EXPECT_GE(written_.size(), most - 2);
  Written();
  Ready();
  clock_.Advance(minutes(5));
  Ready();
  clock_.Advance(minutes(5));
  Ready();
  const std::vector<std::string> last = Written();
  EXPECT_LE(last.size(), 1u) << "it was ready already, or is reported so once";
  NotReady("hns: gone");
  EXPECT_THAT(Written(), ElementsAre("not-ready hns: gone"));
}

TEST_F(EventReporterTest, ManyConditionsAreLimitedToo) {
  std::vector<std::pair<std::string, std::string>> all;
  for (int i = 0; i < 100; ++i) all.emplace_back(absl::StrCat("subject-", i), "text");
  Failing(all);
  clock_.Advance(minutes(1));
  Failing(all);
  EXPECT_EQ(Written().size(), static_cast<std::size_t>(EventReporter::kBurst));
  clock_.Advance(EventReporter::kPause);
  Failing(all);
  EXPECT_EQ(Written().size(), 1u) << "the others follow";
  clock_.Advance(100 * EventReporter::kPause);
  Failing(all);
  EXPECT_EQ(Written().size(), static_cast<std::size_t>(EventReporter::kBurst));
  Ready();
  EXPECT_THAT(Written(), IsEmpty());
  clock_.Advance(EventReporter::kPause);
  Ready();
  EXPECT_THAT(Written(), ElementsAre("condition-over subject-0|text"));
}

TEST_F(EventReporterTest, WhatWasRestoredIsReportedOnceAndOfManyTheLast) {
  Ready();
  const auto restored = [&](std::uint64_t count) {
    Report({.ready = true,
            .restored = count,
            .last_restored = absl::StrCat("restored the network, number ", count)});
  };
  restored(1);
  restored(1);
  EXPECT_THAT(Written(), ElementsAre("ready", "restored restored the network, number 1"));
  for (std::uint64_t i = 2; i < 100; ++i) restored(i);
  EXPECT_EQ(Written().size(), static_cast<std::size_t>(EventReporter::kBurst) - 2);
  clock_.Advance(EventReporter::kPause);
  restored(99);
  restored(99);
  EXPECT_THAT(Written(), ElementsAre("restored restored the network, number 99"));
}

// Viewers replace %1 also inside of what is inserted.
TEST_F(EventReporterTest, InsertedTextIsOneLineWithoutInsertions) {
  Ready();
  NotReady("host: fe80::1%12\nx 100% %a");
  EXPECT_THAT(Written(), ElementsAre("ready", "not-ready host: fe80::1% 12 x 100% %a"));
  reporter_.Ended(1, std::string(100'000, 'x'));
  EXPECT_LT(Written()[0].size(), 3000u);
}

TEST(EventTable, IdsAreThePlacesInTheTable) {
  std::size_t place = 0;
  for (const EventRow& row : EventTable()) {
    EXPECT_EQ(static_cast<std::size_t>(row.event), ++place);
    EXPECT_EQ(&RowOf(row.event), &row);
    EXPECT_EQ(MessageId(row) >> 30, static_cast<std::uint32_t>(row.severity));
    EXPECT_EQ(MessageId(row) & 0xffff, place);
  }
  EXPECT_EQ(place, 8u);
}

}  // namespace
}  // namespace weft::service
