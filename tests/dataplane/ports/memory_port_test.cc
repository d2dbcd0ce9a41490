// SPDX-License-Identifier: Apache-2.0
// Features of the memory port beyond the contract: bounds, descriptors, two threads.
#include "tests/support/memory_port.h"

#include <gtest/gtest.h>

#include <thread>

#include "dataplane/ports/port_rules.h"
#include "tests/dataplane/ports/port_harnesses.h"
#include "tests/support/packet_builder.h"

namespace weft::dataplane {
namespace {

Packet Lend(PacketSlab& slab, std::size_t index, const ByteVector& bytes) {
  Packet packet = slab.Lend(index);
  std::copy(bytes.begin(), bytes.end(), packet.data);
  packet.length = static_cast<std::uint32_t>(bytes.size());
  return packet;
}

TEST(MemoryPort, AFullQueueDropsWithTheKindsVerdict) {
  for (const PortKind kind :
       {PortKind::kPodL3, PortKind::kPodL2, PortKind::kWirePacket, PortKind::kWireDatagram}) {
    MemoryOptions options;
    options.kind = kind;
    options.capacity = 3;
    MemoryLink link = MemoryLink::Make(options);
    PacketSlab slab(5);
    Batch batch;
    for (std::size_t i = 0; i < 5; ++i) batch.Add(Lend(slab, i, MakePacket(kind, 1, 100)));
    link.first->Send(batch);
    EXPECT_EQ(batch[2].verdict, Verdict::kForward);
    EXPECT_EQ(batch[3].verdict, FullVerdict(kind));
    EXPECT_EQ(batch[4].verdict, FullVerdict(kind));
    EXPECT_EQ(link.second->Counts()[0].value, 3u);

    // Room returns when the receiver asks for the next batch, not while it works on this one.
    Batch received;
    EXPECT_EQ(link.second->Receive(received), 3u);
    batch.Truncate(1);
    link.first->Send(batch);
    EXPECT_EQ(batch[0].verdict, FullVerdict(kind));
    EXPECT_EQ(link.second->Receive(received), 0u);
    batch[0].verdict = Verdict::kForward;
    link.first->Send(batch);
    EXPECT_EQ(batch[0].verdict, Verdict::kForward);
    EXPECT_EQ(link.second->Receive(received), 1u);
  }
}

TEST(PortRules, ASuperframeHasASegmentSizeAndThePortItsFeature) {
  const struct {
    Segmentation segmentation;
    bool PortFeatures::*feature;
  } rows[] = {{Segmentation::kTcp, &PortFeatures::tcp_segmentation},
              {Segmentation::kUdp, &PortFeatures::udp_segmentation},
              {Segmentation::kDatagrams, &PortFeatures::datagram_aggregation}};
  Packet packet;
  packet.length = 1000;
  packet.checksum = ChecksumState::kPartial;
  for (const auto& [segmentation, feature] : rows) {
    packet.segmentation = segmentation;
    PortFeatures features;
    for (const std::uint16_t size : {std::uint16_t{0}, std::uint16_t{100}}) {
      packet.segment_size = size;
      EXPECT_FALSE(Accepts(features, packet));
      features.*feature = true;
      EXPECT_EQ(Accepts(features, packet), size != 0);
      features.*feature = false;
    }
  }
  packet.segmentation = Segmentation::kNone;
  EXPECT_FALSE(Accepts({}, packet));
  PortFeatures features;
  features.partial_checksum = true;
  EXPECT_TRUE(Accepts(features, packet));
}

TEST(MemoryPort, DescriptorsTravel) {
  PortFeatures features;
  features.tcp_segmentation = true;
  MemoryLink link = MemoryLink::Make(PortKind::kPodL3, features);
  PacketSlab slab(1);
  Batch batch;
  Packet& packet = batch.Add(Lend(slab, 0, MakePacket(PortKind::kPodL3, 1, 3000)));
  packet.segmentation = Segmentation::kTcp;
  packet.segment_size = 1400;
  packet.checksum = ChecksumState::kPartial;
  packet.checksum_start = 20;
  packet.checksum_offset = 16;
  packet.outer_port = 7;
  link.second->Send(batch);
  Batch received;
  ASSERT_EQ(link.first->Receive(received), 1u);
  EXPECT_EQ(received[0].segmentation, Segmentation::kTcp);
  EXPECT_EQ(received[0].segment_size, 1400);
  EXPECT_EQ(received[0].checksum, ChecksumState::kPartial);
  EXPECT_EQ(received[0].checksum_offset, 16);
  EXPECT_EQ(received[0].outer_port, 7);
  EXPECT_EQ(received[0].headroom, kHeadroom);
}

TEST(MemoryPort, ASuperframeWithoutSegmentSizeIsRefused) {
  PortFeatures features;
  features.tcp_segmentation = features.udp_segmentation = features.datagram_aggregation = true;
  for (const Segmentation segmentation :
       {Segmentation::kTcp, Segmentation::kUdp, Segmentation::kDatagrams}) {
    MemoryLink link = MemoryLink::Make(PortKind::kWireDatagram, features);
    PacketSlab slab(2);
    Batch batch;
    for (const std::uint16_t size : {std::uint16_t{0}, std::uint16_t{50}}) {
      Packet& packet =
          batch.Add(Lend(slab, size / 50u, MakePacket(PortKind::kWireDatagram, 1, 100)));
      packet.segmentation = segmentation;
      packet.segment_size = size;
    }
    link.first->Send(batch);
    EXPECT_EQ(batch[0].verdict, Verdict::kWireError);
    EXPECT_EQ(batch[1].verdict, Verdict::kForward);
  }
}

TEST(MemoryPort, DatagramsCarryTheSendersAddress) {
  MemoryOptions options;
  options.kind = PortKind::kWireDatagram;
  options.first_address = Ip("192.0.2.1");
  options.second_address = Ip("192.0.2.2");
  MemoryLink link = MemoryLink::Make(options);
  SendBytes(*link.first, MakePacket(PortKind::kWireDatagram, 1, 100), Ip("192.0.2.2"));
  SendBytes(*link.second, MakePacket(PortKind::kWireDatagram, 1, 100), Ip("192.0.2.1"));
  Batch received;
  ASSERT_EQ(link.second->Receive(received), 1u);
  EXPECT_EQ(received[0].outer_address, Ip("192.0.2.1"));
  ASSERT_EQ(link.first->Receive(received), 1u);
  EXPECT_EQ(received[0].outer_address, Ip("192.0.2.2"));
}

TEST(MemoryPort, OneEndMayBeDestroyed) {
  MemoryLink link = MemoryLink::Make(PortKind::kPodL3);
  SendBytes(*link.first, MakePacket(PortKind::kPodL3, 1, 100));
  link.first.reset();
  EXPECT_EQ(ReceiveBytes(*link.second).size(), 1u);
  SendBytes(*link.second, MakePacket(PortKind::kPodL3, 2, 100));
}

TEST(MemoryPort, TwoThreadsTransferEverythingInOrder) {
  constexpr std::uint32_t kCount = 50'000;
  MemoryOptions options;
  options.kind = PortKind::kWireDatagram;
  options.capacity = 64;
  options.max_packet = 256;
  MemoryLink link = MemoryLink::Make(options);
  std::jthread sender([&] {
    PacketSlab slab(16);
    Batch batch;
    for (std::uint32_t next = 0; next < kCount;) {
      batch.clear();
      for (std::uint32_t i = 0; i < 16 && next + i < kCount; ++i) {
        batch.Add(Lend(slab, i, MakePacket(PortKind::kWireDatagram, next + i, 64)));
      }
      link.first->Send(batch);
      // Packets without room are offered again: the first refused one and all after it, because the
      // queue may have been drained in between.
      for (const Packet& packet : batch) {
        if (packet.verdict != Verdict::kForward) break;
        ++next;
      }
      std::this_thread::yield();
    }
  });
  Batch received;
  std::uint32_t expected = 0;
  std::uint32_t wrong = 0;
  while (expected < kCount) {
    link.second->Receive(received);
    for (const Packet& packet : received) {
      const std::uint32_t number = LoadBe32(packet.data);
      // A repeat of a packet that was accepted after a refused one.
      if (number < expected) continue;
      if (number == expected) ++expected;
      if (packet.data[4] != static_cast<std::byte>(number + 4 * 7)) ++wrong;
    }
    std::this_thread::yield();
  }
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace weft::dataplane
