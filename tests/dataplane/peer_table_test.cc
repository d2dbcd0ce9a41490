// SPDX-License-Identifier: Apache-2.0
#include "dataplane/peer_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "dataplane/counters.h"

namespace weft::dataplane {
namespace {

TEST(PeerTable, GivesOneSlotToOneName) {
  PeerTable peers;
  const PeerId a = peers.Acquire("a");
  EXPECT_NE(a, kNoPeer);
  EXPECT_EQ(peers.Acquire("a"), a);
  EXPECT_NE(peers.Acquire("b"), a);
}

TEST(PeerTable, SlotsStayWhereTheyAreAsTheTableGrows) {
  PeerTable peers;
  const PeerId first = peers.Acquire("first");
  PeerTable::Slot* const slot = peers.slots(first);
  std::set<PeerId> ids{kNoPeer, first};
  for (int i = 0; i < 5000; ++i)
    EXPECT_TRUE(ids.insert(peers.Acquire("peer-" + std::to_string(i))).second);
  EXPECT_EQ(peers.slots(first), slot);
  for (const PeerId id : ids) Add(peers.slots(id)[0].sent_packets, id);
  for (const PeerId id : ids) EXPECT_EQ(peers.slots(id)[0].sent_packets.load(), id);
}

TEST(PeerTable, ASlotTakenAgainStartsFromZero) {
  PeerTable peers;
  const PeerId old = peers.Acquire("old");
  PeerTable::Slot& slot = peers.slots(old)[0];
  slot.sent_packets = slot.sent_bytes = slot.received_packets = slot.received_bytes = 1;
  slot.path_mtu = 1400;
  slot.path_mtu_expiry = 5;
  slot.fragmentable_packets = slot.other_source_packets = 1;
  peers.other_sources(old)[0].Store(*IpAddress::Parse("192.0.2.9"));
  peers.Release("old");
  EXPECT_EQ(peers.Acquire("new"), old);
  EXPECT_EQ(slot.sent_packets + slot.sent_bytes + slot.received_packets + slot.received_bytes, 0u);
  EXPECT_EQ(slot.path_mtu, 0u);
  EXPECT_EQ(slot.path_mtu_expiry, 0);
  EXPECT_EQ(slot.fragmentable_packets + slot.other_source_packets, 0u);
  EXPECT_EQ(peers.other_sources(old)[0].Load(), std::nullopt);
}

TEST(PeerTable, ARowIsTheSumOfTheWorkersAndTheirSmallestPathMtu) {
  PeerTable peers(4);
  const PeerId id = peers.Acquire("a");
  PeerTable::Slot* const slots = peers.slots(id);
  for (std::size_t worker = 0; worker < 4; ++worker) {
    Add(slots[worker].sent_packets, 1);
    Add(slots[worker].sent_bytes, 10);
    Add(slots[worker].received_packets, 100);
    Add(slots[worker].received_bytes, 1000);
    Add(slots[worker].fragmentable_packets, 2);
    Add(slots[worker].other_source_packets, 3);
  }
  slots[0].path_mtu = 1400;
  slots[1].path_mtu = 1300;
  slots[2].path_mtu = 1350;
  peers.other_sources(id)[3].Store(*IpAddress::Parse("192.0.2.9"));
  EXPECT_EQ(peers.Read()[1].counts,
            (PeerCounts{4, 40, 400, 4000, 1300, 8, 12, IpAddress::Parse("192.0.2.9")}));
  peers.Acquire("its neighbour");
  EXPECT_EQ(peers.Read()[2].counts, PeerCounts{});

  peers.Release("a");
  EXPECT_EQ(peers.Acquire("again"), id);
  EXPECT_EQ(peers.Read()[1].counts, PeerCounts{});
}

TEST(PeerTable, APeerIsHeardForAMinuteAfterItsReceivedCountHasGrown) {
  using std::chrono::seconds;
  PeerTable peers(2);
  const PeerId a = peers.Acquire("a");
  peers.Acquire("b");
  const auto heard_at = [&](int second, std::size_t row = 1) {
    peers.NoteReceived(PeerTable::Clock::time_point(seconds(100 + second)));
    return peers.Read()[row].heard;
  };
  Add(peers.slots(a)[1].received_packets, 1);
  EXPECT_FALSE(peers.Read()[1].heard) << "not noted yet";
  EXPECT_TRUE(heard_at(0));
  EXPECT_FALSE(heard_at(0, 2)) << "b is silent";
  Add(peers.slots(a)[1].sent_packets, 1);
  EXPECT_TRUE(heard_at(60));
  EXPECT_FALSE(heard_at(61)) << "what is sent to it says nothing";
  Add(peers.slots(a)[0].received_packets, 1);
  EXPECT_TRUE(heard_at(65)) << "by another worker";
  peers.Release("a");
  peers.Acquire("c");
  EXPECT_FALSE(heard_at(66, 2)) << "another peer in its slot";
}

// A reading of 100,000 peers' slots at once would take the control thread 20 ms and more.
TEST(PeerTable, ManyPeersAreNotedInPartsAndEachWithinEightCalls) {
  PeerTable peers;
  constexpr std::size_t kPeers = 40'000;
  for (std::size_t i = 0; i < kPeers; ++i)
    Add(peers.slots(peers.Acquire(std::to_string(i)))[0].received_packets, 1);
  const auto heard_after_a_call = [&peers] {
    peers.NoteReceived(PeerTable::Clock::time_point(std::chrono::seconds(100)));
    const std::vector<PeerTable::Row> rows = peers.Read();
    return std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.heard; });
  };
  const auto first = heard_after_a_call();
  EXPECT_GT(first, 4096);
  EXPECT_LT(first, 6000);
  for (int call = 2; call < 8; ++call) heard_after_a_call();
  EXPECT_EQ(heard_after_a_call(), std::int64_t{kPeers});
}

TEST(PeerTable, ReleasingAnUnknownPeerDoesNothing) {
  PeerTable peers;
  peers.Release("nobody");
  EXPECT_EQ(peers.Read().size(), 1u);
}

TEST(PeerTable, ReadsTheRowWithoutAPeerThenThePeersByName) {
  PeerTable peers;
  Add(peers.slots(kNoPeer)[0].received_packets, 7);
  const PeerId b_id = peers.Acquire("b");
  PeerTable::Slot& b = peers.slots(b_id)[0];
  peers.Acquire("a");
  b.sent_packets = 1;
  b.sent_bytes = 2;
  b.received_packets = 3;
  b.received_bytes = 4;
  b.path_mtu = 1400;
  b.fragmentable_packets = 5;
  b.other_source_packets = 6;
  peers.other_sources(b_id)[0].Store(*IpAddress::Parse("192.0.2.9"));
  const auto rows = peers.Read();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].name, "");
  EXPECT_EQ(rows[0].counts.received_packets, 7u);
  EXPECT_EQ(rows[1].name, "a");
  EXPECT_EQ(rows[2].name, "b");
  EXPECT_EQ(rows[2].counts.sent_packets, 1u);
  EXPECT_EQ(rows[2].counts.sent_bytes, 2u);
  EXPECT_EQ(rows[2].counts.received_packets, 3u);
  EXPECT_EQ(rows[2].counts.received_bytes, 4u);
  EXPECT_EQ(rows[2].counts.path_mtu, 1400u);
  EXPECT_EQ(rows[2].counts.fragmentable_packets, 5u);
  EXPECT_EQ(rows[2].counts.other_source_packets, 6u);
  EXPECT_EQ(rows[2].counts.other_source, IpAddress::Parse("192.0.2.9"));
}

}  // namespace
}  // namespace weft::dataplane
