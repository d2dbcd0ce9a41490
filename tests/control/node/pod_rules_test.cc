// SPDX-License-Identifier: Apache-2.0
#include "control/node/pod_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "control/log.h"
#include "tests/support/fake_packet_filter.h"
#include "tests/support/lease_makers.h"
#include "tests/support/ledger_rows.h"
#include "tests/support/test_path.h"

namespace weft::node {
namespace {

using host::FilterPart;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::weft::testing::FakePacketFilter;
using ::weft::testing::Prefix;

class PodRulesTest : public ::testing::Test {
 protected:
  // Outlives the ledger: Windows removes no file that is open.
  struct Folder {
    Folder() { std::filesystem::remove_all(path); }
    ~Folder() { std::filesystem::remove_all(path); }
    const std::filesystem::path path = weft::testing::TestPath();
  };

  static PodRules::Desired Both() {
    return {host::MasqueradeRules({Prefix("10.244.0.0/16"), Prefix("10.244.1.0/24")}, {}),
            host::ForwardRules(Prefix("10.244.0.0/16"))};
  }
  // Inspects every second, as the daemon does.
  void Pass(int count) {
    for (int i = 0; i < count; ++i) rules_.Poll(now_ += seconds(1));
  }
  // "KIND NAME" of each.
  std::vector<std::string> Entered() {
    std::vector<std::string> entered;
    ledger_->Use([&](ledger::Ledger& ledger) -> ledger::NodeLedger::Written {
      for (const ledger::Row& row : weft::testing::Rows(ledger))
        entered.push_back(row.kind + " " + row.name);
      return std::nullopt;
    });
    return entered;
  }

  const Folder folder_;
  std::shared_ptr<FakePacketFilter> filter_ = std::make_shared<FakePacketFilter>();
  std::shared_ptr<ledger::NodeLedger> ledger_ =
      std::make_shared<ledger::NodeLedger>(folder_.path.string());
  PodRules::Clock::time_point now_{std::chrono::hours(1)};
  PodRules rules_{filter_, ledger_, seconds(5)};
};

TEST_F(PodRulesTest, AreAddedAtOnceAndEntered) {
  rules_.SetDesired(Both(), now_);
  EXPECT_EQ(filter_->held[FilterPart::kMasquerade], Both().masquerade);
  EXPECT_EQ(filter_->held[FilterPart::kForward], Both().forward);
  EXPECT_EQ(filter_->held[FilterPart::kForwardLegacy], Both().forward);
  EXPECT_TRUE(rules_.masquerades());
  EXPECT_THAT(Entered(), ElementsAre("filter-table inet weft", "forward-rules nftables",
                                     "forward-rules iptables-legacy"));
  Pass(10);
  EXPECT_EQ(filter_->puts[FilterPart::kMasquerade], 1);
  EXPECT_EQ(rules_.masquerade_condition().text(), "");
}

TEST_F(PodRulesTest, NothingIsDoneBeforeSomethingIsDesired) {
  filter_->held[FilterPart::kMasquerade] = Both().masquerade;  // an earlier process's
  Pass(3);
  EXPECT_THAT(filter_->reads, IsEmpty());
  EXPECT_FALSE(rules_.masquerades());
}

TEST_F(PodRulesTest, RulesOfAnEarlierProcessAreRemovedWithTheirFlagAndEntry) {
  rules_.SetDesired(Both(), now_);
  PodRules later(filter_, ledger_, seconds(5));
  later.SetDesired({}, now_);
  EXPECT_THAT(filter_->held[FilterPart::kMasquerade], IsEmpty());
  EXPECT_THAT(filter_->held[FilterPart::kForward], IsEmpty());
  EXPECT_FALSE(later.masquerades());
  EXPECT_THAT(Entered(), IsEmpty());
}

// And no folder is created for an empty ledger.
TEST_F(PodRulesTest, WithoutAChainNothingIsAddedOrEntered) {
  filter_->chain_exists = false;
  rules_.SetDesired({{}, Both().forward}, now_);
  Pass(10);
  EXPECT_THAT(filter_->puts, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder_.path));
  filter_->chain_exists = true;
  Pass(1);
  EXPECT_EQ(filter_->held[FilterPart::kForward], Both().forward);
  EXPECT_EQ(rules_.forward_condition().times(), 0u);
}

TEST_F(PodRulesTest, AnotherPodCidrReplacesThem) {
  rules_.SetDesired(Both(), now_);
  PodRules::Desired other = Both();
  other.masquerade = host::MasqueradeRules({Prefix("10.244.0.0/16"), Prefix("10.244.9.0/24")}, {});
  rules_.SetDesired(other, now_);
  EXPECT_EQ(filter_->held[FilterPart::kMasquerade], other.masquerade);
  EXPECT_EQ(filter_->puts[FilterPart::kForward], 1);
}

TEST_F(PodRulesTest, ForeignRemovalsAreRepairedAtTheNextInspection) {
  rules_.SetDesired(Both(), now_);
  for (const FilterPart part : {FilterPart::kMasquerade, FilterPart::kForward}) {
    filter_->held[part].clear();
    Pass(1);
    EXPECT_FALSE(filter_->held[part].empty());
  }
  EXPECT_TRUE(rules_.masquerades());
  EXPECT_EQ(rules_.masquerade_condition().text(), "");
}

// The kernel does not report changes there, and each inspection runs a program.
TEST_F(PodRulesTest, LegacyIsInspectedLessOften) {
  rules_.SetDesired(Both(), now_);
  filter_->held[FilterPart::kForwardLegacy].clear();
  Pass(4);
  EXPECT_THAT(filter_->held[FilterPart::kForwardLegacy], IsEmpty());
  Pass(1);
  EXPECT_EQ(filter_->held[FilterPart::kForwardLegacy], Both().forward);
  EXPECT_EQ(filter_->reads[FilterPart::kForwardLegacy], 2);
}

TEST_F(PodRulesTest, TwoProgramsDoNotRewriteInALoop) {
  rules_.SetDesired(Both(), now_);
  for (int i = 0; i < 600; ++i) {
    filter_->held[FilterPart::kMasquerade].clear();
    Pass(1);
  }
  // 1, 1, 2, 4 ... 60 seconds between.
  EXPECT_LT(filter_->puts[FilterPart::kMasquerade], 20);
  EXPECT_THAT(rules_.masquerade_condition().text(), HasSubstr("repeatedly"));
  EXPECT_EQ(rules_.masquerade_condition().times(), 1u);
  // Once it is over, the pause and then the quiet period end.
  Pass(60);
  EXPECT_TRUE(rules_.masquerades());
  Pass(5 * 60);
  EXPECT_EQ(rules_.masquerade_condition().text(), "");
  filter_->held[FilterPart::kMasquerade].clear();
  Pass(1);
  EXPECT_TRUE(rules_.masquerades());
}

// Neither a moment in which the rules exist, nor the same rules again, ends a conflict.
TEST_F(PodRulesTest, AConflictEndsAfterFiveQuietMinutesOnly) {
  rules_.SetDesired(Both(), now_);
  for (int i = 0; i < 600; ++i) {
    filter_->held[FilterPart::kMasquerade].clear();
    Pass(1);
    const int puts = filter_->puts[FilterPart::kMasquerade];
    if (filter_->held[FilterPart::kMasquerade].empty()) {
      rules_.SetDesired(Both(), now_);
      EXPECT_EQ(filter_->puts[FilterPart::kMasquerade], puts) << i;
    } else {
      Pass(1);
    }
  }
  EXPECT_THAT(rules_.masquerade_condition().text(), HasSubstr("repeatedly"));
  EXPECT_EQ(rules_.masquerade_condition().times(), 1u);
}

TEST_F(PodRulesTest, FailedRulesAreReportedAndRetried) {
  filter_->writable = absl::PermissionDeniedError("not permitted");
  rules_.SetDesired(Both(), now_);
  EXPECT_FALSE(rules_.masquerades());
  EXPECT_THAT(rules_.masquerade_condition().text(),
              HasSubstr("cannot be installed: not permitted"));
  EXPECT_THAT(rules_.forward_condition().text(), HasSubstr("cannot be installed: not permitted"));
  Pass(10);
  EXPECT_EQ(rules_.masquerade_condition().times(), 1u);
  filter_->writable = absl::OkStatus();
  Pass(5);
  EXPECT_TRUE(rules_.masquerades());
  EXPECT_EQ(rules_.masquerade_condition().text(), "");
  EXPECT_EQ(rules_.forward_condition().text(), "");
}

TEST_F(PodRulesTest, UnreadableRulesCountAsLastSeen) {
  filter_->readable = absl::UnavailableError("try again");
  rules_.SetDesired(Both(), now_);
  EXPECT_FALSE(rules_.masquerades());
  filter_->readable = absl::OkStatus();
  Pass(1);
  EXPECT_TRUE(rules_.masquerades());
  filter_->readable = absl::PermissionDeniedError("not permitted");
  Pass(1);
  EXPECT_TRUE(rules_.masquerades());
  EXPECT_THAT(rules_.masquerade_condition().text(), HasSubstr("not permitted"));
}

// Another program that has the lock of iptables' tables for a moment, or a busy host.
TEST_F(PodRulesTest, ADeniedReadIsNoConditionBeforeTheThird) {
  for (const absl::Status& denied :
       {absl::UnavailableError("locked"), absl::DeadlineExceededError("too slow")}) {
    rules_.SetDesired({}, now_);
    rules_.SetDesired(Both(), now_);
    EXPECT_EQ(rules_.masquerade_condition().text(), "");
    Pass(4);
    filter_->reads.clear();
    filter_->readable = denied;
    Pass(2);
    EXPECT_EQ(rules_.masquerade_condition().text(), "");
    EXPECT_EQ(rules_.forward_condition().text(), "");
    EXPECT_EQ(filter_->reads[FilterPart::kForwardLegacy], 2) << "again soon, not in five seconds";
    filter_->readable = absl::OkStatus();
    Pass(1);
    filter_->readable = denied;
    Pass(2);
    EXPECT_EQ(rules_.masquerade_condition().text(), "") << "not in a row";
    Pass(1);
    EXPECT_EQ(rules_.masquerade_condition().text(), denied.message());
    EXPECT_TRUE(rules_.masquerades());
    filter_->readable = absl::OkStatus();
    Pass(5);
    EXPECT_EQ(rules_.masquerade_condition().text(), "");
    EXPECT_EQ(rules_.forward_condition().text(), "");
  }
}

TEST_F(PodRulesTest, FailedRulesAreRetriedWithBackOff) {
  filter_->writable = absl::InternalError("no");
  rules_.SetDesired(Both(), now_);
  Pass(600);
  // 1, 2, 4 ... 60 seconds between.
  EXPECT_LT(filter_->puts[FilterPart::kForward], 20);
  filter_->writable = absl::OkStatus();
  Pass(60);
  EXPECT_EQ(filter_->held[FilterPart::kForward], Both().forward);
  EXPECT_EQ(rules_.forward_condition().text(), "");
}

TEST_F(PodRulesTest, AConflictDoesNotFillTheLog) {
  ::testing::internal::CaptureStderr();
  control::StartLog(control::LogFormat::kKlog, 0);
  rules_.SetDesired(Both(), now_);
  for (int i = 0; i < 600; ++i) {
    filter_->held[FilterPart::kMasquerade].clear();
    Pass(1);
  }
  const std::string log = ::testing::internal::GetCapturedStderr();
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = log.find("installed nftables' table", at)) != std::string::npos;
       ++at)
    ++lines;
  EXPECT_GT(filter_->puts[FilterPart::kMasquerade], 10);
  EXPECT_GE(lines, 1u);
  EXPECT_LE(lines, 3u) << log;
}

// Without root it stays so: a line in the log, and nothing that looks like a failure each round.
TEST_F(PodRulesTest, UnknownLegacyTablesAreSaidOnce) {
  filter_->legacy_readable = absl::PermissionDeniedError("legacy tables are not known");
  ::testing::internal::CaptureStderr();
  control::StartLog(control::LogFormat::kKlog, 0);
  rules_.SetDesired(Both(), now_);
  Pass(600);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("legacy tables are not known"));
  EXPECT_EQ(log.find("legacy tables"), log.rfind("legacy tables"));
  EXPECT_EQ(rules_.forward_condition().times(), 0u);
  EXPECT_EQ(filter_->held[FilterPart::kForward], Both().forward);
  filter_->legacy_readable = absl::UnavailableError("the lock is taken");
  Pass(60);
  EXPECT_EQ(rules_.forward_condition().text(), "the lock is taken") << "that may end";
}

// A node without the permission to read has no condition if no rules are desired.
TEST_F(PodRulesTest, NoConditionWhereNothingIsDesired) {
  filter_->readable = absl::PermissionDeniedError("not permitted");
  rules_.SetDesired({}, now_);
  EXPECT_EQ(rules_.masquerade_condition().text(), "");
  EXPECT_EQ(rules_.forward_condition().text(), "");
  filter_->readable = absl::OkStatus();
  Pass(20);
  filter_->reads.clear();
  Pass(20);
  EXPECT_THAT(filter_->reads, IsEmpty());
}

TEST_F(PodRulesTest, WithoutAFilterTheCniPluginMasquerades) {
  PodRules windows(nullptr, ledger_, seconds(5));
  windows.SetDesired(Both(), now_);
  EXPECT_TRUE(windows.masquerades());
  EXPECT_FALSE(std::filesystem::exists(folder_.path));
}

}  // namespace
}  // namespace weft::node
