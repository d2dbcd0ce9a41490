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

TEST_F(LeaseLogTest, UsableLeasesAndOurOwnAreNotLogged) {
  table.Upsert(a);
  table.Upsert(MakeLease("us", "10.244.0.0/24", "192.0.2.9"));
  log.LogAll();
  log.LogNode(a.node);
  log.LogNode(MakeLease("us", "10.244.0.0/24", "192.0.2.9").node);
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(LeaseLogTest, EachFaultIsLoggedOnce) {
  a.v4->vni = 7;
  table.Upsert(a);
  log.LogNode(a.node);
  EXPECT_THAT(Take(), ElementsAre(HasSubstr("lease of node \"a\" (10.244.1.0/24): vni-mismatch")));
  log.LogAll();
  log.LogNode(a.node);
  log.LogAll();
  EXPECT_THAT(Take(), IsEmpty());
  a.v4->vni = 8;
  table.Upsert(a);
  log.LogAll();
  EXPECT_THAT(Take(), ElementsAre(HasSubstr("under VNI 8")));
}

TEST_F(LeaseLogTest, BothHalvesAreLogged) {
  a.v6 = testing::HalfLease("fd00::/64", "2001:db8::1");
  a.v4->vtep_mac.reset();
  a.v6->vni = 7;
  table.Upsert(a);
  log.LogAll();
  EXPECT_THAT(Take(), ElementsAre(HasSubstr("missing-mac"), HasSubstr("vni-mismatch")));
}

TEST_F(LeaseLogTest, ARemovedLeaseIsLoggedAgainWhenItReturns) {
  a.v4->vtep_mac.reset();
  table.Upsert(a);
  log.LogNode(a.node);
  Take();
  log.GatherGone(a.node);
  EXPECT_THAT(Take(), ElementsAre("the lease of node \"a\" (10.244.1.0/24) is gone: the node was "
                                  "deleted or withdrew it"));
  log.LogNode(a.node);
  EXPECT_THAT(Take(), ElementsAre(HasSubstr("missing-mac")));
  table.Remove(a.node);
  log.LogAll();
  table.Upsert(a);
  log.LogAll();
  EXPECT_THAT(Take(), ElementsAre(HasSubstr("missing-mac"))) << "it was not there in between";
}

TEST_F(LeaseLogTest, KnowsWhetherAnythingChangedSinceTheLastReport) {
  EXPECT_FALSE(log.logged_all());
  log.LogAll();
  EXPECT_TRUE(log.logged_all());
  table.Upsert(a);
  EXPECT_FALSE(log.logged_all());
  log.LogAll();
  a.readiness = {true, 1};
  table.Upsert(a);
  EXPECT_TRUE(log.logged_all()) << "no line follows from a Node's readiness";
}

TEST_F(LeaseLogTest, OfManyRefusedNodesTwentyAreNamed) {
  for (int i = 0; i < 25; ++i) log.GatherRefused({"n" + std::to_string(i), "broken"});
  EXPECT_EQ(Take().size(), 20u);
  log.LogGathered();
  EXPECT_THAT(Take(), ElementsAre("and 5 more nodes are refused; see: flannelctl leases"));
  log.LogGathered();
  EXPECT_THAT(Take(), IsEmpty());
  log.GatherRefused({"n\n", "broken"});
  EXPECT_THAT(Take(), ElementsAre("node \"n\\n\" is refused: broken"));
}

TEST_F(LeaseLogTest, OfManyNodesThatHaveNotJoinedTwentyAreNamed) {
  for (int i = 0; i < 25; ++i) log.GatherNotJoined({{"n" + std::to_string(i), ""}, "bare"});
  EXPECT_EQ(Take().size(), 20u);
  log.LogGathered();
  EXPECT_THAT(Take(), ElementsAre("and 5 more nodes have not joined; see: flannelctl leases"));
}

TEST_F(LeaseLogTest, OfManyWrongLeasesTwentyAreNamed) {
  for (int i = 0; i < 25; ++i) {
    const std::string number = std::to_string(i);
    lease::Lease wrong = MakeLease("n" + number, "10.244." + number + ".0/24", "192.0.2." + number);
    wrong.v4->vni = 7;
    table.Upsert(wrong);
  }
  log.LogAll();
  const std::vector<std::string> all = Take();
  ASSERT_EQ(all.size(), 21u);
  EXPECT_EQ(all.back(), "and 5 more leases that are not plainly usable; see: flannelctl leases");
}

TEST_F(LeaseLogTest, AFaultThatEndedIsLoggedAgainWhenItReturns) {
  for (int times = 0; times < 2; ++times) {
    a.v4->vni = 7;
    table.Upsert(a);
    log.LogNode(a.node);
    EXPECT_THAT(Take(), ElementsAre(HasSubstr("vni-mismatch"))) << times;
    a.v4->vni = 4096;
    table.Upsert(a);
    log.LogNode(a.node);
    EXPECT_THAT(Take(), IsEmpty());
  }
}

// What is used all the same is no warning, unless this host must be corrected.
TEST_F(LeaseLogTest, WhatIsUsedIsNoWarning) {
  std::vector<std::pair<Severity, std::string>> heard;
  LeaseLog graded(table, [&heard](Severity severity, const std::string& line) {
    heard.emplace_back(severity, line);
  });
  lease::Lease same_address = MakeLease("b", "10.244.2.0/24", "192.0.2.1");
  lease::Lease wrong = MakeLease("c", "10.244.3.0/24", "192.0.2.3");
  wrong.v4->vni = 7;
  table.Upsert(a);
  table.Upsert(same_address);
  table.Upsert(wrong);
  table.DropChanges();  // the sinks have them
  lease::OwnIdentity own = table.own();
  own.v4.claims = {{testing::Prefix("10.244.2.7/32"), "name server 10.244.2.7"}};
  table.SetOwn(own);
  graded.LogAll();
  EXPECT_THAT(heard, ElementsAre(::testing::Pair(Severity::kInfo, HasSubstr("duplicate-public-ip")),
                                 ::testing::Pair(Severity::kWarning, HasSubstr("host-changed")),
                                 ::testing::Pair(Severity::kWarning, HasSubstr("vni-mismatch"))));
}

TEST_F(LeaseLogTest, OfManyLeasesThatGoTwentyAreNamed) {
  for (int i = 0; i < 25; ++i) {
    const lease::Lease each =
        MakeLease("n" + std::to_string(i), "10.245." + std::to_string(i) + ".0/24", "192.0.2.1");
    table.Upsert(each);
    log.GatherGone(each.node);
  }
  EXPECT_EQ(Take().size(), 20u);
  log.LogGathered();
  EXPECT_THAT(Take(), ElementsAre("and 5 more leases are gone; see: flannelctl leases"));
  EXPECT_EQ(table.scans(), 0u) << "who else has the public IP is not looked for";
}

TEST_F(LeaseLogTest, WorksWithoutAListener) {
  LeaseLog unheard(table, nullptr);
  unheard.LogRefused({"n", "broken"});
  EXPECT_THAT(Take(), IsEmpty());
}

}  // namespace
}  // namespace weft::control
