// SPDX-License-Identifier: Apache-2.0
#include "control/lease_log.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"

namespace weft::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeLease;

class LeaseLogTest : public ::testing::Test {
 protected:
  std::vector<std::string> Take() { return std::exchange(lines, {}); }

  lease::LeaseTable table{[] {
    lease::OwnIdentity own;
    own.node_name = "us";
    return own;
  }()};
  std::vector<std::string> lines;
  LeaseLog log{table, [this](Severity, const std::string& line) { lines.push_back(line); }};
  lease::Lease a = MakeLease("a", "10.244.1.0/24", "192.0.2.1");
};

TEST_F(LeaseLogTest, WhatIsPlainlyUsableOrOurOwnIsNotSpokenOf) {
  table.Upsert(a);
  table.Upsert(MakeLease("us", "10.244.0.0/24", "192.0.2.9"));
  log.TellAll();
  log.TellOf(a.node);
  log.TellOf(MakeLease("us", "10.244.0.0/24", "192.0.2.9").node);
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(LeaseLogTest, EachFaultIsSaidOnceWhicheverWay) {
  a.v4->vni = 7;
  table.Upsert(a);
  log.TellOf(a.node);
  EXPECT_THAT(Take(), ElementsAre(HasSubstr("lease of node \"a\" (10.244.1.0/24): vni-mismatch")));
  log.TellAll();
  log.TellOf(a.node);
  log.TellAll();
  EXPECT_THAT(Take(), IsEmpty());
  a.v4->vni = 8;
  table.Upsert(a);
  log.TellAll();
  EXPECT_THAT(Take(), ElementsAre(HasSubstr("under VNI 8")));
}

TEST_F(LeaseLogTest, BothHalvesAreSpokenOf) {
  a.v6 = testing::HalfLease("fd00::/64", "2001:db8::1");
  a.v4->vtep_mac.reset();
  a.v6->vni = 7;
  table.Upsert(a);
  log.TellAll();
  EXPECT_THAT(Take(), ElementsAre(HasSubstr("missing-mac"), HasSubstr("vni-mismatch")));
}

TEST_F(LeaseLogTest, WhatWentIsNewsWhenItComesBack) {
  a.v4->vtep_mac.reset();
  table.Upsert(a);
  log.TellOf(a.node);
  Take();
  log.Forget(a.node);
  log.TellOf(a.node);
  EXPECT_THAT(Take(), ElementsAre(HasSubstr("missing-mac")));
  table.Remove(a.node);
  log.TellAll();
  table.Upsert(a);
  log.TellAll();
  EXPECT_THAT(Take(), ElementsAre(HasSubstr("missing-mac"))) << "it was not there in between";
}

TEST_F(LeaseLogTest, KnowsWhetherAnythingChangedSinceAllWasTold) {
  EXPECT_FALSE(log.has_told_all());
  log.TellAll();
  EXPECT_TRUE(log.has_told_all());
  table.Upsert(a);
  EXPECT_FALSE(log.has_told_all());
}

TEST_F(LeaseLogTest, OfManyRefusedNodesTwentyAreNamed) {
  for (int i = 0; i < 25; ++i) log.GatherRefused({"n" + std::to_string(i), "broken"});
  EXPECT_EQ(Take().size(), 20u);
  log.TellGathered();
  EXPECT_THAT(Take(), ElementsAre("and 5 more nodes are refused; see: flannelctl leases"));
  log.TellGathered();
  EXPECT_THAT(Take(), IsEmpty());
  log.GatherRefused({"n\n", "broken"});
  EXPECT_THAT(Take(), ElementsAre("node \"n\\n\" is refused: broken"));
}

TEST_F(LeaseLogTest, NobodyNeedListen) {
  LeaseLog unheard(table, nullptr);
  unheard.TellRefused({"n", "broken"});
  EXPECT_THAT(Take(), IsEmpty());
}

}  // namespace
}  // namespace weft::control
