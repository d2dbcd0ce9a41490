// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/dataplane/support.h"
#include "vxlan/flow_hash.h"
#include "vxlan/transport_checksum.h"

namespace weft::dataplane {
namespace {

PacketBuilder ToPeer() {
  return PacketBuilder("10.244.2.9", "10.244.1.7").Udp(4000, 53).Payload(20);
}

// The packet that the peer must receive for `inner`.
VxlanBuilder Desired(const ByteVector& inner) {
  VxlanBuilder builder(inner);
  builder.Outer("192.0.2.2", "192.0.2.1")
      .Ports(OuterSourcePort(HashInnerFlow(inner)))
      .Macs(Mac("02:00:00:00:00:02"), Mac("02:00:00:00:00:01"))
      .UdpChecksum();
  return builder;
}

std::string ShowOuter(const Packet& packet) { return Show(packet.bytes(), FrameStart::kOuterIp); }

TEST(Encapsulate, StampsTheWholeOuterPacket) {
  Node node;
  const ByteVector inner = ToPeer().Build();
  const Packet& packet = node.Encapsulate(inner);
  ASSERT_EQ(packet.verdict, Verdict::kForward);
  EXPECT_EQ(ShowOuter(packet), Show(Desired(inner).Build(), FrameStart::kOuterIp));
  EXPECT_EQ(packet.inner_offset, 50);
  EXPECT_EQ(node.CountsOf("linux-1").sent_packets, 1u);
  EXPECT_EQ(packet.outer_port, OuterSourcePort(HashInnerFlow(inner)));
}

TEST(Encapsulate, StampsIpv6InnerPackets) {
  Node node;
  const ByteVector inner =
      PacketBuilder("fd00:2::9", "fd00:1::7").Tcp(4000, 80).Payload(20).Build();
  const Packet& packet = node.Encapsulate(inner);
  ASSERT_EQ(packet.verdict, Verdict::kForward);
  EXPECT_EQ(ShowOuter(packet), Show(Desired(inner).Build(), FrameStart::kOuterIp));
}

TEST(Encapsulate, StampsSeventyBytesOverIpv6) {
  ForwarderConfig config = DefaultConfig();
  config.local.outer_source = Ip("2001:db8::2");
  Node node(config);
  const ByteVector inner = PacketBuilder("10.244.2.9", "10.244.6.7").Udp(1, 2).Payload(20).Build();
  const Packet& packet = node.Encapsulate(inner);
  ASSERT_EQ(packet.verdict, Verdict::kForward);
  VxlanBuilder desired(inner);
  desired.Outer("2001:db8::2", "2001:db8::6")
      .Ports(OuterSourcePort(HashInnerFlow(inner)))
      .Macs(Mac("02:00:00:00:00:02"), Mac("02:00:00:00:00:06"))
      .UdpChecksum();
  EXPECT_EQ(ShowOuter(packet), Show(desired.Build(), FrameStart::kOuterIp));
  EXPECT_EQ(packet.inner_offset, 70);
}

TEST(Encapsulate, GivesADatagramWireItsPayloadAndDescriptor) {
  ForwarderConfig config = DefaultConfig();
  config.wire = PortKind::kWireDatagram;
  Node node(config);
  const ByteVector inner = ToPeer().MarkEcn(Ecn::kEct0).Build();
  const Packet& packet = node.Encapsulate(inner);
  ASSERT_EQ(packet.verdict, Verdict::kForward);
  EXPECT_EQ(Show(packet.bytes(), FrameStart::kVxlan),
            Show(Desired(inner).BuildPayload(), FrameStart::kVxlan));
  EXPECT_EQ(packet.inner_offset, 22);
  EXPECT_EQ(packet.outer_address, Ip("192.0.2.1"));
  EXPECT_EQ(packet.outer_port, OuterSourcePort(HashInnerFlow(inner)));
  EXPECT_EQ(packet.outer_ecn, 2);
}

TEST(Encapsulate, CopiesEcnAndNothingElseOutwards) {
  Node node;
  for (const Ecn ecn : {Ecn::kNotEct, Ecn::kEct0, Ecn::kEct1, Ecn::kCe}) {
    const ByteVector inner = ToPeer().Tos(46, ecn).Ttl(3).Build();
    EXPECT_EQ(ShowOuter(node.Encapsulate(inner)),
              Show(Desired(inner).MarkEcn(ecn).Build(), FrameStart::kOuterIp));
  }
}

TEST(Encapsulate, LeavesTheUdpChecksumZeroWhenConfigured) {
  ForwarderConfig config = DefaultConfig();
  config.local.udp_checksum = false;
  Node node(config);
  const Packet& packet = node.Encapsulate(ToPeer().Build());
  EXPECT_EQ(LoadBe16(packet.data + 26), 0);
}

TEST(Encapsulate, OverIpv6TheUdpChecksumIsAlwaysSet) {
  ForwarderConfig config = DefaultConfig();
  config.local.outer_source = Ip("2001:db8::2");
  config.local.udp_checksum = false;
  Node node(config);
  const ByteVector inner = PacketBuilder("10.244.2.9", "10.244.6.7").Udp(1, 2).Payload(20).Build();
  const Packet& packet = node.Encapsulate(inner);
  ASSERT_EQ(packet.verdict, Verdict::kForward);
  EXPECT_NE(LoadBe16(packet.data + 46), 0);
  EXPECT_EQ(VerifyTransportChecksum(packet.bytes()), TransportChecksum::kRight);
}

TEST(Encapsulate, CutsOffWhatFollowsTheIpPacket) {
  Node node;
  const ByteVector inner = ToPeer().Build();
  const ByteVector padded = Concatenate(inner, ByteVector(7));
  const Packet& packet = node.Encapsulate(padded);
  EXPECT_EQ(ShowOuter(packet), Show(Desired(inner).Build(), FrameStart::kOuterIp));
}

TEST(Encapsulate, CompletesPartialChecksumsFirst) {
  Node node;
  for (PacketBuilder builder :
       {ToPeer(), PacketBuilder("10.244.2.9", "10.244.1.7").Tcp(1, 2).Payload(333),
        PacketBuilder("fd00:2::9", "fd00:1::7").Udp(1, 2).Payload(21)}) {
    const ByteVector inner = builder.Build();
    Packet packet = node.buffers.Make(builder.PartialTransportChecksum().Build());
    const auto parsed = ParseInnerIp(inner);
    packet.checksum = ChecksumState::kPartial;
    packet.checksum_start = static_cast<std::uint16_t>(parsed->header_length);
    packet.checksum_offset = parsed->protocol == IpProtocol::kTcp ? 16 : 6;
    const Packet& result = node.Encapsulate(packet);
    ASSERT_EQ(result.verdict, Verdict::kForward);
    EXPECT_EQ(result.checksum, ChecksumState::kOnWire);
    EXPECT_EQ(ShowOuter(result), Show(Desired(inner).Build(), FrameStart::kOuterIp));
  }
}

TEST(Encapsulate, LeavesASuperframesChecksumToTheSegmenter) {
  Node node;
  const Packet superframe = node.buffers.MakeSuperframe(
      PacketBuilder("10.244.2.9", "10.244.1.7").Tcp(1, 2).Payload(3000).Build(), Segmentation::kTcp,
      1000);
  const ByteVector inner = BytesOf(superframe);
  const Packet& packet = node.Encapsulate(superframe);
  ASSERT_EQ(packet.verdict, Verdict::kForward);
  EXPECT_EQ(packet.checksum, ChecksumState::kPartial);
  EXPECT_EQ(packet.checksum_start, 50 + 20);
  EXPECT_EQ(ByteVector(packet.data + 50, packet.data + packet.length), inner);
}

TEST(Encapsulate, NamesTheDropReason) {
  const auto ipv4 = [](std::string_view to) { return PacketBuilder("10.244.2.9", to).Build(); };
  const auto ipv6 = [](std::string_view to) { return PacketBuilder("fd00:2::9", to).Build(); };
  const auto changed = [](ByteVector bytes, std::size_t at, int value) {
    bytes[at] = static_cast<std::byte>(value);
    return bytes;
  };
  const struct {
    const char* description;
    ByteVector inner;
    Verdict verdict;
  } rows[] = {
      {"a peer's pod", ipv4("10.244.1.7"), Verdict::kForward},
      {"a peer's .0, its host", ipv4("10.244.1.0"), Verdict::kForward},
      {"with IPv4 options", PacketBuilder("10.244.2.9", "10.244.1.7").Ipv4Options(8).Build(),
       Verdict::kForward},
      {"a fragment", PacketBuilder("10.244.2.9", "10.244.1.7").Payload(64).Fragment(32, 8).Build(),
       Verdict::kForward},
      {"IPv4 of no peer", ipv4("10.245.0.1"), Verdict::kNoRoute},
      {"IPv6 of no peer", ipv6("fd00:77::1"), Verdict::kNoRoute},
      {"our own pod", ipv4("10.244.2.200"), Verdict::kOwnSubnet},
      {"our own pod, IPv6", ipv6("fd00:2::1"), Verdict::kOwnSubnet},
      {"multicast", ipv4("224.0.0.251"), Verdict::kGroupDestination},
      {"multicast, highest", ipv4("239.255.255.255"), Verdict::kGroupDestination},
      {"broadcast", ipv4("255.255.255.255"), Verdict::kGroupDestination},
      {"multicast, IPv6", ipv6("ff02::1"), Verdict::kGroupDestination},
      {"empty but for a few bytes", ByteVector(5), Verdict::kInnerMalformed},
      {"version 5", changed(ipv4("10.244.1.7"), 0, 0x55), Verdict::kNotIp},
      {"IHL 4", changed(ipv4("10.244.1.7"), 0, 0x44), Verdict::kInnerMalformed},
      {"total length beyond the end", changed(ipv4("10.244.1.7"), 3, 200),
       Verdict::kInnerMalformed},
      {"TTL 0", PacketBuilder("10.244.2.9", "10.244.1.7").Ttl(0).Build(), Verdict::kTtlExpired},
      {"hop limit 0", PacketBuilder("fd00:2::9", "fd00:1::7").Ttl(0).Build(), Verdict::kTtlExpired},
  };
  for (const auto& row : rows) {
    Node node;
    EXPECT_EQ(node.Encapsulate(row.inner).verdict, row.verdict) << row.description;
    EXPECT_TRUE(node.replies().empty()) << row.description;
  }
}

TEST(Encapsulate, RefusesDescriptorsThatContradictTheBytes) {
  Node node;
  const ByteVector tcp = PacketBuilder("10.244.2.9", "10.244.1.7").Tcp(1, 2).Payload(3000).Build();
  const Packet good = node.buffers.MakeSuperframe(tcp, Segmentation::kTcp, 1000);
  EXPECT_EQ(node.Encapsulate(good).verdict, Verdict::kForward);
  const auto with = [&](auto change) {
    Packet packet = node.buffers.MakeSuperframe(tcp, Segmentation::kTcp, 1000);
    change(packet);
    return packet;
  };
  const Packet bad[] = {
      with([](Packet& p) { p.segmentation = Segmentation::kUdp; }),
      with([](Packet& p) { p.segmentation = Segmentation::kDatagrams; }),
      with([](Packet& p) {
        p.segmentation = Segmentation::kDatagrams;
        p.data[9] = static_cast<std::byte>(IpProtocol::kUdp);
      }),
      with([](Packet& p) { p.segment_size = 0; }),
      with([](Packet& p) {
        p.checksum_start = 24;
        p.data[36] = std::byte{0x50};  // a TCP data offset there
      }),
      with([](Packet& p) { p.data[32] = std::byte{0x40}; }),  // TCP data offset 16 bytes
      with([](Packet& p) { p.data[6] |= std::byte{0x20}; }),  // more fragments
      with([](Packet& p) {
        p.segmentation = Segmentation::kNone;
        p.checksum_start = 60'000;
      }),
  };
  for (const Packet& packet : bad)
    EXPECT_EQ(node.Encapsulate(packet).verdict, Verdict::kInnerMalformed);
}

// A pod that may make any superframe (AF_PACKET) must not make this node send a packet for each few
// bytes; what sockets make passes.
TEST(Encapsulate, RefusesSuperframesThatNoSocketSends) {
  const struct {
    const char* description;
    Segmentation kind;
    std::size_t payload;
    std::uint16_t segment_size;
    Verdict verdict;
  } rows[] = {
      {"TCP, one byte each", Segmentation::kTcp, 60'000, 1, Verdict::kTinySegments},
      {"TCP, 47 bytes", Segmentation::kTcp, 1000, 47, Verdict::kTinySegments},
      {"TCP, 48 bytes", Segmentation::kTcp, 1000, 48, Verdict::kForward},
      {"TCP, a single short segment", Segmentation::kTcp, 40, 40, Verdict::kForward},
      {"UDP, 64 of 18 bytes", Segmentation::kUdp, 64 * 18, 18, Verdict::kForward},
      {"UDP, 64 of one byte", Segmentation::kUdp, 64, 1, Verdict::kForward},
      {"UDP, one more than this kernel's sockets send", Segmentation::kUdp, 64 * 18 + 1, 18,
       Verdict::kTinySegments},
      {"UDP, large ones", Segmentation::kUdp, 40'000, 1000, Verdict::kForward},
  };
  for (const char* destination : {"10.244.1.7", "fd00:1::7"}) {
    const char* const source = Ip(destination).is_v4() ? "10.244.2.9" : "fd00:2::9";
    for (const auto& row : rows) {
      SCOPED_TRACE(std::string(row.description) + " to " + destination);
      ForwarderConfig config = DefaultConfig();
      config.max_udp_segments = 64;
      Node node(config);
      PacketBuilder inner(source, destination);
      row.kind == Segmentation::kTcp ? inner.Tcp(1, 2) : inner.Udp(1, 2);
      inner.Payload(row.payload);
      EXPECT_EQ(
          node.Encapsulate(node.buffers.MakeSuperframe(inner.Build(), row.kind, row.segment_size))
              .verdict,
          row.verdict);
    }
  }
}

TEST(Encapsulate, DoesNotTouchDroppedPackets) {
  Node node;
  Packet packet = node.buffers.Make(ToPeer().Build());
  packet.verdict = Verdict::kOwnFrame;
  const ByteVector before = BytesOf(packet);
  const Packet& result = node.Encapsulate(packet);
  EXPECT_EQ(result.verdict, Verdict::kOwnFrame);
  EXPECT_EQ(BytesOf(result), before);
}

TEST(Encapsulate, DoesNotStampAnEmptyDroppedPacket) {
  ForwarderConfig config = DefaultConfig();
  config.wire = PortKind::kWireDatagram;
  Node node(config);
  Packet packet = node.buffers.Make(ByteVector(1));
  packet.length = 0;
  packet.verdict = Verdict::kOwnFrame;
  EXPECT_EQ(node.Encapsulate(packet).length, 0u);
  EXPECT_EQ(node.CountsOf("").sent_packets, 0u);
}

TEST(Encapsulate, CountsForThePeerTheBytesOfTheWire) {
  Node node;
  node.Encapsulate(ToPeer().TotalLength(100).Build());
  node.Encapsulate(node.buffers.MakeSuperframe(
      PacketBuilder("10.244.2.9", "10.244.1.7").Tcp(1, 2).Payload(2500).Build(), Segmentation::kTcp,
      1000));
  node.Encapsulate(PacketBuilder("10.244.2.9", "10.99.0.1").Build());
  const PeerCounts counts = node.CountsOf("linux-1");
  EXPECT_EQ(counts.sent_packets, 4u);
  EXPECT_EQ(counts.sent_bytes, 100u + 1040 + 1040 + 540);
}

TEST(Encapsulate, ASuperframeInOneSegmentIsAnOrdinaryPacket) {
  Node node;
  const PacketBuilder builder = PacketBuilder("10.244.2.9", "10.244.1.7").Tcp(1, 2).Payload(500);
  const Packet& packet = node.Encapsulate(node.buffers.MakeSuperframe(
      PacketBuilder(builder).PartialTransportChecksum().Build(), Segmentation::kTcp, 1000));
  ASSERT_EQ(packet.verdict, Verdict::kForward);
  EXPECT_EQ(packet.segmentation, Segmentation::kNone);
  EXPECT_EQ(ShowOuter(packet), Show(Desired(builder.Build()).Build(), FrameStart::kOuterIp));
}

TEST(Encapsulate, ABatchOfAllKindsIsDecidedPacketByPacket) {
  Node node;
  for (std::size_t i = 0; i < kMaxBatch; ++i) {
    const bool good = i % 3 != 0;
    node.batch().Add(
        node.buffers.Make(PacketBuilder("10.244.2.9", good ? "10.244.3.1" : "10.99.0.1").Build()));
  }
  node.forwarder.Encapsulate(node.batch(), node.replies());
  for (std::size_t i = 0; i < kMaxBatch; ++i) {
    EXPECT_EQ(node.batch()[i].verdict, i % 3 != 0 ? Verdict::kForward : Verdict::kNoRoute);
  }
}

TEST(Encapsulate, AMulticastGroupIsNoDestinationEvenWithARoute) {
  std::vector<RemoteSpec> leases = DefaultLeases();
  leases.push_back(Lease("all", "0.0.0.0/0", "192.0.2.9", "02:00:00:00:00:09"));
  Node node(DefaultConfig(), leases);
  const auto verdict = [&](std::string_view to) {
    return node.Encapsulate(PacketBuilder("10.244.2.9", to).Build()).verdict;
  };
  EXPECT_EQ(verdict("198.51.100.1"), Verdict::kForward);
  EXPECT_EQ(verdict("224.0.0.251"), Verdict::kGroupDestination);
  EXPECT_EQ(verdict("255.255.255.255"), Verdict::kGroupDestination);
}

TEST(Encapsulate, SeesANewTableAfterRefresh) {
  Node node;
  const ByteVector inner = PacketBuilder("10.244.2.9", "10.244.9.1").Build();
  node.remotes.Update(std::vector{Lease("new", "10.244.9.0/24", "192.0.2.9", "02:00:00:00:00:09")},
                      {});
  EXPECT_EQ(node.Encapsulate(inner).verdict, Verdict::kNoRoute);
  node.forwarder.Refresh();
  EXPECT_EQ(node.Encapsulate(inner).verdict, Verdict::kForward);
}

}  // namespace
}  // namespace weft::dataplane
