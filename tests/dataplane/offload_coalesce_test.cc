// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "tests/dataplane/support.h"
#include "tests/support/seed.h"
#include "vxlan/transport_checksum.h"

namespace weft::dataplane {
namespace {

PortFeatures AllFeatures() {
  PortFeatures features;
  features.tcp_segmentation = features.udp_segmentation = features.partial_checksum = true;
  return features;
}

constexpr std::uint16_t kAck = TcpHeader::kAck;

PacketBuilder Tcp(std::uint32_t sequence, std::size_t payload, std::uint16_t flags = kAck) {
  return PacketBuilder("10.244.1.7", "10.244.2.9")
      .Tcp(80, 4000, flags, sequence, 9)
      .Payload(payload)
      .DontFragment();
}
PacketBuilder Udp(std::size_t payload) {
  return PacketBuilder("10.244.1.7", "10.244.2.9").Udp(80, 4000).Payload(payload).DontFragment();
}

// "1000 500+500 700": the payloads of each packet in the batch, joined ones by their segments.
std::string Shape(const Batch& batch) {
  std::string shape;
  for (const Packet& packet : batch) {
    if (!shape.empty()) shape += ' ';
    const auto ip = ParseInnerIp(packet.bytes());
    if (packet.segmentation == Segmentation::kNone) {
      const std::uint32_t header = ip->protocol == IpProtocol::kTcp
                                       ? (Load8(packet.data + ip->header_length + 12) >> 4) * 4u
                                       : 8;
      shape += std::to_string(ip->total_length - ip->header_length - header);
      continue;
    }
    std::uint32_t rest = packet.length - SuperframeHeaderLength(packet);
    for (; rest > packet.segment_size; rest -= packet.segment_size)
      shape += std::to_string(packet.segment_size) + "+";
    shape += std::to_string(rest);
  }
  return shape;
}

std::unique_ptr<Batch> BatchOf(Buffers& buffers, const std::vector<PacketBuilder>& packets) {
  auto batch = std::make_unique<Batch>();
  for (const PacketBuilder& packet : packets) batch->Add(buffers.Make(packet.Build()));
  return batch;
}

TEST(Coalesce, JoinsWhatBelongsTogetherAndNothingElse) {
  const struct {
    const char* description;
    std::vector<PacketBuilder> packets;
    const char* shape;
  } rows[] = {
      {"in sequence", {Tcp(1, 100), Tcp(101, 100), Tcp(201, 100)}, "100+100+100"},
      {"a shorter last ends it", {Tcp(1, 100), Tcp(101, 50), Tcp(151, 50)}, "100+50 50"},
      {"a longer one starts a new run", {Tcp(1, 50), Tcp(51, 100), Tcp(151, 100)}, "50 100+100"},
      {"PSH ends it",
       {Tcp(1, 100), Tcp(101, 100, kAck | TcpHeader::kPsh), Tcp(201, 100)},
       "100+100 100"},
      {"FIN ends it",
       {Tcp(1, 100), Tcp(101, 100, kAck | TcpHeader::kFin), Tcp(201, 100)},
       "100+100 100"},
      {"PSH on the first", {Tcp(1, 100, kAck | TcpHeader::kPsh), Tcp(101, 100)}, "100 100"},
      {"an acknowledgment behind data", {Tcp(1, 100), Tcp(101, 0)}, "100 0"},
      {"a gap", {Tcp(1, 100), Tcp(102, 100)}, "100 100"},
      {"out of order", {Tcp(101, 100), Tcp(1, 100)}, "100 100"},
      {"twice the same", {Tcp(1, 100), Tcp(1, 100)}, "100 100"},
      {"pure acknowledgments", {Tcp(1, 0), Tcp(1, 0)}, "0 0"},
      {"SYN",
       {Tcp(1, 100, kAck | TcpHeader::kSyn), Tcp(101, 100, kAck | TcpHeader::kSyn)},
       "100 100"},
      {"RST", {Tcp(1, 100), Tcp(101, 100, kAck | TcpHeader::kRst)}, "100 100"},
      {"no ACK", {Tcp(1, 100, 0), Tcp(101, 100, 0)}, "100 100"},
      {"CWR on the first", {Tcp(1, 100, kAck | TcpHeader::kCwr), Tcp(101, 100)}, "100+100"},
      {"CWR later", {Tcp(1, 100), Tcp(101, 100, kAck | TcpHeader::kCwr)}, "100 100"},
      {"ECE differs", {Tcp(1, 100), Tcp(101, 100, kAck | TcpHeader::kEce)}, "100 100"},
      {"another acknowledgment",
       {Tcp(1, 100), Tcp(101, 100).Tcp(80, 4000, kAck, 101, 10)},
       "100 100"},
      {"another port", {Tcp(1, 100), Tcp(101, 100).Tcp(80, 4001, kAck, 101, 9)}, "100 100"},
      {"options on one", {Tcp(1, 100), Tcp(101, 100).TcpTimestamps()}, "100 100"},
      {"options alike", {Tcp(1, 100).TcpTimestamps(), Tcp(101, 100).TcpTimestamps()}, "100+100"},
      {"another source",
       {Tcp(1, 100), PacketBuilder("10.244.1.8", "10.244.2.9")
                         .Tcp(80, 4000, kAck, 101, 9)
                         .Payload(100)
                         .DontFragment()},
       "100 100"},
      {"another TTL", {Tcp(1, 100), Tcp(101, 100).Ttl(63)}, "100 100"},
      {"another ECN",
       {Tcp(1, 100).MarkEcn(Ecn::kEct0), Tcp(101, 100).MarkEcn(Ecn::kCe)},
       "100 100"},
      {"DF on one", {Tcp(1, 100), Tcp(101, 100).DontFragment(false)}, "100 100"},
      {"identification counts",
       {Tcp(1, 100).Identification(0xffff), Tcp(101, 100).Identification(0),
        Tcp(201, 100).Identification(1)},
       "100+100+100"},
      {"identification is constant, then counts",
       {Tcp(1, 100), Tcp(101, 100), Tcp(201, 100).Identification(2)},
       "100+100 100"},
      {"identification counts, then is constant",
       {Tcp(1, 100), Tcp(101, 100).Identification(1), Tcp(201, 100)},
       "100+100 100"},
      {"identification is constant in one run and counts in the next",
       {Tcp(1, 100), Tcp(101, 100, kAck | TcpHeader::kPsh), Tcp(201, 100).Identification(5),
        Tcp(301, 100).Identification(6)},
       "100+100 100+100"},
      {"identification jumps", {Tcp(1, 100), Tcp(101, 100).Identification(2)}, "100 100"},
      {"identification must count without DF",
       {Tcp(1, 100).DontFragment(false), Tcp(101, 100).DontFragment(false)},
       "100 100"},
      {"without DF",
       {Tcp(1, 100).DontFragment(false), Tcp(101, 100).DontFragment(false).Identification(1)},
       "100+100"},
      {"IPv4 options", {Tcp(1, 100).Ipv4Options(4), Tcp(101, 100).Ipv4Options(4)}, "100 100"},
      {"fragments", {Tcp(1, 100).Fragment(0, 64), Tcp(45, 100).Fragment(0, 64)}, "44 44"},
      {"wrong checksum on the first",
       {Tcp(1, 100).WrongTransportChecksum(), Tcp(101, 100), Tcp(201, 100)},
       "100 100+100"},
      {"wrong checksum on the second",
       {Tcp(1, 100), Tcp(101, 100).WrongTransportChecksum(), Tcp(201, 100)},
       "100 100 100"},
      {"wrong IP checksum", {Tcp(1, 100), Tcp(101, 100).WrongHeaderChecksum()}, "100 100"},
      {"UDP", {Udp(100), Udp(100), Udp(30), Udp(30)}, "100+100+30 30"},
      {"UDP, no checksum",
       {Udp(100).UdpWithoutChecksum(80, 4000), Udp(100).UdpWithoutChecksum(80, 4000)},
       "100 100"},
      {"UDP, empty", {Udp(0), Udp(0)}, "0 0"},
      {"pings whose identifier is a UDP length",
       {PacketBuilder("10.244.1.7", "10.244.2.9").Ping(108, 1).Payload(100).DontFragment(),
        PacketBuilder("10.244.1.7", "10.244.2.9").Ping(108, 1).Payload(100).DontFragment()},
       "100 100"},
      {"two flows by turns", {Tcp(1, 100), Udp(100), Tcp(101, 100), Udp(100)}, "100 100 100 100"},
      {"TCP without ACK, RST, URG",
       {Tcp(1, 100, 0), Tcp(101, 100, 0), Tcp(201, 100, kAck | TcpHeader::kRst),
        Tcp(301, 100, kAck | TcpHeader::kUrg)},
       "100 100 100 100"},
      {"ping between",
       {Tcp(1, 100), PacketBuilder("10.244.1.7", "10.244.2.9").Ping(1, 1), Tcp(101, 100)},
       "100 0 100"},
  };
  for (const auto& row : rows) {
    Buffers buffers;
    const auto batch = BatchOf(buffers, row.packets);
    Coalesce(*batch, AllFeatures());
    EXPECT_EQ(Shape(*batch), row.shape) << row.description;
  }
}

// Packets that the parser accepts and that no sender's stack would have produced by segmentation:
// each appears twice, in sequence, and is not joined.
TEST(Coalesce, PacketsOfOddShapeStayAlone) {
  const auto twice = [](const char* description, const ByteVector& first,
                        const ByteVector& second) {
    Buffers buffers;
    const auto batch = std::make_unique<Batch>();
    batch->Add(buffers.Make(first));
    batch->Add(buffers.Make(second));
    Coalesce(*batch, AllFeatures());
    EXPECT_EQ(batch->size(), 2u) << description;
    EXPECT_EQ(Dump((*batch)[0].bytes()), Dump(first)) << description;
  };
  const ByteVector one = Tcp(1, 100).Build();
  const ByteVector two = Tcp(101, 100).Build();
  {
    Buffers buffers;
    const auto batch = std::make_unique<Batch>();
    batch->Add(buffers.Make(one));
    batch->Add(buffers.Make(two));
    Coalesce(*batch, AllFeatures());
    ASSERT_EQ(batch->size(), 1u) << "as they come";
  }
  const ByteVector padding(6);
  twice("padding behind the packet", Concatenate(one, padding), Concatenate(two, padding));
  twice("padding that the sequence counts", Concatenate(one, padding),
        Concatenate(Tcp(107, 100).Build(), padding));
  const auto v6 = [](std::uint32_t sequence) {
    return PacketBuilder("fd00:1::7", "fd00:2::9").Tcp(80, 4000, kAck, sequence, 9).Payload(100);
  };
  twice("padding behind an IPv6 packet", Concatenate(v6(1).Build(), padding),
        Concatenate(v6(101).Build(), padding));
  twice("another hop limit", v6(1).Build(), v6(101).Ttl(63).Build());
  twice("IPv6 extension headers", v6(1).Ipv6DestinationOptions(8).Build(),
        v6(101).Ipv6DestinationOptions(8).Build());
  const auto spoil = [](ByteVector packet, std::size_t at, std::uint8_t value) {
    packet[at] = static_cast<std::byte>(value);
    CompleteTransportChecksum(packet);
    return packet;
  };
  twice("the other family", one, v6(101).Build());
  twice("the other family", v6(1).Build(), two);
  twice("another window", one, spoil(two, 35, 9));
  twice("another urgent pointer", one, spoil(two, 39, 9));
  twice("another acknowledgment", one, spoil(two, 31, 99));
  twice("a data offset beyond the packet", spoil(Tcp(1, 8).Build(), 32, 0xf0),
        spoil(Tcp(9, 8).Build(), 32, 0xf0));
  twice("a TCP header cut short",
        PacketBuilder("10.244.1.7", "10.244.2.9").Raw(IpProtocol::kTcp).Payload(19).Build(),
        PacketBuilder("10.244.1.7", "10.244.2.9").Raw(IpProtocol::kTcp).Payload(19).Build());
  twice("shorter than any", ByteVector(27, std::byte{0x45}), ByteVector(27, std::byte{0x45}));
  twice("an IPv6 header cut short", ByteVector(47, std::byte{0x60}),
        ByteVector(47, std::byte{0x60}));
  // A UDP length shorter than the IP payload: something follows the datagram.
  ByteVector udp = Udp(100).Build();
  StoreBe16(udp.data() + 24, 100);
  CompleteTransportChecksum(udp);
  twice("bytes behind the UDP datagram", udp, udp);
}

TEST(Coalesce, Ipv6RunsNeedOneFlowLabel) {
  const auto tcp = [](std::uint32_t sequence, std::uint32_t label) {
    return PacketBuilder("fd00:1::7", "fd00:2::9")
        .Tcp(80, 4000, kAck, sequence, 9)
        .Payload(100)
        .FlowLabel(label);
  };
  Buffers buffers;
  const auto batch = BatchOf(buffers, {tcp(1, 5), tcp(101, 5), tcp(201, 6), tcp(301, 6)});
  Coalesce(*batch, AllFeatures());
  EXPECT_EQ(Shape(*batch), "100+100 100+100");
}

TEST(Coalesce, TheSuperframeIsWhatTheSenderWouldHaveOffloaded) {
  Buffers buffers;
  ByteVector payload(250);
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(i);
  const auto slice = [&](std::ptrdiff_t from, std::ptrdiff_t to) {
    return ByteVector(payload.begin() + from, payload.begin() + to);
  };
  const auto batch =
      BatchOf(buffers, {Tcp(1, 0).Payload(slice(0, 100)), Tcp(101, 0).Payload(slice(100, 200)),
                        Tcp(201, 0, kAck | TcpHeader::kPsh).Payload(slice(200, 250))});
  Coalesce(*batch, AllFeatures());
  ASSERT_EQ(batch->size(), 1u);
  const Packet& joined = (*batch)[0];
  const ByteVector desired =
      Tcp(1, 0, kAck | TcpHeader::kPsh).Payload(payload).PartialTransportChecksum().Build();
  EXPECT_EQ(Show(joined.bytes(), FrameStart::kInnerIp), Show(desired, FrameStart::kInnerIp));
  EXPECT_EQ(joined.checksum, ChecksumState::kPartial);
  EXPECT_EQ(joined.checksum_start, 20);
  EXPECT_EQ(joined.checksum_offset, 16);
  EXPECT_EQ(joined.segment_size, 100);
}

TEST(Coalesce, DoesOnlyWhatThePodPortSupports) {
  const auto shape = [](PortFeatures features) {
    Buffers buffers;
    const auto batch = BatchOf(buffers, {Tcp(1, 100), Tcp(101, 100), Udp(50), Udp(50)});
    Coalesce(*batch, features);
    return Shape(*batch);
  };
  PortFeatures features = AllFeatures();
  EXPECT_EQ(shape(features), "100+100 50+50");
  features.udp_segmentation = false;
  EXPECT_EQ(shape(features), "100+100 50 50");
  features.udp_segmentation = true;
  features.tcp_segmentation = false;
  EXPECT_EQ(shape(features), "100 100 50+50");
  features.partial_checksum = false;
  EXPECT_EQ(shape(features), "100 100 50 50");
}

TEST(Coalesce, StopsAtTheLargestIpPacketAndUdpAtSixtyFour) {
  Buffers buffers;
  std::vector<PacketBuilder> packets;
  for (std::uint32_t i = 0; i < 50; ++i) packets.push_back(Tcp(1 + i * 1400, 1400));
  const auto tcp = BatchOf(buffers, packets);
  Coalesce(*tcp, AllFeatures());
  ASSERT_EQ(tcp->size(), 2u);
  EXPECT_EQ((*tcp)[0].length, 40u + 46 * 1400);
  // And with more tailroom than a packet can use.
  const auto roomy = BatchOf(buffers, packets);
  ByteVector room(80'000);
  std::copy_n((*roomy)[0].data, (*roomy)[0].length, room.begin());
  (*roomy)[0].data = room.data();
  (*roomy)[0].headroom = 0;
  (*roomy)[0].tailroom = static_cast<std::uint32_t>(room.size()) - (*roomy)[0].length;
  Coalesce(*roomy, AllFeatures());
  EXPECT_EQ(roomy->size(), 2u);
  const auto udp = BatchOf(buffers, std::vector<PacketBuilder>(100, Udp(40)));
  Coalesce(*udp, AllFeatures());
  ASSERT_EQ(udp->size(), 2u);
  EXPECT_EQ(WirePackets((*udp)[0]), 64u);
}

TEST(Coalesce, ADroppedPacketEndsARunAndIsKept) {
  Buffers buffers;
  const auto batch = BatchOf(buffers, {Tcp(1, 100), Tcp(101, 100), Tcp(201, 100)});
  (*batch)[1].verdict = Verdict::kUnknownPeer;
  Coalesce(*batch, AllFeatures());
  EXPECT_EQ(batch->size(), 3u);
}

// A port's descriptor is kept: the packet is not a plain one with correct checksums.
TEST(Coalesce, MarkedPacketsStayAlone) {
  for (const bool partial : {false, true}) {
    Buffers buffers;
    const auto batch = BatchOf(buffers, {Tcp(1, 100), Tcp(101, 100)});
    if (partial) {
      (*batch)[1].checksum = ChecksumState::kPartial;
    } else {
      (*batch)[1].segmentation = Segmentation::kTcp;
      (*batch)[1].segment_size = 50;
    }
    Coalesce(*batch, AllFeatures());
    EXPECT_EQ(batch->size(), 2u) << partial;
  }
}

TEST(Coalesce, WithoutRoomBehindTheHeadNothingIsJoined) {
  Buffers buffers;
  const auto batch = BatchOf(buffers, {Tcp(1, 100), Tcp(101, 100)});
  (*batch)[0].tailroom = 99;
  Coalesce(*batch, AllFeatures());
  EXPECT_EQ(batch->size(), 2u);
}

// One node cuts and sends; the other receives, splits, decapsulates and joins: the same superframe
// results.
TEST(Offload, CutSplitAndJoinedIsTheIdentity) {
  const std::uint32_t seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  ForwarderConfig here_config = DefaultConfig();
  here_config.wire = PortKind::kWireDatagram;
  ForwarderConfig there_config = here_config;
  there_config.local.outer_source = Ip("192.0.2.1");
  there_config.local.mac = Mac("02:00:00:00:00:01");
  there_config.own_subnets = {Prefix("10.244.1.0/24"), Prefix("fd00:1::/64")};
  const std::vector us{Lease("us", "10.244.2.0/24", "192.0.2.2", "02:00:00:00:00:02"),
                       Lease("us", "fd00:2::/64", "192.0.2.2", "02:00:00:00:00:02")};
  for (int round = 0; round < 60; ++round) {
    Node here(here_config);
    Node there(there_config, us);
    const bool is_v4 = random() % 2 == 0;
    const bool is_tcp = random() % 2 == 0;
    // Up to the device's 1450 less IPv6, TCP and its timestamps.
    const auto segment_size = static_cast<std::uint16_t>(1 + random() % (1450 - 40 - 32));
    const std::size_t segments = 2 + random() % 40;
    const std::size_t size =
        std::min<std::size_t>(60'000, segment_size * (segments - 1) + 1 + random() % segment_size);
    ByteVector payload(size);
    for (std::byte& byte : payload) byte = static_cast<std::byte>(random());
    PacketBuilder builder(is_v4 ? "10.244.2.9" : "fd00:2::9", is_v4 ? "10.244.1.7" : "fd00:1::7");
    if (is_tcp) {
      constexpr std::uint16_t kMaybe =
          TcpHeader::kPsh | TcpHeader::kFin | TcpHeader::kCwr | TcpHeader::kEce;
      builder.Tcp(1, 2, static_cast<std::uint16_t>(kAck | (random() & kMaybe)),
                  static_cast<std::uint32_t>(random()), 5);
      if (random() % 2 == 0) builder.TcpTimestamps();
    } else {
      builder.Udp(1, 2);
    }
    builder.Payload(payload)
        .Identification(is_v4 ? random() & 0xffff : 0)
        .Tos(3, static_cast<Ecn>(random() % 4));
    if (is_v4) builder.DontFragment(random() % 2 == 0);
    const ByteVector original = builder.PartialTransportChecksum().Build();
    const Segmentation kind = is_tcp ? Segmentation::kTcp : Segmentation::kUdp;

    const Packet& superframe =
        here.Encapsulate(here.buffers.MakeSuperframe(original, kind, segment_size));
    ASSERT_EQ(superframe.verdict, Verdict::kForward);
    PortFeatures wire;
    wire.datagram_aggregation = random() % 2 == 0;
    PacketSlab slab(64);
    std::size_t buffers = 0;
    auto sent = std::make_unique<Batch>();
    SuperframeCutter cutter(superframe, PortKind::kWireDatagram, wire);
    while (!cutter.done()) cutter.Cut(slab.Lend(buffers++), *sent);
    auto received = std::make_unique<Batch>();
    for (Packet& packet : *sent) {
      packet.outer_address = Ip("192.0.2.2");
      ASSERT_EQ(SplitAggregate(packet, 0, *received), packet.length);
    }
    there.forwarder.Decapsulate(*received);
    // Datagrams of several aggregates: the first one needs tailroom, as in its own buffer.
    auto joined = std::make_unique<Batch>();
    Packet head = there.buffers.Make(BytesOf((*received)[0]));
    joined->Add(head);
    for (std::size_t i = 1; i < received->size(); ++i) joined->Add((*received)[i]);
    if (wire.datagram_aggregation && sent->size() == 1) (*joined)[0] = (*received)[0];
    Coalesce(*joined, AllFeatures());
    ASSERT_EQ(joined->size(), 1u) << "segments " << received->size();
    ASSERT_EQ(Show((*joined)[0].bytes(), FrameStart::kInnerIp),
              Show(original, FrameStart::kInnerIp));
    ASSERT_EQ((*joined)[0].segmentation, kind);
    ASSERT_EQ((*joined)[0].segment_size, segment_size);
  }
}

}  // namespace
}  // namespace weft::dataplane
