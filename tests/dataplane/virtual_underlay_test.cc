// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_underlay.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/dataplane/support.h"
#include "vxlan/transport_checksum.h"

namespace weft::dataplane {
namespace {

const InnerMtu kMtu = *InnerMtu::From(1450);

PacketBuilder Tcp(std::size_t payload) {
  return PacketBuilder("10.244.1.7", "10.244.2.9").Tcp(80, 4000).Payload(payload);
}
PacketBuilder Udp(std::size_t payload) {
  return PacketBuilder("10.244.1.7", "10.244.2.9").Udp(80, 4000).Payload(payload);
}

TEST(VirtualUnderlay, RecognizesPartialChecksumsAndUncutFrames) {
  const struct {
    const char* description;
    ByteVector packet;
    std::uint16_t segment_size;  // as the port reports it
    ChecksumState checksum;
    Segmentation segmentation;
    std::uint16_t desired_segment_size;
  } rows[] = {
      {"finished", Tcp(100).Build(), 0, ChecksumState::kOnWire, Segmentation::kNone, 0},
      {"wrong, not unfinished", Tcp(100).WrongTransportChecksum().Build(), 0,
       ChecksumState::kOnWire, Segmentation::kNone, 0},
      {"no checksum", PacketBuilder("10.244.1.7", "10.244.2.9").UdpWithoutChecksum(1, 2).Build(), 0,
       ChecksumState::kOnWire, Segmentation::kNone, 0},
      {"unfinished TCP", Tcp(100).PartialTransportChecksum().Build(), 0, ChecksumState::kPartial,
       Segmentation::kNone, 0},
      {"unfinished UDP", Udp(100).PartialTransportChecksum().Build(), 0, ChecksumState::kPartial,
       Segmentation::kNone, 0},
      {"TCP of just the MTU", Tcp(1410).PartialTransportChecksum().Build(), 0,
       ChecksumState::kPartial, Segmentation::kNone, 0},
      {"TCP superframe: cut to the MTU", Tcp(1411).PartialTransportChecksum().Build(), 0,
       ChecksumState::kPartial, Segmentation::kTcp, 1410},
      {"TCP of just the MTU that the port knows the size of",
       Tcp(1410).PartialTransportChecksum().Build(), 18, ChecksumState::kPartial,
       Segmentation::kNone, 18},
      {"UDP superframe: the port knows its size", Udp(200).PartialTransportChecksum().Build(), 18,
       ChecksumState::kPartial, Segmentation::kUdp, 18},
      {"an unfinished ping longer than the MTU, no TCP",
       PacketBuilder("fd00:1::7", "fd00:2::9")
           .Ping(1, 1)
           .Payload(ByteVector(3000, std::byte{0x50}))
           .PartialTransportChecksum()
           .Build(),
       0, ChecksumState::kPartial, Segmentation::kNone, 0},
      {"UDP longer than the MTU, of unknown size", Udp(3000).PartialTransportChecksum().Build(), 0,
       ChecksumState::kPartial, Segmentation::kNone, 0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.description);
    Buffers buffers;
    const auto batch = std::make_unique<Batch>();
    batch->Add(buffers.Make(row.packet)).segment_size = row.segment_size;
    AcceptUnfinished(*batch, kMtu, SegmentSizes());
    const Packet& packet = (*batch)[0];
    EXPECT_EQ(packet.checksum, row.checksum);
    EXPECT_EQ(packet.segmentation, row.segmentation);
    EXPECT_EQ(packet.segment_size, row.desired_segment_size);
    EXPECT_EQ(BytesOf(packet), row.packet) << "only the descriptor changes";
    if (row.checksum != ChecksumState::kPartial || row.segmentation != Segmentation::kNone)
      continue;
    ASSERT_TRUE(CompleteChecksum((*batch)[0]));
    EXPECT_EQ(VerifyTransportChecksum(packet.bytes()), TransportChecksum::kRight);
  }
}

// A device so small that not even the headers fit: the packet passes unchanged.
TEST(VirtualUnderlay, AHeaderAsLongAsTheMtuMakesNoSuperframe) {
  Buffers buffers;
  const auto batch = std::make_unique<Batch>();
  batch->Add(
      buffers.Make(Tcp(200).TcpTimestamps().Ipv4Options(20).PartialTransportChecksum().Build()));
  AcceptUnfinished(*batch, *InnerMtu::From(72), SegmentSizes());  // 40 bytes of IP, 32 of TCP
  EXPECT_EQ((*batch)[0].segmentation, Segmentation::kNone);
  EXPECT_EQ((*batch)[0].checksum, ChecksumState::kPartial);
  const auto other = std::make_unique<Batch>();
  other->Add(
      buffers.Make(Tcp(200).TcpTimestamps().Ipv4Options(20).PartialTransportChecksum().Build()));
  AcceptUnfinished(*other, *InnerMtu::From(73), SegmentSizes());
  EXPECT_EQ((*other)[0].segmentation, Segmentation::kTcp);
  EXPECT_EQ((*other)[0].segment_size, 1);
}

TEST(VirtualUnderlay, DroppedAndMarkedPacketsAreNotTouched) {
  Buffers buffers;
  const auto batch = std::make_unique<Batch>();
  batch->Add(buffers.Make(Tcp(100).PartialTransportChecksum().Build())).verdict =
      Verdict::kForeignMac;
  AcceptUnfinished(*batch, kMtu, SegmentSizes());
  batch->Add((*batch)[0]).verdict = Verdict::kForward;
  (*batch)[1].segmentation = Segmentation::kTcp;
  batch->Add((*batch)[0]).verdict = Verdict::kForward;
  (*batch)[2].checksum = ChecksumState::kPartial;
  AcceptUnfinished(*batch, kMtu, SegmentSizes());
  EXPECT_EQ((*batch)[0].checksum, ChecksumState::kOnWire);
  EXPECT_EQ((*batch)[1].checksum, ChecksumState::kOnWire) << "a superframe already";
  EXPECT_EQ((*batch)[2].checksum_start, 0) << "the port has set it";
}

// The first datagram of an aggregate may be forged, and the rest may be valid.
TEST(VirtualUnderlay, AnAggregateThatIsOneUnfinishedUdpPacketIsASuperframe) {
  Buffers buffers;
  const auto received = [&](const ByteVector& payload, std::size_t segment_size) {
    Packet packet = buffers.Make(payload);
    packet.segmentation = Segmentation::kDatagrams;
    packet.segment_size = static_cast<std::uint16_t>(segment_size);
    DetectSuperframe(packet);
    return packet.segmentation;
  };
  const ByteVector one = VxlanBuilder(Udp(100).Build()).BuildPayload();
  const ByteVector two = Concatenate(one, one);
  const ByteVector uncut = VxlanBuilder(Udp(100).PartialTransportChecksum().Build()).BuildPayload();
  EXPECT_EQ(received(uncut, 18), Segmentation::kNone) << "18 is the inner segment size";
  EXPECT_EQ(received(two, one.size()), Segmentation::kDatagrams) << "two whole datagrams";
  EXPECT_EQ(received(one, 18), Segmentation::kDatagrams) << "its checksum is finished";
  EXPECT_EQ(received(Concatenate(uncut, one), uncut.size()), Segmentation::kDatagrams)
      << "it ends before the aggregate does";
  ByteVector greedy = Concatenate(uncut, one);  // claims the valid one as its own payload
  StoreBe16(greedy.data() + 22 + 2, static_cast<std::uint16_t>(greedy.size() - 22));
  EXPECT_EQ(received(greedy, uncut.size()), Segmentation::kDatagrams)
      << "its UDP header contradicts it";
  const ByteVector tcp = VxlanBuilder(Tcp(100).PartialTransportChecksum().Build()).BuildPayload();
  EXPECT_EQ(received(tcp, 18), Segmentation::kDatagrams) << "the kernel reports sizes of UDP only";
  EXPECT_EQ(received(ByteVector(7), 5), Segmentation::kDatagrams) << "no room for a VXLAN header";
  EXPECT_EQ(received(ByteVector(100), 50), Segmentation::kDatagrams) << "no VXLAN: not judged here";
}

TEST(VirtualUnderlay, MoreUdpSegmentsThanAnySocketSendsAreRefused) {
  Buffers buffers;
  const auto verdict = [&](std::size_t payload) {
    const auto batch = std::make_unique<Batch>();
    batch->Add(buffers.Make(Udp(payload).PartialTransportChecksum().Build())).segment_size = 18;
    AcceptUnfinished(*batch, kMtu, SegmentSizes());
    return (*batch)[0].verdict;
  };
  EXPECT_EQ(verdict(128 * 18), Verdict::kForward);
  EXPECT_EQ(verdict(128 * 18 + 1), Verdict::kTinySegments);
}

}  // namespace
}  // namespace weft::dataplane
