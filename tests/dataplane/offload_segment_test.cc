// SPDX-License-Identifier: Apache-2.0
// SuperframeCutter against packets built one by one.
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "tests/dataplane/support.h"
#include "vxlan/checksum.h"
#include "vxlan/flow_hash.h"

namespace weft::dataplane {
namespace {

struct Flow {
  const char* description;
  bool is_v4;
  bool is_tcp;
  std::uint16_t flags;
  std::size_t payload;
  std::uint16_t segment_size;
};

ByteVector Pattern(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  ByteVector bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

PacketBuilder Builder(const Flow& flow, const ByteVector& payload, std::size_t from,
                      std::size_t size, std::uint16_t index, bool last) {
  PacketBuilder builder(flow.is_v4 ? "10.244.2.9" : "fd00:2::9",
                        flow.is_v4 ? "10.244.1.7" : "fd00:1::7");
  if (flow.is_tcp) {
    std::uint16_t flags = flow.flags;
    if (!last) flags = static_cast<std::uint16_t>(flags & ~(TcpHeader::kFin | TcpHeader::kPsh));
    if (index != 0) flags = static_cast<std::uint16_t>(flags & ~TcpHeader::kCwr);
    builder.Tcp(4000, 80, flags, static_cast<std::uint32_t>(0xffff'ff00 + from), 77)
        .TcpTimestamps();
  } else {
    builder.Udp(4000, 80);
  }
  builder.Payload(ByteVector(payload.begin() + static_cast<std::ptrdiff_t>(from),
                             payload.begin() + static_cast<std::ptrdiff_t>(from + size)));
  if (flow.is_v4) builder.Identification(static_cast<std::uint16_t>(0xfffe + index)).DontFragment();
  return builder.MarkEcn(Ecn::kEct0);
}

// The segments, built from scratch.
std::vector<ByteVector> SlowSegments(const Flow& flow, const ByteVector& payload) {
  std::vector<ByteVector> segments;
  for (std::size_t from = 0; from < payload.size(); from += flow.segment_size) {
    const std::size_t size = std::min<std::size_t>(flow.segment_size, payload.size() - from);
    segments.push_back(Builder(flow, payload, from, size,
                               static_cast<std::uint16_t>(segments.size()),
                               from + size == payload.size())
                           .Build());
  }
  return segments;
}

ByteVector SuperframeBytes(const Flow& flow, const ByteVector& payload) {
  return Builder(flow, payload, 0, payload.size(), 0, true).Build();
}

VxlanBuilder Outer(const ByteVector& inner, bool udp_checksum) {
  VxlanBuilder builder(inner);
  builder.Outer("192.0.2.2", "192.0.2.1")
      .Ports(OuterSourcePort(HashInnerFlow(inner)))
      .Macs(Mac("02:00:00:00:00:02"), Mac("02:00:00:00:00:01"))
      .MarkEcn(Ecn::kEct0);
  if (udp_checksum) builder.UdpChecksum();
  return builder;
}

const Flow kFlows[] = {
    {"TCP, two", true, true, TcpHeader::kAck, 2000, 1000},
    {"TCP, last shorter, all flags", true, true,
     TcpHeader::kAck | TcpHeader::kPsh | TcpHeader::kFin | TcpHeader::kCwr | TcpHeader::kEce, 2345,
     1000},
    {"TCP, odd sizes", true, true, TcpHeader::kAck | TcpHeader::kPsh, 3333, 667},
    {"TCP, largest", true, true, TcpHeader::kAck, 65'000, 1398},
    {"UDP", true, false, 0, 1999, 333},
    {"UDP, last of one byte", true, false, 0, 1001, 500},
    {"TCP over IPv6", false, true, TcpHeader::kAck | TcpHeader::kPsh, 64'000, 1378},
    {"UDP over IPv6", false, false, 0, 4001, 1000},
};

struct Cutting {
  std::unique_ptr<Batch> out = std::make_unique<Batch>();
  PacketSlab slab{64};
  std::size_t buffers = 0;
};

void CutAll(const Packet& superframe, PortKind kind, const PortFeatures& features,
            Cutting& cutting) {
  SuperframeCutter cutter(superframe, kind, features);
  while (!cutter.done()) {
    ASSERT_LT(cutting.buffers, cutting.slab.count());
    const Packet buffer = cutting.slab.Lend(cutting.buffers++);
    cutter.Cut(buffer, *cutting.out);
    const Packet& last = (*cutting.out)[cutting.out->size() - 1];
    ASSERT_LE(last.data + last.length, buffer.data + buffer.tailroom);
  }
}

std::vector<ByteVector> Datagrams(const Batch& batch) {
  std::vector<ByteVector> datagrams;
  auto views = std::make_unique<Batch>();
  for (const Packet& packet : batch) {
    views->clear();
    EXPECT_EQ(SplitAggregate(packet, 0, *views), packet.length);
    for (const Packet& view : *views) datagrams.push_back(BytesOf(view));
  }
  return datagrams;
}

TEST(SuperframeCutter, AgreesWithASlowSegmenterForDatagramWires) {
  for (const Flow& flow : kFlows) {
    const ByteVector payload = Pattern(flow.payload, 1);
    ForwarderConfig config = DefaultConfig();
    config.wire = PortKind::kWireDatagram;
    Node node(config);
    const Packet& superframe = node.Encapsulate(node.buffers.MakeSuperframe(
        SuperframeBytes(flow, payload), flow.is_tcp ? Segmentation::kTcp : Segmentation::kUdp,
        flow.segment_size));
    ASSERT_EQ(superframe.verdict, Verdict::kForward) << flow.description;
    for (const bool aggregates : {true, false}) {
      PortFeatures features;
      features.datagram_aggregation = aggregates;
      features.max_segments = 7;
      features.max_aggregate = 9000;
      Cutting cutting;
      CutAll(superframe, PortKind::kWireDatagram, features, cutting);
      for (const Packet& packet : *cutting.out) {
        EXPECT_LE(WirePackets(packet), 7u);
        EXPECT_LE(packet.length, 9000u);
        EXPECT_EQ(packet.checksum, ChecksumState::kOnWire);
        EXPECT_EQ(packet.outer_address, Ip("192.0.2.1"));
        EXPECT_GE(packet.headroom, kHeadroom);
        if (!aggregates) {
          EXPECT_EQ(packet.segmentation, Segmentation::kNone);
        }
      }
      const std::vector<ByteVector> desired = SlowSegments(flow, payload);
      const std::vector<ByteVector> got = Datagrams(*cutting.out);
      ASSERT_EQ(got.size(), desired.size()) << flow.description;
      for (std::size_t i = 0; i < desired.size(); ++i) {
        ASSERT_EQ(Show(got[i], FrameStart::kVxlan),
                  Show(Outer(desired[i], false).BuildPayload(), FrameStart::kVxlan))
            << flow.description << ", segment " << i;
      }
    }
  }
}

TEST(SuperframeCutter, MakesWholeOuterPackets) {
  for (const bool udp_checksum : {true, false}) {
    for (const Flow& flow : kFlows) {
      const ByteVector payload = Pattern(flow.payload, 2);
      ForwarderConfig config = DefaultConfig();
      config.local.udp_checksum = udp_checksum;
      Node node(config);
      const Packet& superframe = node.Encapsulate(node.buffers.MakeSuperframe(
          SuperframeBytes(flow, payload), flow.is_tcp ? Segmentation::kTcp : Segmentation::kUdp,
          flow.segment_size));
      ASSERT_EQ(superframe.verdict, Verdict::kForward) << flow.description;
      Cutting cutting;
      CutAll(superframe, PortKind::kWirePacket, PortFeatures{}, cutting);
      const std::vector<ByteVector> desired = SlowSegments(flow, payload);
      ASSERT_EQ(cutting.out->size(), desired.size()) << flow.description;
      for (std::size_t i = 0; i < desired.size(); ++i) {
        ASSERT_EQ(Show((*cutting.out)[i].bytes(), FrameStart::kOuterIp),
                  Show(Outer(desired[i], udp_checksum).Build(), FrameStart::kOuterIp))
            << flow.description << ", segment " << i;
      }
    }
  }
}

TEST(SuperframeCutter, MakesWholeOuterPacketsOverIpv6) {
  ForwarderConfig config = DefaultConfig();
  config.local.outer_source = Ip("2001:db8::2");
  Node node(config);
  const ByteVector inner =
      PacketBuilder("10.244.2.9", "10.244.6.7").Udp(7, 8).Payload(2000).Build();
  const Packet& superframe =
      node.Encapsulate(node.buffers.MakeSuperframe(inner, Segmentation::kUdp, 1000));
  ASSERT_EQ(superframe.verdict, Verdict::kForward);
  Cutting cutting;
  CutAll(superframe, PortKind::kWirePacket, PortFeatures{}, cutting);
  ASSERT_EQ(cutting.out->size(), 2u);
  const ByteVector whole =
      PacketBuilder("10.244.2.9", "10.244.6.7").Udp(7, 8).Payload(2000).Build();
  for (std::size_t i = 0; i < 2; ++i) {
    const auto from = whole.begin() + 28 + static_cast<std::ptrdiff_t>(1000 * i);
    const ByteVector segment = PacketBuilder("10.244.2.9", "10.244.6.7")
                                   .Udp(7, 8)
                                   .Payload(ByteVector(from, from + 1000))
                                   .Identification(static_cast<std::uint32_t>(i))
                                   .Build();
    VxlanBuilder desired(segment);
    desired.Outer("2001:db8::2", "2001:db8::6")
        .Ports(OuterSourcePort(HashInnerFlow(segment)))
        .Macs(Mac("02:00:00:00:00:02"), Mac("02:00:00:00:00:06"))
        .UdpChecksum();
    EXPECT_EQ(Show((*cutting.out)[i].bytes(), FrameStart::kOuterIp),
              Show(desired.Build(), FrameStart::kOuterIp));
  }
}

// RFC 8200 section 8.1: after a routing header the checksum uses the final destination.
TEST(SuperframeCutter, TheChecksumKeepsTheDestinationThatTheSenderMeant) {
  ByteVector inner = PacketBuilder("fd00:2::9", "fd00:1::7")
                         .Ipv6DestinationOptions(24)
                         .Tcp(1, 2)
                         .Payload(2500)
                         .Build();
  const IpAddress last = Ip("fd00:1::99");
  Store8(inner.data() + 6, static_cast<std::uint8_t>(IpProtocol::kRouting));
  StoreBe64(inner.data() + 40, 0x0602'0201'0000'0000);  // then TCP; type 2 (RFC 6275 section 6.4)
  std::copy(last.bytes().begin(), last.bytes().end(), inner.begin() + 48);
  Buffers buffers;
  Packet superframe = buffers.MakeSuperframe(inner, Segmentation::kTcp, 1000);
  ASSERT_EQ(superframe.checksum_start, 64);
  const auto pseudo = [&](std::size_t bytes) {
    return PseudoHeader(Ip("fd00:2::9"), last, IpProtocol::kTcp,
                        static_cast<std::uint32_t>(bytes - 64));
  };
  StoreBe16(superframe.data + 64 + 16, pseudo(inner.size()).Fold());
  Cutting cutting;
  CutAll(superframe, PortKind::kWireDatagram, {}, cutting);
  ASSERT_EQ(cutting.out->size(), 3u);
  for (const Packet& segment : *cutting.out) {
    EXPECT_TRUE((pseudo(segment.length) + Sum(segment.bytes().subspan(64))).IsRight());
  }
}

TEST(SuperframeCutter, AnAggregateOfOneIsAPlainPacket) {
  ForwarderConfig config = DefaultConfig();
  config.wire = PortKind::kWireDatagram;
  Node node(config);
  const Flow flow{"", true, true, TcpHeader::kAck, 2000, 1000};
  const Packet& superframe = node.Encapsulate(node.buffers.MakeSuperframe(
      SuperframeBytes(flow, Pattern(2000, 3)), Segmentation::kTcp, 1000));
  PortFeatures features;
  features.datagram_aggregation = true;
  features.max_segments = 1;
  Cutting cutting;
  CutAll(superframe, PortKind::kWireDatagram, features, cutting);
  ASSERT_EQ(cutting.out->size(), 2u);
  for (const Packet& packet : *cutting.out) {
    EXPECT_EQ(packet.segmentation, Segmentation::kNone);
    EXPECT_EQ(packet.segment_size, 0);
  }
}

TEST(SuperframeCutter, AFullBatchStopsIt) {
  const Flow flow{"", true, true, TcpHeader::kAck, 2000, 1000};
  Node node;
  const Packet& superframe = node.Encapsulate(node.buffers.MakeSuperframe(
      SuperframeBytes(flow, Pattern(2000, 3)), Segmentation::kTcp, 1000));
  SuperframeCutter cutter(superframe, PortKind::kWirePacket, PortFeatures{});
  Cutting cutting;
  while (cutting.out->size() < kMaxBatch - 1) cutting.out->Add(Packet());
  cutter.Cut(cutting.slab.Lend(0), *cutting.out);
  EXPECT_TRUE(cutting.out->full());
  EXPECT_FALSE(cutter.done());
}

}  // namespace
}  // namespace weft::dataplane
