// SPDX-License-Identifier: Apache-2.0
#include "dataplane/offload.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/dataplane/support.h"
#include "vxlan/transport_checksum.h"

namespace weft::dataplane {
namespace {

TEST(WirePackets, CountsThePacketsOfADescriptor) {
  Buffers buffers;
  const ByteVector tcp =
      PacketBuilder("10.1.0.1", "10.2.0.1").Tcp(1, 2).Payload(2500).Build();  // 20 + 20 + 2500
  const ByteVector udp =
      PacketBuilder("fd00::1", "fd00::2").Udp(1, 2).Payload(2000).Build();  // 40 + 8 + 2000
  const auto aggregate = [&](std::size_t bytes, std::uint16_t size) {
    Packet packet = buffers.Make(ByteVector(bytes));
    packet.segmentation = Segmentation::kDatagrams;
    packet.segment_size = size;
    return packet;
  };
  const struct {
    const char* description;
    Packet packet;
    std::uint32_t packets;
    std::uint64_t bytes;
  } rows[] = {
      {"plain", buffers.Make(tcp), 1, 2540},
      {"TCP, last shorter", buffers.MakeSuperframe(tcp, Segmentation::kTcp, 1000), 3,
       2500 + 3 * 40},
      {"TCP, even", buffers.MakeSuperframe(tcp, Segmentation::kTcp, 1250), 2, 2500 + 2 * 40},
      {"TCP, one", buffers.MakeSuperframe(tcp, Segmentation::kTcp, 2500), 1, 2540},
      {"UDP over IPv6", buffers.MakeSuperframe(udp, Segmentation::kUdp, 500), 4, 2000 + 4 * 48},
      {"aggregate", aggregate(1001, 500), 3, 1001},
      {"aggregate of one", aggregate(500, 500), 1, 500},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(WirePackets(row.packet), row.packets) << row.description;
    EXPECT_EQ(InnerBytes(row.packet), row.bytes) << row.description;
  }
}

TEST(WirePackets, ASuperframeWithoutASegmentSizeIsOnePacket) {
  Buffers buffers;
  const ByteVector tcp = PacketBuilder("10.1.0.1", "10.2.0.1").Tcp(1, 2).Payload(2500).Build();
  const Packet packet = buffers.MakeSuperframe(tcp, Segmentation::kTcp, 0);
  EXPECT_EQ(WirePackets(packet), 1u);
  EXPECT_EQ(InnerBytes(packet), 2540u);
}

// Not a plain packet whose size the port knows; and an aggregate has no TCP header to leave out.
TEST(WirePackets, OnlyASuperframeHasSegmentsAndAHeader) {
  Buffers buffers;
  Packet packet = buffers.Make(ByteVector(2020, std::byte{0xf0}));
  packet.segment_size = 1000;
  EXPECT_EQ(WirePackets(packet), 1u);
  packet.segmentation = Segmentation::kDatagrams;
  EXPECT_EQ(WirePackets(packet), 3u);
}

// Ports deliver what the kernel or a file contains; zero marks a contradiction.
TEST(SuperframeHeaderLength, IsZeroUnlessTheTransportHeaderLiesInsideThePacket) {
  const ByteVector tcp = PacketBuilder("10.1.0.1", "10.2.0.1").Tcp(1, 2).Payload(4).Build();  // 44
  const struct {
    const char* description;
    Segmentation segmentation;
    std::uint16_t start;
    std::uint8_t data_offset;  // TCP: in words of 4 bytes
    std::uint32_t length;
  } rows[] = {
      {"TCP", Segmentation::kTcp, 20, 5, 40},
      {"TCP, options to the very end", Segmentation::kTcp, 20, 6, 44},
      {"TCP, options beyond the end", Segmentation::kTcp, 20, 7, 0},
      {"TCP, a header shorter than TCP's", Segmentation::kTcp, 20, 4, 0},
      {"TCP, a start just inside", Segmentation::kTcp, 24, 5, 44},
      {"TCP, a start beyond", Segmentation::kTcp, 25, 5, 0},
      {"UDP", Segmentation::kUdp, 20, 5, 28},
      {"UDP, a start just inside", Segmentation::kUdp, 36, 5, 44},
      {"UDP, a start beyond", Segmentation::kUdp, 37, 5, 0},
  };
  for (const auto& row : rows) {
    Buffers buffers;
    Packet packet = buffers.Make(tcp);
    packet.segmentation = row.segmentation;
    packet.checksum_start = row.start;
    packet.data[row.start + 12u < 44u ? row.start + 12u : 32u] =
        static_cast<std::byte>(row.data_offset << 4);
    EXPECT_EQ(SuperframeHeaderLength(packet), row.length) << row.description;
  }
}

TEST(CompleteChecksum, EqualsTheChecksumOfASenderWithoutOffload) {
  Buffers buffers;
  for (const std::size_t payload : {0u, 1u, 2u, 63u, 1400u}) {
    for (const PacketBuilder& builder :
         {PacketBuilder("10.1.0.1", "10.2.0.1").Tcp(1, 2).Payload(payload),
          PacketBuilder("fd00::1", "fd00::2").Udp(1, 2).Payload(payload)}) {
      Packet packet = buffers.MakeSuperframe(
          PacketBuilder(builder).PartialTransportChecksum().Build(),
          LoadBe16(builder.Build().data()) >> 12 == 4 ? Segmentation::kTcp : Segmentation::kUdp, 1);
      packet.segmentation = Segmentation::kNone;
      EXPECT_TRUE(CompleteChecksum(packet));
      EXPECT_EQ(packet.checksum, ChecksumState::kOnWire);
      EXPECT_EQ(Show(packet.bytes(), FrameStart::kInnerIp),
                Show(builder.Build(), FrameStart::kInnerIp));
    }
  }
}

TEST(CompleteChecksum, RefusesAFieldOutsideThePacket) {
  Buffers buffers;
  Packet packet = buffers.Make(ByteVector(40));
  packet.checksum = ChecksumState::kPartial;
  packet.checksum_start = 30;
  packet.checksum_offset = 9;
  EXPECT_FALSE(CompleteChecksum(packet));
  EXPECT_EQ(packet.checksum, ChecksumState::kPartial);
  packet.checksum_offset = 8;
  EXPECT_TRUE(CompleteChecksum(packet));
}

TEST(SplitAggregate, GivesViewsOfEveryDatagram) {
  Buffers buffers;
  ByteVector bytes(250);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  Packet aggregate = buffers.Make(bytes);
  aggregate.segmentation = Segmentation::kDatagrams;
  aggregate.segment_size = 100;
  aggregate.outer_address = Ip("192.0.2.1");
  auto out = std::make_unique<Batch>();
  EXPECT_EQ(SplitAggregate(aggregate, 0, *out), 250u);
  ASSERT_EQ(out->size(), 3u);
  const std::uint32_t lengths[] = {100, 100, 50};
  for (std::size_t i = 0; i < 3; ++i) {
    const Packet& datagram = (*out)[i];
    EXPECT_EQ(datagram.data, aggregate.data + 100 * i);
    EXPECT_EQ(datagram.length, lengths[i]);
    EXPECT_EQ(datagram.segmentation, Segmentation::kNone);
    EXPECT_EQ(datagram.outer_address, Ip("192.0.2.1"));
    EXPECT_EQ(datagram.headroom, i == 0 ? aggregate.headroom : 0u);
    EXPECT_EQ(datagram.tailroom, i == 2 ? aggregate.tailroom : 0u);
  }
}

TEST(SplitAggregate, WithoutASizeItIsOneDatagram) {
  Buffers buffers;
  Packet aggregate = buffers.Make(ByteVector(250));
  aggregate.segmentation = Segmentation::kDatagrams;
  auto out = std::make_unique<Batch>();
  EXPECT_EQ(SplitAggregate(aggregate, 0, *out), 250u);
  ASSERT_EQ(out->size(), 1u);
  EXPECT_EQ((*out)[0].length, 250u);
}

// A superframe that the underlay did not cut: DetectSuperframe keeps its segments' size.
TEST(SplitAggregate, AnotherPacketStaysWhole) {
  Buffers buffers;
  Packet superframe = buffers.Make(ByteVector(250));
  superframe.segment_size = 18;
  auto out = std::make_unique<Batch>();
  EXPECT_EQ(SplitAggregate(superframe, 0, *out), 250u);
  ASSERT_EQ(out->size(), 1u);
  EXPECT_EQ((*out)[0].length, 250u);
  EXPECT_EQ((*out)[0].segment_size, 18u);
}

TEST(SplitAggregate, ContinuesWhereAFullBatchStoppedIt) {
  Buffers buffers;
  Packet aggregate = buffers.Make(ByteVector(300 * 30));
  aggregate.segmentation = Segmentation::kDatagrams;
  aggregate.segment_size = 30;
  auto out = std::make_unique<Batch>();
  const std::uint32_t stopped = SplitAggregate(aggregate, 0, *out);
  EXPECT_EQ(stopped, kMaxBatch * 30);
  EXPECT_TRUE(out->full());
  EXPECT_EQ(SplitAggregate(buffers.Make(ByteVector(9)), 0, *out), 0u) << "nor a plain packet";
  out->clear();
  EXPECT_EQ(SplitAggregate(aggregate, stopped, *out), aggregate.length);
  EXPECT_EQ(out->size(), 300 - kMaxBatch);
  EXPECT_EQ((*out)[0].data, aggregate.data + stopped);
}

}  // namespace
}  // namespace weft::dataplane
