// SPDX-License-Identifier: Apache-2.0
#include "dataplane/packet.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <set>

#include "vxlan/encapsulation.h"

namespace weft::dataplane {
namespace {

std::uintptr_t Address(const std::byte* at) { return std::bit_cast<std::uintptr_t>(at); }

TEST(Packet, HeadroomHoldsTheLargestHeaders) {
  constexpr std::size_t kOuterEthernet = 14;
  constexpr std::size_t kVirtioNetHeader = 12;
  EXPECT_LE(EncapsulationTemplate::kMaxSize + kOuterEthernet + kVirtioNetHeader, kHeadroom);
}

TEST(Packet, PushAndPullAreInverse) {
  std::byte bytes[64];
  Packet packet;
  packet.data = bytes + 32;
  packet.length = 10;
  packet.headroom = 32;
  EXPECT_EQ(packet.Push(22), bytes + 10);
  EXPECT_EQ(packet.length, 32u);
  EXPECT_EQ(packet.headroom, 10u);
  packet.Pull(22);
  EXPECT_EQ(packet.data, bytes + 32);
  EXPECT_EQ(packet.length, 10u);
  EXPECT_EQ(packet.headroom, 32u);
}

TEST(PacketSlab, LendsRoomThatDoesNotOverlap) {
  PacketSlab slab(3);
  for (std::size_t i = 0; i < slab.count(); ++i) {
    const Packet packet = slab.Lend(i);
    EXPECT_EQ(packet.length, 0u);
    EXPECT_EQ(packet.headroom, kHeadroom);
    EXPECT_EQ(packet.tailroom, kMaxPacket);
    std::memset(packet.data - packet.headroom, static_cast<int>(i),
                packet.headroom + packet.tailroom);
  }
  for (std::size_t i = 0; i < slab.count(); ++i) {
    const Packet packet = slab.Lend(i);
    EXPECT_EQ(packet.data[-128], static_cast<std::byte>(i));
    EXPECT_EQ(packet.data[kMaxPacket - 1], static_cast<std::byte>(i));
  }
}

TEST(PacketSlab, BuffersStartCacheLinesAndSpreadOverTheSetsOfTheCache) {
  PacketSlab slab;
  std::set<std::uintptr_t> sets;
  for (std::size_t i = 0; i < slab.count(); ++i) {
    EXPECT_EQ(Address(slab.Lend(i).data) % 64, 0u);
    sets.insert(Address(slab.Lend(i).data) / 64 % 64);  // a 48 KiB, 12-way cache has 64 sets
  }
  EXPECT_EQ(sets.size(), 64u);
}

TEST(Batch, HoldsItsCapacity) {
  auto batch = std::make_unique<Batch>();
  EXPECT_TRUE(batch->empty());
  while (!batch->full()) batch->Add(Packet{});
  EXPECT_EQ(batch->size(), kMaxBatch);
  EXPECT_EQ(batch->end() - batch->begin(), static_cast<std::ptrdiff_t>(kMaxBatch));
  batch->Truncate(3);
  EXPECT_EQ(batch->size(), 3u);
  batch->clear();
  EXPECT_TRUE(batch->empty());
}

}  // namespace
}  // namespace weft::dataplane
