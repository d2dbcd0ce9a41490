// SPDX-License-Identifier: Apache-2.0
#include "dataplane/peer_table.h"

#include <gtest/gtest.h>

#include <set>

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
  PeerTable::Slot* const slot = &peers.slot(first);
  std::set<PeerId> ids{kNoPeer, first};
  for (int i = 0; i < 5000; ++i)
    EXPECT_TRUE(ids.insert(peers.Acquire("peer-" + std::to_string(i))).second);
  EXPECT_EQ(&peers.slot(first), slot);
  for (const PeerId id : ids) Add(peers.slot(id).sent_packets, id);
  for (const PeerId id : ids) EXPECT_EQ(peers.slot(id).sent_packets.load(), id);
}

TEST(PeerTable, ASlotTakenAgainStartsFromZero) {
  PeerTable peers;
  const PeerId old = peers.Acquire("old");
  PeerTable::Slot& slot = peers.slot(old);
  slot.sent_packets = slot.sent_bytes = slot.received_packets = slot.received_bytes = 1;
  slot.path_mtu = 1400;
  slot.path_mtu_expiry = 5;
  slot.fragmentable_packets = slot.other_source_packets = 1;
  peers.other_source(old).Store(*IpAddress::Parse("192.0.2.9"));
  peers.Release("old");
  EXPECT_EQ(peers.Acquire("new"), old);
  EXPECT_EQ(slot.sent_packets + slot.sent_bytes + slot.received_packets + slot.received_bytes, 0u);
  EXPECT_EQ(slot.path_mtu, 0u);
  EXPECT_EQ(slot.path_mtu_expiry, 0);
  EXPECT_EQ(slot.fragmentable_packets + slot.other_source_packets, 0u);
  EXPECT_EQ(peers.other_source(old).Load(), std::nullopt);
}

TEST(PeerTable, ReleasingAnUnknownPeerDoesNothing) {
  PeerTable peers;
  peers.Release("nobody");
  EXPECT_EQ(peers.Read().size(), 1u);
}

TEST(PeerTable, ReadsTheRowWithoutAPeerThenThePeersByName) {
  PeerTable peers;
  Add(peers.slot(kNoPeer).received_packets, 7);
  const PeerId b_id = peers.Acquire("b");
  PeerTable::Slot& b = peers.slot(b_id);
  peers.Acquire("a");
  b.sent_packets = 1;
  b.sent_bytes = 2;
  b.received_packets = 3;
  b.received_bytes = 4;
  b.path_mtu = 1400;
  b.fragmentable_packets = 5;
  b.other_source_packets = 6;
  peers.other_source(b_id).Store(*IpAddress::Parse("192.0.2.9"));
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
