// SPDX-License-Identifier: Apache-2.0
#include "control/lease/lease_table.h"

#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"

namespace weft::lease {
namespace {

using testing::HalfLease;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeLease;
using testing::Prefix;
using testing::Text;

OwnIdentity Us() {
  OwnIdentity own;
  own.node_name = "us";
  own.v4 = {Prefix("10.244.0.0/24"), Prefix("10.244.0.0/16")};
  own.v6 = {Prefix("fd00:10:244::/64"), Prefix("fd00:10:244::/48")};
  return own;
}

class LeaseTableTest : public ::testing::Test {
 protected:
  std::string Changes(IpFamily family = IpFamily::kV4) { return Text(table.TakeChanges(family)); }
  std::string State(const Lease& lease, IpFamily family = IpFamily::kV4) const {
    const auto state = table.StateOf(lease.node, family);
    return state ? std::string(Name(*state)) : "none";
  }
  std::string Detail(const Lease& lease) const {
    const auto rows = table.RowsOf(lease.node);
    return rows.empty() ? "no row" : rows.front().detail;
  }

  LeaseTable table{Us()};
  Lease a = MakeLease("a", "10.244.1.0/24", "192.0.2.1", 100);
  Lease b = MakeLease("b", "10.244.2.0/24", "192.0.2.2", 100);
};

// ---- changes

TEST_F(LeaseTableTest, UpsertAndRemoveAreSaidOnce) {
  EXPECT_TRUE(table.Upsert(a));
  EXPECT_EQ(Changes(), "+ a 10.244.1.0/24 192.0.2.1 02:00:00:00:00:01\n");
  EXPECT_EQ(Changes(), "");
  EXPECT_TRUE(table.Remove(a.node));
  EXPECT_EQ(Changes(), "- 10.244.1.0/24\n");
  EXPECT_FALSE(table.Remove(a.node));
  EXPECT_EQ(Changes(), "");
}

TEST_F(LeaseTableTest, IdenticalIsNoChange) {
  table.Upsert(a);
  Changes();
  const std::uint64_t generation = table.generation();
  EXPECT_FALSE(table.Upsert(a));
  testing::ApplySnapshot(table, {a}, {});
  EXPECT_EQ(Changes(), "");
  EXPECT_EQ(table.generation(), generation);
}

TEST_F(LeaseTableTest, SameKeyNewValueIsAnUpdateByEvent) {
  table.Upsert(a);
  Changes();
  a.v4->public_ip = testing::Address("192.0.2.77");
  EXPECT_TRUE(table.Upsert(a));
  EXPECT_EQ(Changes(), "+ a 10.244.1.0/24 192.0.2.77 02:00:00:00:00:01\n");
}

TEST_F(LeaseTableTest, SameKeyNewValueIsAnUpdateAfterARelist) {
  testing::ApplySnapshot(table, {a, b}, {});
  Changes();
  a.v4->vtep_mac = testing::Mac("02:00:00:00:00:77");
  testing::ApplySnapshot(table, {a, b}, {});
  EXPECT_EQ(Changes(), "+ a 10.244.1.0/24 192.0.2.1 02:00:00:00:00:77\n");
}

// Upstream v0.28.9 ignores it.
TEST_F(LeaseTableTest, APodCidrThatChangesAloneMovesTheRoute) {
  table.Upsert(a);
  Changes();
  a.v4->subnet = Prefix("10.244.9.0/24");
  table.Upsert(a);
  EXPECT_EQ(Changes(), "+ a 10.244.9.0/24 192.0.2.1 02:00:00:00:00:01\n- 10.244.1.0/24\n");
}

// Row "410 Gone with one node deleted and one added in the gap".
TEST_F(LeaseTableTest, ASnapshotAfterAGapRemovesWhatVanishedAndAddsWhatCame) {
  testing::ApplySnapshot(table, {a}, {});
  Changes();
  testing::ApplySnapshot(table, {b}, {});
  EXPECT_EQ(Changes(), "+ b 10.244.2.0/24 192.0.2.2 02:00:00:00:00:01\n- 10.244.1.0/24\n");
}

TEST_F(LeaseTableTest, AChangeThatIsTakenBackBeforeItWasSaidIsNone) {
  table.Upsert(a);
  Changes();
  table.Remove(a.node);
  table.Upsert(a);
  EXPECT_EQ(Changes(), "");
  table.Upsert(b);
  table.Remove(b.node);
  EXPECT_EQ(Changes(), "");
}

TEST_F(LeaseTableTest, WhatSinksDoNotSeeIsNoChangeForThem) {
  table.Upsert(a);
  Changes();
  a.created = 12345;
  EXPECT_TRUE(table.Upsert(a));
  EXPECT_EQ(Changes(), "");
}

TEST_F(LeaseTableTest, OfTwoWithOneKeyInASnapshotTheLaterCounts) {
  Lease later = a;
  later.v4->public_ip = testing::Address("192.0.2.77");
  testing::ApplySnapshot(table, {a, later}, {});
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(Changes(), "+ a 10.244.1.0/24 192.0.2.77 02:00:00:00:00:01\n");
}

TEST_F(LeaseTableTest, FamiliesAreIndependent) {
  a.v6 = HalfLease("fd00:10:244:1::/64", "2001:db8::1");
  table.Upsert(a);
  EXPECT_EQ(Changes(IpFamily::kV6), "+ a fd00:10:244:1::/64 2001:db8::1 02:00:00:00:00:01\n");
  EXPECT_EQ(Changes(IpFamily::kV4), "+ a 10.244.1.0/24 192.0.2.1 02:00:00:00:00:01\n");
  // Upstream's dual-stack defect: a change of the v4 half alone is ignored (3.5).
  a.v4->public_ip = testing::Address("192.0.2.77");
  table.Upsert(a);
  EXPECT_EQ(Changes(IpFamily::kV4), "+ a 10.244.1.0/24 192.0.2.77 02:00:00:00:00:01\n");
  EXPECT_EQ(Changes(IpFamily::kV6), "");
}

TEST_F(LeaseTableTest, SnapshotIsOrderedAndLeavesChangesAlone) {
  testing::ApplySnapshot(table, {b, a}, {});
  std::string text;
  for (const Peer& peer : table.Snapshot(IpFamily::kV4)) text += Text(peer) + "\n";
  EXPECT_EQ(text,
            "a 10.244.1.0/24 192.0.2.1 02:00:00:00:00:01\n"
            "b 10.244.2.0/24 192.0.2.2 02:00:00:00:00:01\n");
  EXPECT_EQ(table.TakeChanges(IpFamily::kV4).upserts.size(), 2u);
}

// ---- the contest for one subnet

// Row "node B gets CIDR of A, then A's Node is deleted: B's route stays".
TEST_F(LeaseTableTest, ASubnetThatMovedSurvivesTheOldNodesDeletion) {
  Lease taker = MakeLease("b", "10.244.1.0/24", "192.0.2.2", 200);
  table.Upsert(a);
  Changes();
  table.Upsert(taker);
  EXPECT_EQ(Changes(), "+ b 10.244.1.0/24 192.0.2.2 02:00:00:00:00:01\n");
  EXPECT_EQ(State(a), "overlap");
  EXPECT_THAT(Detail(a), HasSubstr("node \"b\" is newer"));
  EXPECT_EQ(State(taker), "usable");
  table.Remove(a.node);
  EXPECT_EQ(Changes(), "");
}

TEST_F(LeaseTableTest, TheLoserIsRestoredWhenTheWinnerGoes) {
  Lease winner = MakeLease("b", "10.244.1.0/24", "192.0.2.2", 200);
  testing::ApplySnapshot(table, {a, winner}, {});
  Changes();
  table.Remove(winner.node);
  EXPECT_EQ(Changes(), "+ a 10.244.1.0/24 192.0.2.1 02:00:00:00:00:01\n");
  EXPECT_EQ(State(a), "usable");
}

TEST_F(LeaseTableTest, TheOrderOfArrivalDoesNotMatter) {
  const Lease newer = MakeLease("b", "10.244.1.0/24", "192.0.2.2", 200);
  table.Upsert(newer);
  Changes();
  table.Upsert(a);
  EXPECT_EQ(Changes(), "");
  EXPECT_EQ(State(a), "overlap");
}

TEST_F(LeaseTableTest, ANewNodeThatPublishedHalfTakesNothingAway) {
  Lease half = MakeLease("b", "10.244.1.0/24", "192.0.2.2", 200);
  half.v4->vtep_mac.reset();
  table.Upsert(a);
  Changes();
  table.Upsert(half);
  EXPECT_EQ(Changes(), "");
  EXPECT_EQ(State(a), "usable");
  EXPECT_EQ(State(half), "missing-mac");
  half.v4->vtep_mac = testing::Mac("02:00:00:00:00:02");
  table.Upsert(half);
  EXPECT_EQ(Changes(), "+ b 10.244.1.0/24 192.0.2.2 02:00:00:00:00:02\n");
}

TEST_F(LeaseTableTest, ANodeThatWasMadeAgainUnderItsNameIsAnother) {
  Lease again = a;
  again.node.uid = "another";
  again.created = 200;
  again.v4->vtep_mac = testing::Mac("02:00:00:00:00:99");
  table.Upsert(a);
  table.Upsert(again);
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(Changes(), "+ a 10.244.1.0/24 192.0.2.1 02:00:00:00:00:99\n");
  table.Remove(a.node);
  EXPECT_EQ(Changes(), "");
}

TEST_F(LeaseTableTest, OfThreeClaimantsTheNextNewestFollows) {
  const Lease second = MakeLease("b", "10.244.1.0/24", "192.0.2.2", 200);
  const Lease third = MakeLease("c", "10.244.1.0/24", "192.0.2.3", 300);
  testing::ApplySnapshot(table, {a, second, third}, {});
  EXPECT_EQ(Changes(), "+ c 10.244.1.0/24 192.0.2.3 02:00:00:00:00:01\n");
  EXPECT_THAT(Detail(a), HasSubstr("node \"c\" is newer and holds the same subnet: delete node "
                                   "\"a\" if it is gone"));
  table.Remove(second.node);
  EXPECT_EQ(Changes(), "") << "a loser goes";
  table.Remove(third.node);
  EXPECT_EQ(Changes(), "+ a 10.244.1.0/24 192.0.2.1 02:00:00:00:00:01\n");
}

TEST_F(LeaseTableTest, ChangesAreOrderedBySubnet) {
  const Lease d = MakeLease("d", "10.244.10.0/24", "192.0.2.4");
  const Lease e = MakeLease("e", "10.244.9.0/24", "192.0.2.5");
  testing::ApplySnapshot(table, {d, e}, {});
  EXPECT_EQ(Changes(),
            "+ e 10.244.9.0/24 192.0.2.5 02:00:00:00:00:01\n"
            "+ d 10.244.10.0/24 192.0.2.4 02:00:00:00:00:01\n");
  testing::ApplySnapshot(table, {}, {});
  EXPECT_EQ(Changes(), "- 10.244.9.0/24\n- 10.244.10.0/24\n");
}

TEST_F(LeaseTableTest, AnUpdateThatLosesAHalfTakesOnlyThatHalfAway) {
  a.v6 = HalfLease("fd00:10:244:1::/64", "2001:db8::1");
  table.Upsert(a);
  Changes(IpFamily::kV4), Changes(IpFamily::kV6);
  a.v6.reset();
  EXPECT_TRUE(table.Upsert(a));
  EXPECT_EQ(Changes(IpFamily::kV6), "- fd00:10:244:1::/64\n");
  EXPECT_EQ(Changes(IpFamily::kV4), "");
}

// ---- states

TEST_F(LeaseTableTest, WithoutANameOfOurOwnNoLeaseIsOurs) {
  OwnIdentity nameless = Us();
  nameless.node_name.clear();
  table.SetOwn(nameless);
  Lease anonymous = a;
  anonymous.node = {"", ""};
  table.Upsert(anonymous);
  EXPECT_EQ(State(anonymous), "usable");
}

TEST_F(LeaseTableTest, RowsOfANodeAreItsHalvesInOrder) {
  a.v6 = HalfLease("fd00:10:244:1::/64", "2001:db8::1");
  a.v6->vtep_mac.reset();
  testing::ApplySnapshot(table, {a, b}, {});
  const auto rows = table.RowsOf(a.node);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].family, IpFamily::kV4);
  EXPECT_EQ(rows[0].state, PeerState::kUsable);
  EXPECT_EQ(rows[0].detail, "") << "what is well needs no words";
  EXPECT_EQ(rows[1].family, IpFamily::kV6);
  EXPECT_EQ(rows[1].state, PeerState::kMissingMac);
  EXPECT_EQ(table.Rows().size(), 3u);
  EXPECT_THAT(table.RowsOf({"nobody", ""}), IsEmpty());
}

TEST_F(LeaseTableTest, Ipv6IsJudgedByItsOwnSubnetAndNetwork) {
  const Lease ours = MakeLease("a", "fd00:10:244::/72", "2001:db8::1");
  const Lease outside = MakeLease("b", "fd99::/64", "2001:db8::2");
  testing::ApplySnapshot(table, {ours, outside}, {});
  EXPECT_EQ(State(ours, IpFamily::kV6), "overlap");
  EXPECT_THAT(Detail(ours), HasSubstr("overlaps our own subnet fd00:10:244::/64"));
  EXPECT_EQ(State(outside, IpFamily::kV6), "outside-network");
  EXPECT_THAT(Detail(outside), HasSubstr("outside Network fd00:10:244::/48"));
}

// The states that stop a lease come before those that only remark on it.
TEST_F(LeaseTableTest, OfSeveralFaultsTheGravestIsTheState) {
  a.backend_type = "host-gw";
  a.v4->public_ip.reset();
  table.Upsert(a);
  EXPECT_EQ(State(a), "foreign-backend");
  b.v4->vtep_mac.reset();
  b.v4->vni = 1;
  table.Upsert(b);
  EXPECT_EQ(State(b), "missing-mac");
  Lease outside = MakeLease("c", "192.168.1.0/24", "192.0.2.3");
  Lease same_ip = MakeLease("d", "192.168.2.0/24", "192.0.2.3");
  table.Upsert(outside);
  table.Upsert(same_ip);
  EXPECT_EQ(State(outside), "duplicate-public-ip");
}

TEST_F(LeaseTableTest, APeerUnderOurOwnPublicIpIsNamed) {
  const Lease own = MakeLease("us", "10.244.0.0/24", "192.0.2.1");
  testing::ApplySnapshot(table, {own, a}, {});
  EXPECT_EQ(State(a), "duplicate-public-ip");
  EXPECT_EQ(State(own), "self");
}

TEST_F(LeaseTableTest, ALeaseThatIsNotUsedNestsWithNothing) {
  Lease wide = MakeLease("wide", "10.244.0.0/17", "192.0.2.3");
  wide.v4->subnet = Prefix("10.244.128.0/17");
  wide.v4->vtep_mac.reset();
  a.v4->subnet = Prefix("10.244.129.0/24");
  testing::ApplySnapshot(table, {a, wide}, {});
  EXPECT_EQ(State(a), "usable");
  wide.v4->vtep_mac = testing::Mac("02:00:00:00:00:03");
  table.Upsert(wide);
  EXPECT_EQ(State(a), "nested-subnet");
  EXPECT_THAT(Detail(wide), HasSubstr("nested with 10.244.129.0/24 of node \"a\""));
}

TEST_F(LeaseTableTest, OurOwnLeaseIsSelfWhateverItHolds) {
  const Lease own = MakeLease("us", "10.244.0.0/24", "192.0.2.9");
  table.Upsert(own);
  EXPECT_EQ(State(own), "self");
  EXPECT_EQ(Changes(), "");
}

struct StateRow {
  const char* description;
  void (*change)(Lease&);
  const char* state;
  const char* detail;  // part of it
};

const StateRow kStateRows[] = {
    {"as published", [](Lease&) {}, "usable", ""},
    {"backend in capitals", [](Lease& l) { l.backend_type = "VXLAN"; }, "usable", ""},
    {"another backend", [](Lease& l) { l.backend_type = "host-gw"; }, "foreign-backend",
     "its backend is \"host-gw\", ours \"vxlan\""},
    {"no backend", [](Lease& l) { l.backend_type = ""; }, "foreign-backend", "its backend is \"\""},
    {"no public IP", [](Lease& l) { l.v4->public_ip.reset(); }, "missing-public-ip",
     "published no public IP"},
    {"no MAC", [](Lease& l) { l.v4->vtep_mac.reset(); }, "missing-mac", "published no VTEP MAC"},
    {"nothing in backend-data",
     [](Lease& l) {
       l.v4->vtep_mac.reset();
       l.v4->vni.reset();
     },
     "missing-mac", ""},
    {"another VNI", [](Lease& l) { l.v4->vni = 1; }, "vni-mismatch",
     "encapsulates under VNI 1, we under 4096"},
    {"old Linux flannel: no VNI", [](Lease& l) { l.v4->vni.reset(); }, "vni-mismatch",
     "Linux flannel before v0.14.0"},
    {"our very subnet", [](Lease& l) { l.v4->subnet = Prefix("10.244.0.0/24"); }, "overlap",
     "overlaps our own subnet 10.244.0.0/24"},
    {"inside our subnet", [](Lease& l) { l.v4->subnet = Prefix("10.244.0.128/25"); }, "overlap",
     "our own"},
    {"around our subnet", [](Lease& l) { l.v4->subnet = Prefix("10.244.0.0/20"); }, "overlap",
     "our own"},
    {"outside Network", [](Lease& l) { l.v4->subnet = Prefix("192.168.7.0/24"); },
     "outside-network", "outside Network 10.244.0.0/16"},
};

TEST_F(LeaseTableTest, StatesOfOneLease) {
  for (const StateRow& row : kStateRows) {
    SCOPED_TRACE(row.description);
    LeaseTable alone(Us());
    Lease lease = a;
    row.change(lease);
    alone.Upsert(lease);
    const auto rows = alone.Rows();
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(Name(rows[0].state), row.state);
    EXPECT_THAT(rows[0].detail, HasSubstr(row.detail));
    EXPECT_EQ(alone.TakeChanges(IpFamily::kV4).upserts.size(), IsUsable(rows[0].state) ? 1u : 0u);
  }
}

TEST_F(LeaseTableTest, BackendsOtherThanVxlanNeedNeitherMacNorVni) {
  OwnIdentity own = Us();
  own.backend_type = "host-gw";
  table.SetOwn(own);
  a.backend_type = "host-gw";
  a.v4->vtep_mac.reset();
  a.v4->vni.reset();
  table.Upsert(a);
  EXPECT_EQ(State(a), "usable");
}

TEST_F(LeaseTableTest, NestedSubnetsAreBothUsed) {
  const Lease wide = MakeLease("wide", "10.244.0.0/17", "192.0.2.3");
  OwnIdentity own = Us();
  own.v4.subnet = Prefix("10.244.200.0/24");
  table.SetOwn(own);
  testing::ApplySnapshot(table, {a, wide}, {});
  EXPECT_EQ(State(a), "nested-subnet");
  EXPECT_EQ(State(wide), "nested-subnet");
  EXPECT_THAT(Detail(a), HasSubstr("nested with 10.244.0.0/17 of node \"wide\""));
  EXPECT_EQ(table.Snapshot(IpFamily::kV4).size(), 2u);
  table.Remove(wide.node);
  EXPECT_EQ(State(a), "usable");
}

TEST_F(LeaseTableTest, ASharedPublicIpIsNamedAndUsed) {
  b.v4->public_ip = a.v4->public_ip;
  testing::ApplySnapshot(table, {a, b}, {});
  EXPECT_EQ(State(a), "duplicate-public-ip");
  EXPECT_EQ(State(b), "duplicate-public-ip");
  EXPECT_THAT(Detail(b), HasSubstr("2 leases name public IP 192.0.2.1"));
  EXPECT_EQ(table.Snapshot(IpFamily::kV4).size(), 2u);
  table.Remove(b.node);
  EXPECT_EQ(State(a), "usable");
}

TEST_F(LeaseTableTest, AFamilyThatALeaseDoesNotHaveHasNoState) {
  table.Upsert(a);
  EXPECT_EQ(State(a, IpFamily::kV6), "none");
  EXPECT_EQ(State(b), "none");
}

TEST_F(LeaseTableTest, CountsFollowTheLeases) {
  b.v4->vni = 1;
  testing::ApplySnapshot(table, {a, b}, {});
  EXPECT_EQ(table.Counts(IpFamily::kV4)[static_cast<std::size_t>(PeerState::kUsable)], 1u);
  EXPECT_EQ(table.Counts(IpFamily::kV4)[static_cast<std::size_t>(PeerState::kVniMismatch)], 1u);
  table.Remove(b.node);
  EXPECT_EQ(table.Counts(IpFamily::kV4)[static_cast<std::size_t>(PeerState::kVniMismatch)], 0u);
}

// ---- snapshots told node by node

TEST_F(LeaseTableTest, WithinASnapshotNothingGoesBeforeItsEnd) {
  testing::ApplySnapshot(table, {a}, {});
  Changes();
  table.BeginSnapshot();
  table.Upsert(b);
  EXPECT_EQ(Changes(), "+ b 10.244.2.0/24 192.0.2.2 02:00:00:00:00:01\n");
  EXPECT_TRUE(table.EndSnapshot());
  EXPECT_EQ(Changes(), "- 10.244.1.0/24\n");
}

TEST_F(LeaseTableTest, ASnapshotBegunAgainCountsAnew) {
  testing::ApplySnapshot(table, {a}, {});
  table.BeginSnapshot();
  table.Upsert(a);
  table.Upsert(b);
  table.BeginSnapshot();
  EXPECT_EQ(table.size(), 2u) << "what the one that was cut told is true";
  table.Upsert(b);
  EXPECT_TRUE(table.EndSnapshot());
  EXPECT_EQ(State(a), "none");
  EXPECT_EQ(State(b), "usable");
}

TEST_F(LeaseTableTest, WhatIsToldAndRemovedWithinASnapshotIsGone) {
  testing::ApplySnapshot(table, {a}, {});
  table.BeginSnapshot();
  table.Upsert(a);
  EXPECT_TRUE(table.Remove(a.node));
  EXPECT_FALSE(table.EndSnapshot());
  EXPECT_EQ(table.size(), 0u);
}

TEST_F(LeaseTableTest, AnEndWithoutABeginDeletesNothing) {
  table.Upsert(a);
  EXPECT_FALSE(table.EndSnapshot());
  EXPECT_FALSE(table.EndSnapshot());
  EXPECT_EQ(State(a), "usable");
}

TEST_F(LeaseTableTest, ANodeThatBecomesReadableWithinASnapshotReplacesItsNamesake) {
  testing::ApplySnapshot(table, {a}, {});
  Lease again = MakeLease("a", "10.244.9.0/24", "192.0.2.1", 200);
  again.node.uid = "another";
  table.BeginSnapshot();
  table.Refuse({"a", "broken"});
  table.Upsert(again);
  table.EndSnapshot();
  EXPECT_EQ(State(a), "none");
  EXPECT_EQ(State(again), "usable");
  EXPECT_THAT(table.Refused(), IsEmpty());
}

// ---- who we are

TEST_F(LeaseTableTest, AnotherIdentityJudgesEveryLeaseAnew) {
  testing::ApplySnapshot(table, {a, b}, {});
  Changes();
  OwnIdentity own = Us();
  own.v4.subnet = Prefix("10.244.1.0/24");
  table.SetOwn(own);
  EXPECT_EQ(Changes(), "- 10.244.1.0/24\n");
  own.vni = *Vni::Of(7);
  table.SetOwn(own);
  EXPECT_EQ(Changes(), "- 10.244.2.0/24\n");
  EXPECT_EQ(State(b), "vni-mismatch");
  table.SetOwn(Us());
  EXPECT_EQ(table.TakeChanges(IpFamily::kV4).upserts.size(), 2u);
}

// Who asks "has anything changed since 7?" must be told of everything that Rows and Refused show.
TEST_F(LeaseTableTest, TheGenerationMovesWithEveryVisibleChangeAndWithNoOther) {
  struct Row {
    const char* description;
    std::function<void(LeaseTable&)> act;
    bool moves;
  };
  const Row rows[] = {
      {"a new lease", [&](LeaseTable& t) { t.Upsert(a); }, true},
      {"the same lease", [&](LeaseTable& t) { t.Upsert(a); }, false},
      {"a snapshot of the same", [&](LeaseTable& t) { testing::ApplySnapshot(t, {a}, {}); }, false},
      {"a refusal",
       [&](LeaseTable& t) {
         t.Refuse({"a", "x"});
       },
       true},
      {"the same refusal",
       [&](LeaseTable& t) {
         t.Refuse({"a", "x"});
       },
       false},
      {"another reason",
       [&](LeaseTable& t) {
         t.Refuse({"a", "y"});
       },
       true},
      {"the same in a snapshot",
       [&](LeaseTable& t) {
         testing::ApplySnapshot(t, {a}, {{"a", "y"}});
       },
       false},
      {"the lease as before ends the refusal", [&](LeaseTable& t) { t.Upsert(a); }, true},
      {"a node that nobody knew goes",
       [&](LeaseTable& t) {
         t.Remove({"z", ""});
       },
       false},
      {"a node is refused before it had a lease",
       [&](LeaseTable& t) {
         t.Refuse({"z", "x"});
       },
       true},
      {"and goes",
       [&](LeaseTable& t) {
         t.Remove({"z", ""});
       },
       true},
      {"who we are, again", [&](LeaseTable& t) { t.SetOwn(Us()); }, false},
      {"another are we", [&](LeaseTable& t) { t.SetOwn({}); }, true},
      {"a snapshot without the lease", [&](LeaseTable& t) { testing::ApplySnapshot(t, {}, {}); },
       true},
      {"nothing twice", [&](LeaseTable& t) { testing::ApplySnapshot(t, {}, {}); }, false},
      {"a snapshot that only refuses",
       [&](LeaseTable& t) {
         testing::ApplySnapshot(t, {}, {{"q", "x"}});
       },
       true},
      {"a snapshot in which it is well", [&](LeaseTable& t) { testing::ApplySnapshot(t, {}, {}); },
       true},
  };
  for (const Row& row : rows) {
    const std::uint64_t before = table.generation();
    row.act(table);
    EXPECT_EQ(table.generation() != before, row.moves) << row.description;
    EXPECT_GE(table.generation(), before) << row.description;
  }
}

// ---- refused nodes

TEST_F(LeaseTableTest, RemovingANodeThatWasOnlyRefusedIsNoRemovalOfALease) {
  table.Refuse({"z", "broken"});
  EXPECT_FALSE(table.Remove({"z", "uid-z"}));
  EXPECT_THAT(table.Refused(), IsEmpty());
}

TEST_F(LeaseTableTest, RefusedNodesAreOrderedByName) {
  testing::ApplySnapshot(table, {}, {{"c", "3"}, {"a", "1"}, {"b", "2"}});
  EXPECT_EQ(table.Refused(), (std::vector<RefusedNode>{{"a", "1"}, {"b", "2"}, {"c", "3"}}));
}

TEST_F(LeaseTableTest, ARefusedNodeKeepsTheLeaseItHad) {
  testing::ApplySnapshot(table, {a, b}, {});
  Changes();
  table.Refuse({"a", "broken"});
  EXPECT_EQ(Changes(), "");
  testing::ApplySnapshot(table, {b}, {{"a", "broken"}});
  EXPECT_EQ(Changes(), "");
  EXPECT_EQ(table.Refused(), (std::vector<RefusedNode>{{"a", "broken"}}));
}

TEST_F(LeaseTableTest, ARefusedNodeThatGoesTakesItsLeaseAlong) {
  testing::ApplySnapshot(table, {a}, {});
  table.Refuse({"a", "broken"});
  Changes();
  testing::ApplySnapshot(table, {}, {});
  EXPECT_EQ(Changes(), "- 10.244.1.0/24\n");
  EXPECT_THAT(table.Refused(), IsEmpty());
}

TEST_F(LeaseTableTest, AGoodLeaseEndsTheRefusal) {
  table.Refuse({"a", "broken"});
  EXPECT_EQ(table.Refused().size(), 1u);
  table.Upsert(a);
  EXPECT_THAT(table.Refused(), IsEmpty());
  table.Refuse({"a", "broken"});
  table.Remove(a.node);
  EXPECT_THAT(table.Refused(), IsEmpty());
}

TEST_F(LeaseTableTest, ADuplicateNameIsRefusedBesideTheLeaseThatCounts) {
  Lease without_uid = a;
  without_uid.node.uid.clear();
  testing::ApplySnapshot(table, {a}, {});
  Changes();
  testing::ApplySnapshot(table, {without_uid}, {{"a", "twice"}});
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(Changes(), "");
}

// A file may hold a name twice, and be read again and again.
TEST_F(LeaseTableTest, ARefusalBesideALeaseIsNoNewsInTheNextSnapshot) {
  testing::ApplySnapshot(table, {a}, {{"a", "twice"}});
  const std::uint64_t generation = table.generation();
  testing::ApplySnapshot(table, {a}, {{"a", "twice"}});
  EXPECT_EQ(table.generation(), generation);
  EXPECT_EQ(table.refused_total(), 1u);
}

TEST_F(LeaseTableTest, RefusalsAreCountedOnceEach) {
  table.Refuse({"x", "broken"});
  table.Refuse({"x", "broken"});
  testing::ApplySnapshot(table, {}, {{"x", "broken"}});
  EXPECT_EQ(table.refused_total(), 1u);
  table.Refuse({"x", "broken otherwise"});
  testing::ApplySnapshot(table, {}, {{"y", "broken"}});
  EXPECT_EQ(table.refused_total(), 3u);
}

}  // namespace
}  // namespace weft::lease
