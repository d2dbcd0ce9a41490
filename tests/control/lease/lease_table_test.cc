// SPDX-License-Identifier: Apache-2.0
#include "control/lease/lease_table.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <vector>

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
  std::string Changes(IpFamily family = IpFamily::kV4) { return Text(table.DrainChanges(family)); }
  std::string State(const Lease& lease, IpFamily family = IpFamily::kV4) const {
    const auto state = testing::StateOf(table, lease.node, family);
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

TEST_F(LeaseTableTest, UpsertAndRemoveAreReportedOnce) {
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

TEST_F(LeaseTableTest, ThePeerOfASubnetIsFound) {
  testing::ApplySnapshot(table, {a, b}, {});
  const std::vector<Peer> all = table.Snapshot(IpFamily::kV4);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(table.PeerAt(all[1].subnet), all[1]);
  EXPECT_EQ(table.PeerAt(Prefix("10.244.0.0/16")), Peer());
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
TEST_F(LeaseTableTest, ASnapshotAfterAGapRemovesOldAndAddsNewLeases) {
  testing::ApplySnapshot(table, {a}, {});
  Changes();
  testing::ApplySnapshot(table, {b}, {});
  EXPECT_EQ(Changes(), "+ b 10.244.2.0/24 192.0.2.2 02:00:00:00:00:01\n- 10.244.1.0/24\n");
}

TEST_F(LeaseTableTest, AChangeRevertedBeforeItsReportIsNotReported) {
  table.Upsert(a);
  Changes();
  table.Remove(a.node);
  table.Upsert(a);
  EXPECT_EQ(Changes(), "");
  table.Upsert(b);
  table.Remove(b.node);
  EXPECT_EQ(Changes(), "");
}

TEST_F(LeaseTableTest, ChangesThatSinksDoNotUseAreNotReported) {
  table.Upsert(a);
  Changes();
  a.created = 12345;
  EXPECT_TRUE(table.Upsert(a));
  EXPECT_EQ(Changes(), "");
}

TEST_F(LeaseTableTest, OfTwoWithOneKeyInASnapshotTheLaterIsUsed) {
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

TEST_F(LeaseTableTest, SnapshotIsOrderedAndKeepsPendingChanges) {
  testing::ApplySnapshot(table, {b, a}, {});
  std::string text;
  for (const Peer& peer : table.Snapshot(IpFamily::kV4)) text += Text(peer) + "\n";
  EXPECT_EQ(text,
            "a 10.244.1.0/24 192.0.2.1 02:00:00:00:00:01\n"
            "b 10.244.2.0/24 192.0.2.2 02:00:00:00:00:01\n");
  EXPECT_EQ(table.DrainChanges(IpFamily::kV4).upserts.size(), 2u);
}

// ---- the contest for one subnet

// Row "node B gets CIDR of A, then A's Node is deleted: B's route stays".
TEST_F(LeaseTableTest, AMovedSubnetIsTheNewNodesOnceTheOldNodeIsDeleted) {
  Lease taker = MakeLease("b", "10.244.1.0/24", "192.0.2.2", 200);
  table.Upsert(a);
  Changes();
  table.Upsert(taker);
  EXPECT_EQ(Changes(), "") << "the one in use stays";
  EXPECT_EQ(State(a), "usable");
  EXPECT_EQ(State(taker), "overlap");
  EXPECT_THAT(
      Detail(taker),
      HasSubstr("node \"b\" has the same subnet as node \"a\", which is in use: give one of "
                "them another podCIDR; delete a Node only if its host no longer exists"));
  table.Remove(a.node);
  EXPECT_EQ(Changes(), "+ b 10.244.1.0/24 192.0.2.2 02:00:00:00:00:01\n");
  EXPECT_EQ(State(taker), "usable");
}

TEST_F(LeaseTableTest, TheWaitingLeaseIsUsedWhenTheHolderTakesAnotherSubnet) {
  const Lease waits = MakeLease("b", "10.244.1.0/24", "192.0.2.2", 200);
  testing::ApplySnapshot(table, {a, waits}, {});
  Changes();
  a.v4->subnet = Prefix("10.244.9.0/24");
  table.Upsert(a);
  EXPECT_EQ(Changes(),
            "+ b 10.244.1.0/24 192.0.2.2 02:00:00:00:00:01\n"
            "+ a 10.244.9.0/24 192.0.2.1 02:00:00:00:00:01\n");
}

// No lease is in use yet: the older Node wins, and a Node cannot choose its own age.
TEST_F(LeaseTableTest, BeforeTheFirstUpdateTheOlderWinsInAnyOrderOfArrival) {
  const Lease newer = MakeLease("0", "10.244.1.0/24", "192.0.2.2", 200);
  for (const bool older_first : {true, false}) {
    LeaseTable fresh(Us());
    for (const Lease& each : older_first ? std::vector{a, newer} : std::vector{newer, a})
      fresh.Upsert(each);
    EXPECT_EQ(Text(fresh.DrainChanges(IpFamily::kV4)),
              "+ a 10.244.1.0/24 192.0.2.1 02:00:00:00:00:01\n");
  }
}

TEST_F(LeaseTableTest, AnIncompleteNewNodeTakesNothing) {
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
  EXPECT_EQ(Changes(), "");
  EXPECT_EQ(State(half), "overlap");
}

TEST_F(LeaseTableTest, ARecreatedNodeTakesItsOwnPlace) {
  Lease again = a;
  again.node.uid = "another";
  again.v4->vtep_mac = testing::Mac("02:00:00:00:00:99");
  for (const std::int64_t created : {200, 100}) {
    again.created = created;
    table.Upsert(a);
    Changes();
    table.Upsert(again);
    EXPECT_EQ(table.size(), 2u);
    EXPECT_EQ(Changes(), "+ a 10.244.1.0/24 192.0.2.1 02:00:00:00:00:99\n");
    EXPECT_EQ(State(a), "overlap");
    table.Upsert(b);
    table.Remove(b.node);
    EXPECT_EQ(State(a), "overlap") << "also when another goes";
    table.Remove(a.node);
    EXPECT_EQ(Changes(), "");
    table.Remove(again.node);
  }
  table.Upsert(a);
  again.created = 50;
  table.Upsert(again);
  EXPECT_EQ(State(again), "overlap") << "it is the former self";
}

TEST_F(LeaseTableTest, AUidOfTheBytesOfAUuidIsAnotherOne) {
  a.node.uid = "30313233-3435-3637-3839-616263646566";
  Lease other = a;
  other.node.uid = "0123456789abcdef";
  table.Upsert(a);
  table.Upsert(other);
  EXPECT_EQ(table.size(), 2u);
}

TEST_F(LeaseTableTest, OfThreeClaimantsTheNextOldestFollows) {
  const Lease second = MakeLease("b", "10.244.1.0/24", "192.0.2.2", 200);
  const Lease third = MakeLease("c", "10.244.1.0/24", "192.0.2.3", 300);
  testing::ApplySnapshot(table, {third, a, second}, {});
  EXPECT_EQ(Changes(), "+ a 10.244.1.0/24 192.0.2.1 02:00:00:00:00:01\n");
  table.Remove(second.node);
  EXPECT_EQ(Changes(), "") << "a waiting one is removed";
  table.Upsert(second);
  table.Remove(a.node);
  EXPECT_EQ(Changes(), "+ b 10.244.1.0/24 192.0.2.2 02:00:00:00:00:01\n");
  EXPECT_THAT(Detail(third), HasSubstr("has the same subnet as node \"b\""));
}

// A peer that publishes again (its flanneld was restarted) must not lose its place.
TEST_F(LeaseTableTest, AChangeOfTheHolderAdmitsNoNewcomer) {
  const Lease thief = MakeLease("thief", "10.244.1.0/24", "192.0.2.66", 1);
  table.Upsert(a);
  Changes();
  table.Upsert(thief);
  a.v4->vtep_mac = testing::Mac("02:00:00:00:00:77");
  table.Upsert(a);
  EXPECT_EQ(Changes(), "+ a 10.244.1.0/24 192.0.2.1 02:00:00:00:00:77\n");
  EXPECT_EQ(State(thief), "overlap");
}

// ---- conflicting Nodes

struct WordRow {
  const char* description;
  const char* subnet;
  const char* public_ip;
  const char* state;
  const char* detail;
};

// Node x publishes this while a (10.244.1.0/24 at 10.99.0.1) and b (10.244.2.0/24 at 192.0.2.2) are
// in use, and we have 10.244.0.0/24 in a Network of 10.0.0.0/8.
const WordRow kWords[] = {
    {"another's podCIDR", "10.244.1.0/24", "192.0.2.66", "overlap",
     "the same subnet as node \"a\""},
    {"the half of another's podCIDR", "10.244.1.0/25", "192.0.2.66", "overlap",
     "lies inside 10.244.1.0/24 of node \"a\", which is in use"},
    {"one address of another's podCIDR", "10.244.1.2/32", "192.0.2.66", "overlap", "lies inside"},
    {"a podCIDR around other Nodes'", "10.244.2.0/23", "192.0.2.66", "nested-subnet",
     "of node \"b\""},
    {"a podCIDR around everyone's", "10.244.0.0/16", "192.0.2.66", "overlap", "our own subnet"},
    {"a podCIDR around another's address", "10.99.0.0/24", "192.0.2.66", "overlap",
     "contains public IP 10.99.0.1 of node \"a\", which is an address of that Node"},
    {"another's address", "10.244.9.0/24", "192.0.2.2", "duplicate-public-ip", ""},
    {"an address in another's podCIDR", "10.244.9.0/24", "10.244.1.7", "bad-public-ip",
     "its public IP 10.244.1.7 lies in 10.244.1.0/24 of node \"a\""},
    {"an address in our own subnet", "10.244.9.0/24", "10.244.0.7", "bad-public-ip",
     "lies in our own subnet 10.244.0.0/24"},
    {"an address in its own podCIDR", "10.244.9.0/24", "10.244.9.1", "bad-public-ip",
     "lies in the node's own podCIDR"},
    {"a loopback address", "10.244.9.0/24", "127.0.0.1", "bad-public-ip",
     "is not an address of a node"},
    {"an address of this network", "10.244.9.0/24", "0.0.0.7", "bad-public-ip", ""},
    {"an address for multicast", "10.244.9.0/24", "224.0.0.1", "bad-public-ip", ""},
};

TEST_F(LeaseTableTest, NoNodeCanHaveAnotherOneDropped) {
  OwnIdentity own = Us();
  own.v4.network = Prefix("10.0.0.0/8");
  a.v4->public_ip = testing::Address("10.99.0.1");
  a.v4->node_address = true;
  for (const WordRow& row : kWords) {
    SCOPED_TRACE(row.description);
    LeaseTable mine(own);
    testing::ApplySnapshot(mine, {a, b}, {});
    mine.DrainChanges(IpFamily::kV4);
    // Older than all, and first by name: neither helps.
    Lease x = MakeLease("0", "10.244.200.0/24", "192.0.2.66", 0);
    mine.Upsert(x);
    mine.DrainChanges(IpFamily::kV4);
    x.v4->subnet = Prefix(row.subnet);
    x.v4->public_ip = testing::Address(row.public_ip);
    x.v4->vtep_mac = a.v4->vtep_mac;
    mine.Upsert(x);
    EXPECT_EQ(Name(*testing::StateOf(mine, x.node, IpFamily::kV4)), row.state);
    EXPECT_THAT(mine.RowsOf(x.node)[0].detail, HasSubstr(row.detail));
    for (const IpPrefix& gone : mine.DrainChanges(IpFamily::kV4).removals)
      EXPECT_EQ(gone, Prefix("10.244.200.0/24"));
    for (const Lease& other : {a, b}) {
      EXPECT_TRUE(IsUsable(*testing::StateOf(mine, other.node, IpFamily::kV4))) << other.node.name;
    }
    // Its earlier lease is forgotten with it.
    mine.Remove(x.node);
    EXPECT_EQ(testing::StateOf(mine, a.node, IpFamily::kV4), PeerState::kUsable);
    EXPECT_EQ(testing::StateOf(mine, b.node, IpFamily::kV4), PeerState::kUsable);
  }
}

// As after our start: no lease is in use yet. A Node whose address lies in a pod subnet loses to
// the subnet's owner; a Node whose podCIDR is a part of another's loses to that one.
TEST_F(LeaseTableTest, ReportedTogetherTheAddressAndTheSmallerSubnetLose) {
  OwnIdentity own = Us();
  own.v4.network = Prefix("10.0.0.0/8");
  Lease address = MakeLease("address", "10.244.8.0/24", "10.244.1.7", 1);
  Lease part = MakeLease("part", "10.244.2.0/25", "192.0.2.9", 1);
  const std::vector<Lease> all = {a, b, address, part};
  for (const bool forward : {true, false}) {
    LeaseTable mine(own);
    auto order = all;
    if (!forward) std::ranges::reverse(order);
    for (const Lease& each : order) mine.Upsert(each);
    EXPECT_EQ(Text(mine.DrainChanges(IpFamily::kV4)),
              "+ a 10.244.1.0/24 192.0.2.1 02:00:00:00:00:01\n"
              "+ b 10.244.2.0/24 192.0.2.2 02:00:00:00:00:01\n");
    EXPECT_EQ(Name(*testing::StateOf(mine, address.node, IpFamily::kV4)), "bad-public-ip");
    EXPECT_EQ(Name(*testing::StateOf(mine, part.node, IpFamily::kV4)), "overlap");
  }
}

// As long as our subnet is not known, no size is that of a part.
TEST_F(LeaseTableTest, APartOfAnotherSubnetLosesOnceOursIsKnown) {
  OwnIdentity own = Us();
  own.v4.subnet.reset();
  LeaseTable mine(own);
  const Lease part = MakeLease("part", "10.244.2.0/25", "192.0.2.9", 1);
  for (const Lease& each : {b, part}) mine.Upsert(each);
  EXPECT_EQ(testing::StateOf(mine, part.node, IpFamily::kV4), PeerState::kNestedSubnet);
  mine.SetOwn(Us());
  EXPECT_EQ(testing::StateOf(mine, part.node, IpFamily::kV4), PeerState::kOverlap);
  EXPECT_EQ(testing::StateOf(mine, b.node, IpFamily::kV4), PeerState::kUsable);
}

// Where Network contains the nodes' addresses. A podCIDR around an address that a Node has waits;
// an address that its Node does not have is not used within a podCIDR in use. Nothing else
// conflicts.
TEST_F(LeaseTableTest, NodesDecideAboutAddressesInAnyOrderAndAfterARestart) {
  OwnIdentity own = Us();
  own.v4.network = Prefix("10.0.0.0/8");
  const auto node = [](const char* name, const char* subnet, const char* public_ip, bool its_own) {
    Lease lease = MakeLease(name, subnet, public_ip);
    lease.v4->node_address = its_own;
    return lease;
  };
  std::vector<Lease> all = {
      node("a", "10.244.1.0/24", "10.0.5.1", true),
      node("around", "10.0.5.0/24", "192.0.2.9", true),    // around a's address
      node("inside", "10.244.2.0/24", "10.0.5.9", false),  // inside what is not used
      node("new", "10.244.9.0/24", "10.0.5.2", true),
      node("evil", "10.244.3.0/24", "10.244.9.77", false),   // inside new's
      node("beyond", "10.244.4.0/24", "10.244.3.4", false),  // inside evil's, which is not used
      node("nat", "10.0.6.0/24", "203.0.113.7", false)};
  constexpr char kTable[] =
      "+ a 10.244.1.0/24 10.0.5.1\n+ beyond 10.244.4.0/24 10.244.3.4\n+ inside 10.244.2.0/24 "
      "10.0.5.9\n+ nat 10.0.6.0/24 203.0.113.7\n+ new 10.244.9.0/24 10.0.5.2\n";
  const auto table_of = [](const LeaseTable& mine) {
    std::vector<std::string> lines;
    for (const Peer& peer : mine.Snapshot(IpFamily::kV4))
      lines.push_back("+ " + peer.node + " " + peer.subnet.ToString() + " " +
                      peer.public_ip.ToString() + "\n");
    std::ranges::sort(lines);
    std::string text;
    for (const std::string& line : lines) text += line;
    return text;
  };
  std::ranges::sort(all, {}, &Lease::node);
  do {
    LeaseTable running(own), restarted(own);
    for (const Lease& each : all) {
      running.Upsert(each);
      running.DrainChanges(IpFamily::kV4);  // in use
      restarted.Upsert(each);
    }
    ASSERT_EQ(table_of(running), kTable) << all[0].node.name << " first";
    ASSERT_EQ(table_of(restarted), kTable) << all[0].node.name << " first, reported together";
    running.Remove(all[0].node);
    running.Upsert(all[0]);
    ASSERT_EQ(table_of(running), kTable) << all[0].node.name << " again";
  } while (std::ranges::next_permutation(all, {}, &Lease::node).found);
}

// Nodes get a podCIDR around the addresses of those in use.
TEST_F(LeaseTableTest, APodCidrAroundFiftyNodesTakesNothingFromThem) {
  OwnIdentity own = Us();
  own.v4.network = Prefix("10.0.0.0/8");
  for (const bool restarted : {false, true}) {
    LeaseTable mine(own);
    for (int i = 1; i <= 50; ++i) {
      Lease lease = MakeLease("n" + std::to_string(i), "10.244." + std::to_string(i) + ".0/24",
                              "10.0.5." + std::to_string(i), 100);
      lease.v4->node_address = true;
      mine.Upsert(lease);
    }
    if (!restarted) mine.DrainChanges(IpFamily::kV4);
    const Lease late = MakeLease("late", "10.0.5.0/24", "192.0.2.9", 200);
    mine.Upsert(late);
    const PeerChanges changes = mine.DrainChanges(IpFamily::kV4);
    EXPECT_THAT(changes.removals, IsEmpty());
    EXPECT_EQ(changes.upserts.size(), restarted ? 50u : 0u);
    EXPECT_EQ(mine.Counts(IpFamily::kV4)[static_cast<std::size_t>(PeerState::kUsable)], 50u);
    EXPECT_THAT(mine.RowsOf(late.node)[0].detail, HasSubstr("contains public IP 10.0.5.1 of"));
  }
}

// Whether a Node has its address may change, as when the kubelet reports it late.
TEST_F(LeaseTableTest, AnAddressThatTheNodeReportsLateIsUsedThen) {
  OwnIdentity own = Us();
  own.v4.network = Prefix("10.0.0.0/8");
  LeaseTable mine(own);
  const Lease around = MakeLease("around", "10.0.5.0/24", "192.0.2.9");
  Lease inside = MakeLease("inside", "10.244.1.0/24", "10.0.5.7");
  for (const Lease& each : {around, inside}) mine.Upsert(each);
  EXPECT_EQ(Text(mine.DrainChanges(IpFamily::kV4)),
            "+ around 10.0.5.0/24 192.0.2.9 02:00:00:00:00:01\n");
  inside.v4->node_address = true;
  mine.Upsert(inside);
  EXPECT_EQ(Text(mine.DrainChanges(IpFamily::kV4)),
            "+ inside 10.244.1.0/24 10.0.5.7 02:00:00:00:00:01\n- 10.0.5.0/24\n");
  inside.v4->node_address = false;
  mine.Upsert(inside);
  EXPECT_EQ(Text(mine.DrainChanges(IpFamily::kV4)),
            "+ around 10.0.5.0/24 192.0.2.9 02:00:00:00:00:01\n- 10.244.1.0/24\n");
}

TEST_F(LeaseTableTest, OfTwoAroundEachOthersAddressTheOlderIsUsedUnlessOnlyTheNewerHasItsOwn) {
  OwnIdentity own = Us();
  own.v4.network = Prefix("10.0.0.0/8");
  for (const auto& [older_has, newer_has, used_one] :
       {std::tuple(false, false, "older"), std::tuple(true, true, "older"),
        std::tuple(false, true, "newer")}) {
    for (const bool older_first : {false, true}) {
      LeaseTable mine(own);
      mine.DrainChanges(IpFamily::kV4);
      Lease older = MakeLease("older", "10.1.1.0/24", "10.1.2.7", 100);
      Lease newer = MakeLease("newer", "10.1.2.0/24", "10.1.1.7", 200);
      older.v4->node_address = older_has;
      newer.v4->node_address = newer_has;
      for (const Lease& each : {older_first ? older : newer, older_first ? newer : older})
        mine.Upsert(each);
      const std::vector<Peer> used = mine.Snapshot(IpFamily::kV4);
      ASSERT_EQ(used.size(), 1u);
      EXPECT_EQ(used[0].node, used_one);
    }
  }
}

// Each lies in the subnet of the next: any outcome is wrong, but there is one.
TEST_F(LeaseTableTest, AddressesInACircleEnd) {
  OwnIdentity own = Us();
  own.v4.network = Prefix("10.0.0.0/8");
  for (const bool its_own : {false, true}) {
    LeaseTable mine(own);
    mine.DrainChanges(IpFamily::kV4);
    for (const auto& [name, subnet, public_ip] :
         {std::tuple("a", "10.1.1.0/24", "10.1.2.7"), std::tuple("b", "10.1.2.0/24", "10.1.3.7"),
          std::tuple("c", "10.1.3.0/24", "10.1.1.7")}) {
      Lease lease = MakeLease(name, subnet, public_ip);
      lease.v4->node_address = its_own;
      mine.Upsert(lease);
    }
    EXPECT_LT(mine.Snapshot(IpFamily::kV4).size(), 3u);
  }
}

// A renamed host, or another host with our address: packets to it would reach ourselves.
TEST_F(LeaseTableTest, AnAddressOfThisHostIsNoPeersWhileItIsOurs) {
  table.Upsert(b);
  EXPECT_EQ(Changes(), "+ b 10.244.2.0/24 192.0.2.2 02:00:00:00:00:01\n");
  OwnIdentity own = Us();
  own.v4.addresses = {{Prefix("192.0.2.2/32"), "this node's address 192.0.2.2 on eth0", true}};
  table.SetOwn(own);
  EXPECT_EQ(State(b), "bad-public-ip");
  EXPECT_THAT(Detail(b), HasSubstr("is this node's address 192.0.2.2 on eth0: node \"b\" is this "
                                   "host under a former name, or another host with our address; "
                                   "delete that Node if this host was renamed, else remove that "
                                   "address here"));
  EXPECT_EQ(Changes(), "- 10.244.2.0/24\n");
  table.SetOwn(Us());
  EXPECT_EQ(State(b), "usable");
}

// What we publish is not what this host has: both may be behind one address.
TEST_F(LeaseTableTest, AnAddressThatWeOnlyPublishMayBeAPeers) {
  for (const Lease& each : {MakeLease("us", "10.244.0.0/24", "192.0.2.2"), b}) table.Upsert(each);
  EXPECT_EQ(State(b), "duplicate-public-ip");
  EXPECT_THAT(Detail(b), HasSubstr("those of node \"b\" and node \"us\""));
}

TEST_F(LeaseTableTest, OfTwoNodesItIsSaidWhichIsReadyAndSinceWhen) {
  a.readiness = {true, 1'795'046'400};
  b.v4 = a.v4;
  b.readiness = {false, 1'795'046'460};
  testing::ApplySnapshot(table, {a, b}, {});
  EXPECT_THAT(Detail(b), HasSubstr("node \"b\" (NotReady since 2026-11-19 00:01:00 UTC) has the "
                                   "same subnet as node \"a\" (Ready since 2026-11-19 00:00:00 "
                                   "UTC), which is in use"));
  Changes();
  const std::uint64_t generation = table.generation(), of_leases = table.lease_generation();
  b.readiness = {true, 1'795'046'520};
  EXPECT_FALSE(table.Upsert(b)) << "no lease changes";
  EXPECT_EQ(table.lease_generation(), of_leases);
  EXPECT_GT(table.generation(), generation) << "but what is said of it";
  EXPECT_THAT(Detail(b), HasSubstr("node \"b\" (Ready since 2026-11-19 00:02:00 UTC)"));
  EXPECT_EQ(Changes(), "");
  constexpr char kDelete[] = "; delete a Node only if its host no longer exists";
  EXPECT_THAT(Detail(b), HasSubstr(kDelete)) << "who is NotReady may come back";
  b.v4->subnet = Prefix("10.244.2.0/24");
  table.Upsert(b);
  EXPECT_EQ(State(b), "duplicate-public-ip");
  EXPECT_THAT(Detail(b),
              ::testing::AllOf(HasSubstr("node \"b\" (Ready since 2026-11-19 00:02:00 UTC) and "
                                         "node \"a\" (Ready since 2026-11-19 00:00:00 UTC)"),
                               HasSubstr(kDelete)));
  b.readiness = {true, 0};
  table.Upsert(b);
  EXPECT_THAT(Detail(b), HasSubstr("those of node \"b\" (Ready) and node \"a\" (Ready since"));
}

TEST_F(LeaseTableTest, TwoNodesWithOneMacAreNamedAndUsed) {
  b.v4->vtep_mac = testing::Mac("02:00:00:00:00:02");
  Lease unused = MakeLease("unused", "10.244.8.0/24", "192.0.2.8");
  unused.v4->vni = 7;
  testing::ApplySnapshot(table, {a, b, unused}, {});
  EXPECT_EQ(table.DuplicateMac(), "");
  for (const char* const twin : {"clone", "us"}) {
    const Lease lease = MakeLease(twin, "10.244.7.0/24", "192.0.2.7");
    table.Upsert(lease);
    EXPECT_THAT(
        table.DuplicateMac(),
        ::testing::AllOf(
            ::testing::StartsWith(std::string("nodes \"a\" and \"") + twin +
                                  "\" publish one VTEP MAC, 02:00:00:00:00:01: "),
            HasSubstr("a vxlan device of the kernel find a node by its MAC, so they send the "
                      "packets for both to one of them"),
            HasSubstr("For a new MAC stop flannel on one of the two, remove the annotation "
                      "backend-data of its Node and, on Windows, its HNS network, on Linux its "
                      "device flannel.4096;")));
    EXPECT_EQ(State(a), "usable");
    table.Remove(lease.node);
  }
  Lease again = a;
  again.node.uid = "another";
  table.Upsert(again);
  EXPECT_EQ(table.DuplicateMac(), "") << "one node, created again";
  table.Upsert(MakeLease("c", "10.244.7.0/24", "192.0.2.7"));
  table.Upsert(MakeLease("d", "10.244.9.0/24", "192.0.2.9"));
  EXPECT_THAT(table.DuplicateMac(), HasSubstr("02:00:00:00:00:01, as do 1 more: "));
}

struct SelfRow {
  const char* description;
  const char* subnet;
  const char* public_ip;
  bool node_address;
  const char* detail;
  bool own_address = false;  // this host has it
};

// a has 10.244.1.0/24, the others conflict with our own subnet 10.244.0.0/24.
const SelfRow kSelfRows[] = {
    {"right", "10.244.0.0/24", "192.0.2.9", true, ""},
    {"not yet published", "10.244.0.0/24", "", false, ""},
    {"in our own subnet", "10.244.0.0/24", "10.244.0.9", true,
     "all nodes that run weft do not use it: its public IP 10.244.0.9 lies in our own subnet "
     "10.244.0.0/24; correct"},
    {"reserved", "127.1.0.0/24", "192.0.2.9", true, "its subnet 127.1.0.0/24 is reserved"},
    {"no address of a node", "10.244.0.0/24", "127.0.0.1", true, "is not a node's"},
    {"in a's subnet", "10.244.0.0/24", "10.244.1.9", false,
     "its public IP 10.244.1.9 lies in 10.244.1.0/24 of node \"a\" and is not among our Node's"},
    {"in a's subnet, but ours", "10.244.0.0/24", "10.244.1.9", true, ""},
    {"in a's subnet, which is not in use here because of it", "10.244.0.0/24", "10.244.1.9", false,
     "its public IP 10.244.1.9 lies in 10.244.1.0/24 of node \"a\" and is not among our Node's",
     true},
    {"the same, but ours", "10.244.0.0/24", "10.244.1.9", true, "", true},
};

TEST_F(LeaseTableTest, OurOwnLeaseIsHeldToTheRulesForOthers) {
  for (const SelfRow& row : kSelfRows) {
    SCOPED_TRACE(row.description);
    OwnIdentity own = Us();
    own.v4.network = Prefix("10.0.0.0/8");
    if (row.own_address) own.v4.claims = {{Prefix("10.244.1.9/32"), "this node's address"}};
    LeaseTable mine(own);
    Lease us = MakeLease("us", row.subnet, "192.0.2.9", 100);
    us.v4->public_ip.reset();
    if (*row.public_ip != '\0') us.v4->public_ip = testing::Address(row.public_ip);
    us.v4->node_address = row.node_address;
    testing::ApplySnapshot(mine, {a, us}, {});
    const std::size_t scans = mine.scans();
    const LeaseRow self = mine.RowsOf(us.node)[0];
    if (&row == kSelfRows) EXPECT_EQ(mine.scans(), scans);
    EXPECT_EQ(self.state, PeerState::kSelf);
    if (*row.detail == '\0') {
      EXPECT_EQ(self.detail, "");
    } else {
      EXPECT_THAT(self.detail, HasSubstr("our own lease is published"));
      EXPECT_THAT(self.detail, HasSubstr(row.detail));
    }
  }
}

TEST_F(LeaseTableTest, AnotherNodesRightToOurSubnetIsOurCondition) {
  OwnIdentity own = Us();
  own.v4.network = Prefix("10.0.0.0/8");
  const Lease us = MakeLease("us", "10.244.0.0/24", "192.0.2.9", 100);
  Lease inside = MakeLease("x", "10.244.7.0/24", "10.244.0.7", 200);
  inside.readiness = {true, 1};
  for (const bool its_own : {false, true}) {
    inside.v4->node_address = its_own;
    LeaseTable mine(own);
    testing::ApplySnapshot(mine, {us, inside}, {});
    EXPECT_THAT(mine.RowsOf(us.node)[0].detail,
                HasSubstr(its_own ? "contains public IP 10.244.0.7 of node \"x\", which" : ""));
    EXPECT_EQ(mine.RowsOf(us.node)[0].detail.empty(), !its_own);
  }
  for (const std::int64_t created : {99, 101}) {
    LeaseTable mine(own);
    testing::ApplySnapshot(mine, {us, MakeLease("x", "10.244.0.0/24", "192.0.2.7", created)}, {});
    EXPECT_EQ(mine.RowsOf(us.node)[0].detail.empty(), created > us.created);
  }
  LeaseTable mine(own);
  for (const char* const name : {"x", "y"})
    mine.Upsert(MakeLease(name, "10.244.0.0/24", "192.0.2.7", 99));
  mine.Upsert(us);
  EXPECT_THAT(mine.RowsOf(us.node)[0].detail, HasSubstr("node \"x\" is older")) << "the first";
}

TEST_F(LeaseTableTest, LeasesThatTakeNothingFromOursAreNoConditionOfOurs) {
  const Lease us = MakeLease("us", "10.244.0.0/24", "10.244.1.9", 100);
  std::vector<Lease> all = {us, b};
  const auto add = [&all](const char* name, const char* subnet, const char* public_ip,
                          std::int64_t created) -> FamilyLease& {
    all.push_back(MakeLease(name, subnet, public_ip, created));
    return *all.back().v4;
  };
  add("around our address", "10.244.1.0/24", "192.0.2.10", 1).vni = 7;
  add("newer", "10.244.0.0/24", "192.0.2.11", 200);
  add("older", "10.244.0.0/24", "192.0.2.12", 1).vni = 7;
  add("part", "10.244.0.128/25", "192.0.2.13", 1);
  add("without an address", "10.244.5.0/24", "192.0.2.14", 1).public_ip.reset();
  add("with a wrong address", "10.244.6.0/24", "127.0.0.1", 1).node_address = true;
  // Its bytes are those of 10.244.1.0/24.
  all.push_back(MakeLease("IPv6", "af4:100:1800::/64", "2001:db8::1", 1));
  testing::ApplySnapshot(table, all, {});
  EXPECT_EQ(State(us), "self");
  EXPECT_EQ(Detail(us), "");
}

TEST_F(LeaseTableTest, TheOtherUserOfASubnetIsKnownWithAndWithoutOurs) {
  const Lease x = MakeLease("x", "10.244.0.0/24", "192.0.2.7");
  // The bytes of the one with IPv6 alone are those of 10.244.2.0/24.
  testing::ApplySnapshot(table,
                         {a, x, MakeLease("us", "10.244.0.0/24", "192.0.2.9"),
                          MakeLease("six", "af4:200:1800::/64", "2001:db8::6")},
                         {});
  EXPECT_EQ(table.UserOf(Prefix("10.244.0.0/24")), "x") << "it waits, because the subnet is ours";
  EXPECT_EQ(table.UserOf(Prefix("10.244.1.0/24")), "a");
  EXPECT_EQ(table.UserOf(Prefix("10.244.1.0/25")), "");
  EXPECT_EQ(table.UserOf(Prefix("10.244.2.0/24")), "");
}

// Clusters whose nodes have podCIDRs of several sizes.
TEST_F(LeaseTableTest, ASubnetSmallerThanOursIsUsedUnlessItIsAPartOfAnother) {
  const Lease small = MakeLease("small", "10.244.7.64/26", "192.0.2.7");
  testing::ApplySnapshot(table, {a, small}, {});
  EXPECT_EQ(State(small), "usable");
  Changes();
  // A later Node whose subnet contains it takes nothing from it.
  table.Upsert(MakeLease("around", "10.244.7.0/24", "192.0.2.8"));
  EXPECT_EQ(State(small), "nested-subnet");
  Lease again = small;
  again.v4->vtep_mac = testing::Mac("02:00:00:00:00:77");
  table.Upsert(again);
  EXPECT_EQ(State(again), "nested-subnet") << "nor when it publishes again";
}

TEST_F(LeaseTableTest, AnAddressThatIsCorrectedIsUsed) {
  testing::ApplySnapshot(table, {a, b}, {});
  Changes();
  b.v4->public_ip = testing::Address("10.244.1.7");
  table.Upsert(b);
  EXPECT_EQ(Changes(), "- 10.244.2.0/24\n");
  table.Remove(a.node);
  EXPECT_EQ(Changes(),
            "+ b 10.244.2.0/24 10.244.1.7 02:00:00:00:00:01\n"
            "- 10.244.1.0/24\n")
      << "it lies in no pod subnet any more";
}

// ---- what a peer leaves out

class KeptLeaseTest : public LeaseTableTest {
 protected:
  KeptLeaseTest() {
    table.Upsert(a);
    Changes();
    // What upstream's flanneld.exe publishes first at each start.
    blank.v4->vtep_mac.reset();
  }
  std::int64_t now = 1'795'046'400;  // 2026-11-19T00:00:00Z
  LeaseTable table{Us(), [this] { return now; }};
  Lease blank = a;
  std::string Changes() { return Text(table.DrainChanges(IpFamily::kV4)); }
  std::string State(const Lease& lease) const {
    const auto state = testing::StateOf(table, lease.node, IpFamily::kV4);
    return state ? std::string(Name(*state)) : "none";
  }
};

TEST_F(KeptLeaseTest, APeerThatClearsItsMacKeepsItsLeaseUntilItPublishesACompleteOne) {
  EXPECT_TRUE(table.Upsert(blank));
  EXPECT_EQ(Changes(), "");
  EXPECT_EQ(State(a), "kept-lease");
  const LeaseRow row = table.RowsOf(a.node)[0];
  EXPECT_EQ(row.lease.vtep_mac, a.v4->vtep_mac);
  EXPECT_EQ(row.lease.kept_since, now);
  EXPECT_THAT(row.detail, HasSubstr("since 2026-11-19 00:00:00 UTC"));
  now += 60;
  EXPECT_FALSE(table.Upsert(blank)) << "a heartbeat";
  testing::ApplySnapshot(table, {blank}, {});
  EXPECT_EQ(table.RowsOf(a.node)[0].lease.kept_since, now - 60);
  a.v4->vtep_mac = testing::Mac("02:00:00:00:00:77");
  EXPECT_TRUE(table.Upsert(a));
  EXPECT_EQ(Changes(), "+ a 10.244.1.0/24 192.0.2.1 02:00:00:00:00:77\n");
  EXPECT_EQ(State(a), "usable");
  EXPECT_EQ(table.RowsOf(a.node)[0].lease.kept_since, std::nullopt);
}

TEST_F(KeptLeaseTest, TheSameAgainEndsItWithoutAChangeForSinks) {
  table.Upsert(blank);
  table.Upsert(a);
  EXPECT_EQ(Changes(), "");
  EXPECT_EQ(State(a), "usable");
}

struct BlankRow {
  const char* description;
  void (*change)(Lease&);  // the change to the blank lease
  const char* state;
  bool kept;
};

const BlankRow kBlankRows[] = {
    {"no MAC", [](Lease&) {}, "kept-lease", true},
    {"and no address", [](Lease& l) { l.v4->public_ip.reset(); }, "kept-lease", true},
    {"and another address", [](Lease& l) { l.v4->public_ip = testing::Address("192.0.2.99"); },
     "kept-lease", true},
    {"a MAC and no address",
     [](Lease& l) {
       l.v4->vtep_mac = testing::Mac("02:00:00:00:00:01");
       l.v4->public_ip.reset();
     },
     "missing-public-ip", false},
    {"the backend in capitals", [](Lease& l) { l.backend_type = "VXLAN"; }, "kept-lease", true},
    {"another subnet", [](Lease& l) { l.v4->subnet = Prefix("10.244.9.0/24"); }, "missing-mac",
     false},
    {"another backend", [](Lease& l) { l.backend_type = "host-gw"; }, "foreign-backend", false},
    {"another VNI", [](Lease& l) { l.v4->vni = 7; }, "missing-mac", false},
    {"no VNI", [](Lease& l) { l.v4->vni.reset(); }, "missing-mac", false},
};

TEST_F(KeptLeaseTest, OnlyMissingValuesAreKept) {
  for (const BlankRow& row : kBlankRows) {
    SCOPED_TRACE(row.description);
    LeaseTable mine(Us());
    mine.Upsert(a);
    mine.DrainChanges(IpFamily::kV4);
    Lease changed = blank;
    row.change(changed);
    mine.Upsert(changed);
    EXPECT_EQ(Name(*testing::StateOf(mine, a.node, IpFamily::kV4)), row.state);
    EXPECT_EQ(Text(mine.DrainChanges(IpFamily::kV4)), row.kept ? "" : "- 10.244.1.0/24\n");
    if (!row.kept) EXPECT_EQ(mine.RowsOf(a.node)[0].lease, *changed.v4);
  }
}

TEST_F(KeptLeaseTest, WhatWasNotCompleteIsNotKept) {
  for (void (*const lacks)(Lease&) : std::initializer_list<void (*)(Lease&)>{
           [](Lease& l) { l.v4->vni.reset(); }, [](Lease& l) { l.v4->public_ip.reset(); },
           [](Lease& l) { l.v4->vtep_mac.reset(); }}) {
    LeaseTable mine(Us());
    Lease known = a;
    lacks(known);
    mine.Upsert(known);
    blank.v4->vni = known.v4->vni;
    blank.v4->public_ip = testing::Address("192.0.2.99");
    mine.Upsert(blank);
    EXPECT_EQ(mine.RowsOf(a.node)[0].lease, *blank.v4);
  }
}

TEST_F(KeptLeaseTest, ItIsRemovedWithItsNode) {
  table.Upsert(blank);
  table.Remove(a.node);
  EXPECT_EQ(Changes(), "- 10.244.1.0/24\n");
  table.Upsert(blank);
  EXPECT_EQ(State(blank), "missing-mac") << "a Node that never published one";
}

TEST_F(KeptLeaseTest, ARecreatedNodeKeepsNothing) {
  blank.node.uid = "another";
  blank.created = 200;
  table.Upsert(blank);
  EXPECT_EQ(State(blank), "missing-mac");
  EXPECT_EQ(Changes(), "");
}

TEST_F(KeptLeaseTest, EachFamilyIsKeptByItself) {
  a.v6 = HalfLease("fd00:10:244:1::/64", "2001:db8::1");
  table.Upsert(a);
  blank = a;
  blank.v6->vtep_mac.reset();
  now += 5;
  table.Upsert(blank);
  EXPECT_EQ(State(a), "usable");
  EXPECT_EQ(testing::StateOf(table, a.node, IpFamily::kV6), PeerState::kKeptLease);
  blank.v4->vtep_mac.reset();
  now += 5;
  table.Upsert(blank);
  EXPECT_EQ(table.RowsOf(a.node)[0].lease.kept_since, now);
  EXPECT_EQ(table.RowsOf(a.node)[1].lease.kept_since, now - 5);
}

// ---- what this host needs

OwnIdentity UsWith(const char* claim, const char* network = "0.0.0.0/1") {
  OwnIdentity own = Us();
  own.v4.network = Prefix(network);
  own.v4.claims = {{Prefix(claim), "the thing"}};
  return own;
}

TEST_F(LeaseTableTest, ALeaseThatContainsWhatThisHostNeedsIsNotUsed) {
  const struct {
    const char *subnet, *claim;
    bool used;
  } rows[] = {
      {"10.1.0.0/16", "10.1.0.0/16", false},     {"10.1.0.0/16", "10.1.2.0/24", false},
      {"10.1.0.0/16", "10.1.255.255/32", false}, {"10.1.0.0/16", "10.1.0.0/32", false},
      {"10.1.0.0/16", "10.0.0.0/8", true},       {"10.1.0.0/16", "10.2.0.0/24", true},
      {"10.1.0.0/16", "10.0.255.255/32", true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.claim);
    LeaseTable mine(UsWith(row.claim));
    a.v4->subnet = Prefix(row.subnet);
    mine.Upsert(a);
    EXPECT_EQ(Name(*testing::StateOf(mine, a.node, IpFamily::kV4)),
              row.used ? "usable" : "host-conflict");
    if (!row.used) EXPECT_THAT(mine.RowsOf(a.node)[0].detail, HasSubstr("contains the thing"));
  }
}

// An innocent Node is not to be deleted for what this host has.
TEST_F(LeaseTableTest, TheAdviceIsToRemoveWhatThisHostDoesNotNeed) {
  LeaseTable mine(UsWith("10.244.1.7/32"));
  mine.Upsert(a);
  const std::string detail = mine.RowsOf(a.node)[0].detail;
  EXPECT_THAT(detail, HasSubstr(": if unused, remove that and wait ten minutes; else give node"));
  EXPECT_THAT(detail, ::testing::Not(HasSubstr("delete node")));
}

TEST_F(LeaseTableTest, ALeaseWithAnIdleAddressOfThisHostIsUsedAndNamed) {
  OwnIdentity own = Us();
  own.v4.addresses = {{Prefix("10.244.1.7/32"), "this node's address 10.244.1.7 on br9"}};
  LeaseTable mine(own);
  mine.Upsert(a);
  mine.Upsert(b);
  EXPECT_EQ(mine.Snapshot(IpFamily::kV4).size(), 2u);
  EXPECT_EQ(Name(*testing::StateOf(mine, a.node, IpFamily::kV4)), "host-changed");
  EXPECT_EQ(mine.RowsOf(a.node)[0].detail,
            "used, but its subnet contains this node's address 10.244.1.7 on br9: remove that "
            "address, or its device if nothing uses it");
  OwnIdentity anywhere = own;
  anywhere.v4.network.reset();
  LeaseTable without_network(anywhere);
  without_network.Upsert(a);
  EXPECT_EQ(without_network.RowsOf(a.node)[0].detail, mine.RowsOf(a.node)[0].detail);
  EXPECT_EQ(Name(*testing::StateOf(mine, b.node, IpFamily::kV4)), "usable");
  own.v4.addresses.clear();
  mine.SetOwn(own);
  EXPECT_EQ(Name(*testing::StateOf(mine, a.node, IpFamily::kV4)), "usable");
  // A neighbour needs it from now on; that drops no lease in use, and refuses a new one.
  own.v4.addresses = {{Prefix("10.244.1.7/32"), "the thing"}};
  own.v4.claims = own.v4.addresses;
  mine.DropChanges();
  mine.SetOwn(own);
  EXPECT_EQ(Name(*testing::StateOf(mine, a.node, IpFamily::kV4)), "host-changed");
  LeaseTable fresh(own);
  fresh.Upsert(a);
  EXPECT_EQ(Name(*testing::StateOf(fresh, a.node, IpFamily::kV4)), "host-conflict");
}

TEST_F(LeaseTableTest, ReservedRangesAreNotUsed) {
  const struct {
    const char* subnet;
    bool used;
  } rows[] = {
      {"0.0.0.0/0", false},        {"0.1.0.0/24", false},     {"1.0.0.0/24", true},
      {"126.255.255.0/24", true},  {"127.0.5.0/24", false},   {"128.0.0.0/24", true},
      {"169.253.0.0/16", true},    {"169.254.7.0/24", false}, {"223.255.255.0/24", true},
      {"224.0.0.0/24", false},     {"239.1.0.0/16", false},   {"240.0.0.0/24", true},
      {"100.64.1.0/24", true},     {"198.18.0.0/24", true},   {"255.255.254.0/24", true},
      {"255.255.255.0/24", false}, {"::/64", false},          {"::2/127", true},
      {"fe80::/64", false},        {"febf:1::/64", false},    {"fec0::/64", true},
      {"ff05::/64", false},        {"fd00::/64", true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.subnet);
    OwnIdentity own;
    own.node_name = "us";
    LeaseTable mine(own);
    const IpPrefix subnet = Prefix(row.subnet);
    const bool v4 = subnet.family() == IpFamily::kV4;
    const Lease lease = MakeLease("a", row.subnet, v4 ? "192.0.2.1" : "2001:db8::1");
    mine.Upsert(lease);
    EXPECT_EQ(Name(*testing::StateOf(mine, lease.node, subnet.family())),
              row.used ? "usable" : "reserved-range");
  }
}

// A change of this node must not remove a peer that is in use; it is reported.
TEST_F(LeaseTableTest, ALeaseInUseStaysWhenThisHostChanges) {
  table.SetOwn(UsWith("192.168.0.1/32"));
  testing::ApplySnapshot(table, {a}, {});
  Changes();
  table.SetOwn(UsWith("10.244.1.1/32"));
  EXPECT_EQ(Changes(), "");
  EXPECT_EQ(State(a), "host-changed");
  EXPECT_THAT(Detail(a), HasSubstr("used, because it was in use before this host changed: its "
                                   "subnet contains the thing"));
  a.v4->vtep_mac = testing::Mac("02:00:00:00:00:77");
  table.Upsert(a);
  EXPECT_EQ(Changes(), "+ a 10.244.1.0/24 192.0.2.1 02:00:00:00:00:77\n")
      << "as it stays when the peer publishes again";
  EXPECT_EQ(State(a), "host-changed");
  Lease other = MakeLease("b", "10.244.1.0/25", "192.0.2.2");
  table.Upsert(other);
  EXPECT_EQ(State(other), "host-conflict") << "a newcomer is judged as ever";
  table.Remove(other.node);
  a.v4->subnet = Prefix("10.244.1.0/28");
  table.Upsert(a);
  EXPECT_EQ(State(a), "host-conflict") << "another subnet is another lease";
  table.SetOwn(UsWith("192.168.0.1/32"));
  EXPECT_EQ(State(a), "usable");
}

TEST_F(LeaseTableTest, BeforeTheFirstUpdateAChangedHostDropsALease) {
  table.Upsert(a);
  table.SetOwn(UsWith("10.244.1.1/32"));
  EXPECT_EQ(State(a), "host-conflict");
  EXPECT_EQ(Changes(), "");
}

TEST_F(LeaseTableTest, NoLeaseIsDroppedWhenNetworkIsWidenedOrNarrowed) {
  const Lease beyond = MakeLease("beyond", "10.245.1.0/24", "192.0.2.5");
  testing::ApplySnapshot(table, {a, beyond}, {});
  EXPECT_EQ(Changes(), "+ a 10.244.1.0/24 192.0.2.1 02:00:00:00:00:01\n");
  EXPECT_EQ(State(beyond), "outside-network");
  OwnIdentity wide = Us();
  wide.v4.network = Prefix("10.244.0.0/15");
  table.SetOwn(wide);
  EXPECT_EQ(Changes(), "+ beyond 10.245.1.0/24 192.0.2.5 02:00:00:00:00:01\n");
  table.SetOwn(Us());
  EXPECT_EQ(Changes(), "");
  EXPECT_EQ(State(beyond), "host-changed");
  EXPECT_THAT(Detail(beyond), HasSubstr("outside Network 10.244.0.0/16"));
  EXPECT_EQ(State(a), "usable");
  // Still no address lies in its subnet.
  const Lease inside = MakeLease("inside", "10.244.5.0/24", "10.245.1.7");
  table.Upsert(inside);
  EXPECT_EQ(State(inside), "bad-public-ip");
}

TEST_F(LeaseTableTest, AFamilyThatIsOffIsNotReportedMissing) {
  OwnIdentity own = Us();
  own.v6 = {};
  own.v6.enabled = false;
  table.SetOwn(own);
  a.v6.emplace();
  a.v6->subnet = Prefix("fd00:10:244:1::/64");
  table.Upsert(a);
  EXPECT_EQ(State(a, IpFamily::kV6), "family-off");
  int remarkable = 0;
  const std::size_t scans = table.scans();
  table.ForEachRemarkable([&](const LeaseRow&) { ++remarkable; });
  EXPECT_EQ(remarkable, 0);
  EXPECT_EQ(table.scans(), scans) << "known without looking";
  EXPECT_EQ(table.Peers().usable, 1u);
  a.v4.reset();
  table.Upsert(a);
  EXPECT_EQ(table.Peers().usable, 0u);
}

// ---- nodes without a lease

TEST_F(LeaseTableTest, NodesThatHaveNotJoinedAreNamed) {
  const NotJoinedNode plain{{"plain", "uid-plain"}, "annotation x is missing"};
  EXPECT_TRUE(table.SetNotJoined(plain));
  EXPECT_FALSE(table.SetNotJoined(plain)) << "a heartbeat";
  EXPECT_EQ(table.NotJoined(), (std::vector<NotJoinedNode>{plain}));
  table.Upsert(MakeLease("plain", "10.244.7.0/24", "192.0.2.7"));
  EXPECT_THAT(table.NotJoined(), IsEmpty());
  table.SetNotJoined(plain);
  table.Remove(plain.node);
  EXPECT_THAT(table.NotJoined(), IsEmpty());
  table.SetNotJoined(plain);
  table.Refuse({"plain", "broken"});
  EXPECT_THAT(table.NotJoined(), IsEmpty());
  table.BeginSnapshot();
  table.SetNotJoined(plain);
  table.EndSnapshot();
  EXPECT_THAT(table.Refused(), IsEmpty());
  EXPECT_EQ(table.not_joined(), 1u);
  const std::uint64_t generation = table.generation();
  table.BeginSnapshot();
  table.SetNotJoined(plain);
  EXPECT_FALSE(table.EndSnapshot());
  EXPECT_EQ(table.generation(), generation);
  testing::ApplySnapshot(table, {}, {});
  EXPECT_THAT(table.NotJoined(), IsEmpty());
}

TEST_F(LeaseTableTest, PeersAreCountedByNode) {
  a.v6 = HalfLease("fd00:10:244:1::/64", "2001:db8::1");
  b.v6 = HalfLease("fd00:10:244:2::/64", "2001:db8::2");
  b.v4->vni = 1;
  const Lease own = MakeLease("us", "10.244.0.0/24", "192.0.2.9");
  testing::ApplySnapshot(table, {a, b, own},
                         {{"a", "broken now"}, {"c", "broken"}, {"us", "broken"}});
  table.SetNotJoined({{"d", ""}, "x"});
  EXPECT_EQ(table.Peers().all, 3u) << "a, b and c";
  EXPECT_EQ(table.Peers().usable, 1u) << "a by the lease that it had; b by one half only";
}

TEST_F(LeaseTableTest, ANameInAnotherCaseIsFoundInAnyState) {
  table.Upsert(a);
  table.Refuse({"refused", "x"});
  table.SetNotJoined({{"plain", ""}, "x"});
  EXPECT_EQ(table.NameInOtherCase("A"), "a");
  EXPECT_EQ(table.NameInOtherCase("a"), "");
  EXPECT_EQ(table.NameInOtherCase("REFUSED"), "refused");
  EXPECT_EQ(table.NameInOtherCase("Plain"), "plain");
  EXPECT_EQ(table.NameInOtherCase("nobody"), "");
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
  EXPECT_EQ(table.Peers().all, 1u);
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
  EXPECT_EQ(State(outside), "outside-network");
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

TEST_F(LeaseTableTest, OurOwnLeaseIsSelfWithAnyContent) {
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
     "on the Node of an appliance add \"VNI\":4096 to that annotation"},
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
    EXPECT_EQ(alone.DrainChanges(IpFamily::kV4).upserts.size(), IsUsable(rows[0].state) ? 1u : 0u);
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
  Lease c = MakeLease("c", "10.244.3.0/24", "192.0.2.3");
  b.backend_type = c.backend_type = "host-gw";
  table.Upsert(b);
  table.Upsert(c);
  EXPECT_EQ(table.DuplicateMac(), "") << "they have no use for it";
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

// Each sentence names another lease, and none of them looks through all leases.
TEST_F(LeaseTableTest, ManyBehindOneAddressAreExplainedInOneScan) {
  std::vector<Lease> all;
  for (int i = 1; i <= 200; ++i) {
    const std::string number = std::to_string(i);
    all.push_back(MakeLease("n" + number, "10.244." + number + ".0/24", "192.0.2.1"));
  }
  testing::ApplySnapshot(table, all, {});
  std::size_t scans = table.scans(), named = 0;
  const auto count = [&](const LeaseRow& row) {
    named += row.detail.find("200 leases name public IP 192.0.2.1, those of node \"" +
                             row.node.name + "\" and node \"n") != std::string::npos;
  };
  table.ForEachRemarkable(count);
  EXPECT_EQ(named, 200u);
  EXPECT_EQ(table.scans(), scans + 2) << "one for the rows, one for the addresses";
  scans = table.scans();
  for (const LeaseRow& row : table.Rows()) count(row);
  EXPECT_EQ(named, 400u);
  EXPECT_EQ(table.scans(), scans + 1);
  EXPECT_THAT(Detail(all[0]), HasSubstr("those of node \"n1\" and node \"n2\":"));
  // A change of one that no sentence names.
  scans = table.scans();
  all[100].v4->vtep_mac = testing::Mac("02:00:00:00:00:77");
  table.Upsert(all[100]);
  EXPECT_THAT(Detail(all[100]), HasSubstr("200 leases"));
  EXPECT_EQ(table.scans(), scans);
  // Those that go are named no more.
  for (int i = 0; i < 198; ++i) table.Remove(all[static_cast<std::size_t>(i)].node);
  EXPECT_THAT(Detail(all[198]), HasSubstr("those of node \"n199\" and node \"n200\""));
  EXPECT_THAT(Detail(all[199]), HasSubstr("those of node \"n200\" and node \"n199\""));
  Lease again = all[199];
  again.node.uid = "another";
  table.Upsert(again);
  table.Remove(all[198].node);
  EXPECT_THAT(Detail(again), HasSubstr("node \"n200\" and its former self"));
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

// ---- snapshots reported node by node

TEST_F(LeaseTableTest, WithinASnapshotNothingIsRemovedBeforeItsEnd) {
  testing::ApplySnapshot(table, {a}, {});
  Changes();
  table.BeginSnapshot();
  table.Upsert(b);
  EXPECT_EQ(Changes(), "+ b 10.244.2.0/24 192.0.2.2 02:00:00:00:00:01\n");
  EXPECT_TRUE(table.EndSnapshot());
  EXPECT_EQ(Changes(), "- 10.244.1.0/24\n");
}

TEST_F(LeaseTableTest, ARestartedSnapshotStartsOver) {
  testing::ApplySnapshot(table, {a}, {});
  table.BeginSnapshot();
  table.Upsert(a);
  table.Upsert(b);
  table.BeginSnapshot();
  EXPECT_EQ(table.size(), 2u) << "the reports of the cut one stay valid";
  table.Upsert(b);
  EXPECT_TRUE(table.EndSnapshot());
  EXPECT_EQ(State(a), "none");
  EXPECT_EQ(State(b), "usable");
}

TEST_F(LeaseTableTest, ALeaseReportedAndRemovedWithinASnapshotIsGone) {
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

TEST_F(LeaseTableTest, AnotherIdentityJudgesEveryLeaseAgain) {
  testing::ApplySnapshot(table, {a, b}, {});
  Changes();
  OwnIdentity own = Us();
  own.v4.subnet = Prefix("10.244.1.0/24");
  table.SetOwn(own);
  EXPECT_EQ(Changes(), "- 10.244.1.0/24\n");
  own.vni = *Vni::From(7);
  table.SetOwn(own);
  EXPECT_EQ(Changes(), "- 10.244.2.0/24\n");
  EXPECT_EQ(State(b), "vni-mismatch");
  table.SetOwn(Us());
  EXPECT_EQ(table.DrainChanges(IpFamily::kV4).upserts.size(), 2u);
  b.v4->public_ip = testing::Address("10.244.9.7");
  table.Upsert(b);
  own = Us();
  own.v4.subnet = Prefix("10.244.9.0/24");
  table.SetOwn(own);
  EXPECT_EQ(State(b), "bad-public-ip");
}

// The generation must change with everything that Rows and Refused show.
TEST_F(LeaseTableTest, TheGenerationIncreasesWithVisibleChangesOnly) {
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
      {"not joined",
       [&](LeaseTable& t) {
         t.SetNotJoined({a.node, "x"});
       },
       true},
      {"the lease as before ends that", [&](LeaseTable& t) { t.Upsert(a); }, true},
      {"an unknown node is removed",
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

TEST_F(LeaseTableTest, ARefusedHalfCostsNeitherTheOtherNorWhatItWas) {
  Lease half = a;
  half.unread = IpFamily::kV6;
  const RefusedNode refusal{"a", "public-ipv6 is bad", "uid-a", IpFamily::kV6};
  testing::ApplySnapshot(table, {half}, {refusal});
  EXPECT_EQ(Changes(), "+ a 10.244.1.0/24 192.0.2.1 02:00:00:00:00:01\n");
  EXPECT_EQ(table.Refused(), (std::vector<RefusedNode>{{"a", "public-ipv6 is bad", "uid-a"}}));
  EXPECT_EQ(table.Peers().all, 1u);
  const std::uint64_t generation = table.generation();
  table.Upsert(half);
  EXPECT_FALSE(table.Refuse(refusal)) << "a heartbeat";
  EXPECT_EQ(table.generation(), generation);
  a.v6 = HalfLease("fd00:10:244:1::/64", "2001:db8::1");
  table.Upsert(a);
  EXPECT_THAT(table.Refused(), IsEmpty());
  EXPECT_NE(Changes(IpFamily::kV6), "");
  half.v4->public_ip = testing::Address("192.0.2.7");
  table.Upsert(half);
  table.Refuse(refusal);
  EXPECT_EQ(Changes(), "+ a 10.244.1.0/24 192.0.2.7 02:00:00:00:00:01\n") << "is followed";
  EXPECT_EQ(Changes(IpFamily::kV6), "") << "stays in use";
  EXPECT_EQ(testing::StateOf(table, a.node, IpFamily::kV6), PeerState::kUsable);
}

TEST_F(LeaseTableTest, ARefusedHalfThatIsOffIsNotReported) {
  OwnIdentity own = Us();
  own.v6 = {};
  own.v6.enabled = false;
  table.SetOwn(own);
  table.Refuse({"a", "broken"});
  a.unread = IpFamily::kV6;
  table.Upsert(a);
  EXPECT_FALSE(table.Refuse({"a", "public-ipv6 is bad", "uid-a", IpFamily::kV6}));
  EXPECT_THAT(table.Refused(), IsEmpty());
  EXPECT_EQ(State(a), "usable");
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

TEST_F(LeaseTableTest, ARemovedRefusedNodeLosesItsLease) {
  testing::ApplySnapshot(table, {a}, {});
  table.Refuse({"a", "broken"});
  Changes();
  testing::ApplySnapshot(table, {}, {});
  EXPECT_EQ(Changes(), "- 10.244.1.0/24\n");
  EXPECT_THAT(table.Refused(), IsEmpty());
}

// A Node that was made again under its name, in a gap of the watch, and cannot be read yet.
TEST_F(LeaseTableTest, ARefusalKeepsTheLeaseOfItsOwnUidOnly) {
  testing::ApplySnapshot(table, {a}, {});
  Changes();
  testing::ApplySnapshot(table, {}, {{"a", "broken", a.node.uid}});
  EXPECT_EQ(Changes(), "");
  testing::ApplySnapshot(table, {}, {{"a", "spec.podCIDR is not assigned", "another"}});
  EXPECT_EQ(Changes(), "- 10.244.1.0/24\n");
  EXPECT_EQ(table.Refused(),
            (std::vector<RefusedNode>{{"a", "spec.podCIDR is not assigned", "another"}}));
  EXPECT_FALSE(table.Remove(a.node)) << "the old one's end, reported late";
  EXPECT_EQ(table.refused(), 1u);
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

TEST_F(LeaseTableTest, ADuplicateNameIsRefusedAndOneLeaseIsUsed) {
  Lease without_uid = a;
  without_uid.node.uid.clear();
  testing::ApplySnapshot(table, {a}, {});
  Changes();
  testing::ApplySnapshot(table, {without_uid}, {{"a", "twice"}});
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(Changes(), "");
}

// A file may have a name twice, and be read repeatedly.
TEST_F(LeaseTableTest, ARefusalNextToALeaseIsNotReportedAgainInTheNextSnapshot) {
  testing::ApplySnapshot(table, {a}, {{"a", "twice"}});
  const std::uint64_t generation = table.generation();
  testing::ApplySnapshot(table, {a}, {{"a", "twice"}});
  EXPECT_EQ(table.generation(), generation);
}

TEST_F(LeaseTableTest, ARefusalIsReportedOnce) {
  EXPECT_TRUE(table.Refuse({"x", "broken"}));
  EXPECT_FALSE(table.Refuse({"x", "broken"}));
  testing::ApplySnapshot(table, {}, {{"x", "broken"}});
  EXPECT_FALSE(table.Refuse({"x", "broken"}));
  EXPECT_TRUE(table.Refuse({"x", "broken otherwise"}));
}

// ---- what another process would use again

TEST_F(LeaseTableTest, InUseAreTheUsableHalvesOfOthers) {
  Lease half = b;
  half.v6 = HalfLease("fd00:10:244:2::/64", "2001:db8::2");
  half.v6->vni = 7;
  Lease shared = MakeLease("c", "10.244.3.0/24", "192.0.2.1", 200);
  shared.backend_type = "VXLAN";
  const Lease waits = MakeLease("d", "10.244.1.0/24", "192.0.2.4", 300);
  const Lease six = MakeLease("e", "fd00:10:244:5::/64", "2001:db8::5");
  for (const Lease& each :
       {a, half, shared, waits, six, MakeLease("us", "10.244.0.0/24", "192.0.2.9")})
    table.Upsert(each);
  std::vector<Lease> found;
  table.ForEachInUse([&found](const Lease& lease) { found.push_back(lease); });
  for (Lease* const each : {&a, &half, &shared}) each->created = 0;
  half.v6.reset();
  EXPECT_THAT(found, ::testing::UnorderedElementsAre(a, half, shared, six));
}

}  // namespace
}  // namespace weft::lease
