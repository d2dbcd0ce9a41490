// SPDX-License-Identifier: Apache-2.0
// Packets that are too big, the ICMP errors to their senders, and the learnt path MTUs.
#include <gtest/gtest.h>

#include "tests/dataplane/support.h"
#include "vxlan/checksum.h"
#include "vxlan/icmp.h"
#include "vxlan/transport_checksum.h"

namespace weft::dataplane {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

ByteVector OfLength(std::size_t bytes) {
  return PacketBuilder("10.244.2.9", "10.244.1.7")
      .Udp(1, 2)
      .DontFragment()
      .TotalLength(bytes)
      .Build();
}

ByteVector Superframe(std::size_t payload) {
  return PacketBuilder("10.244.2.9", "10.244.1.7").Tcp(1, 2).Payload(payload).Build();
}

// The quick loop handles datagrams, and whole packets without UDP checksum; the general path
// handles the rest. Both must check sizes.
struct Wire {
  const char* name;
  PortKind kind;
  bool udp_checksum;
};
void PrintTo(const Wire& wire, std::ostream* out) { *out << wire.name; }

class PathMtu : public ::testing::TestWithParam<Wire> {
 protected:
  static ForwarderConfig Config() {
    ForwarderConfig config = DefaultConfig();
    config.wire = GetParam().kind;
    config.local.udp_checksum = GetParam().udp_checksum;
    return config;
  }
};

INSTANTIATE_TEST_SUITE_P(Wires, PathMtu,
                         ::testing::Values(Wire{"packets", PortKind::kWirePacket, false},
                                           Wire{"packets_checksum", PortKind::kWirePacket, true},
                                           Wire{"datagrams", PortKind::kWireDatagram, false},
                                           Wire{"datagrams_checksum", PortKind::kWireDatagram,
                                                true}),
                         [](const auto& row) { return row.param.name; });

TEST_P(PathMtu, TheLinkMinusTheHeadersFits) {
  const struct {
    const char* description;
    std::uint32_t link;
    std::uint32_t device;
    std::size_t bytes;
    Verdict verdict;
  } rows[] = {
      {"just fits", 1500, 1450, 1450, Verdict::kForward},
      {"one too many", 1500, 1450, 1451, Verdict::kTooBig},
      {"jumbo link, device decides", 9000, 1450, 1451, Verdict::kTooBig},
      {"jumbo", 9000, 8950, 8950, Verdict::kForward},
      {"jumbo, one too many", 9000, 9000, 8951, Verdict::kTooBig},
  };
  for (const auto& row : rows) {
    ForwarderConfig config = Config();
    config.link_mtu = *OuterMtu::From(row.link);
    config.device_mtu = *InnerMtu::From(row.device);
    Node node(config);
    EXPECT_EQ(node.Encapsulate(OfLength(row.bytes)).verdict, row.verdict) << row.description;
  }
}

TEST_P(PathMtu, OverIpv6TwentyBytesLess) {
  ForwarderConfig config = Config();
  config.local.outer_source = Ip("2001:db8::2");
  Node node(config);
  const auto to_six = [](std::size_t bytes) {
    return PacketBuilder("10.244.2.9", "10.244.6.7").TotalLength(bytes).Build();
  };
  EXPECT_EQ(node.Encapsulate(to_six(1430)).verdict, Verdict::kForward);
  EXPECT_EQ(node.Encapsulate(to_six(1431)).verdict, Verdict::kTooBig);
}

TEST_P(PathMtu, ASuperframeIsMeasuredByItsSegments) {
  Node node(Config());
  EXPECT_EQ(
      node.Encapsulate(node.buffers.MakeSuperframe(Superframe(40'000), Segmentation::kTcp, 1410))
          .verdict,
      Verdict::kForward);
  EXPECT_EQ(
      node.Encapsulate(node.buffers.MakeSuperframe(Superframe(40'000), Segmentation::kTcp, 1411))
          .verdict,
      Verdict::kTooBig);
}

TEST_P(PathMtu, TheSenderReceivesTheInnerMtu) {
  Node node(Config());
  const ByteVector inner = OfLength(1480);
  EXPECT_EQ(node.Encapsulate(inner).verdict, Verdict::kTooBig);
  ASSERT_EQ(node.replies().size(), 1u);
  const Packet& reply = node.replies()[0];
  EXPECT_EQ(reply.verdict, Verdict::kForward);
  const auto ip = ParseInnerIp(reply.bytes());
  ASSERT_TRUE(ip);
  EXPECT_EQ(ip->source(), Ip("10.244.1.7")) << "an own address would be a martian to Linux";
  EXPECT_EQ(ip->destination(), Ip("10.244.2.9"));
  EXPECT_EQ(VerifyTransportChecksum(reply.bytes()), TransportChecksum::kRight);
  const auto icmp = IcmpHeader::Parse(ip->transport());
  ASSERT_TRUE(icmp);
  EXPECT_EQ(icmp->type, icmp_v4::kUnreachable);
  EXPECT_EQ(icmp->code, icmp_v4::kCodeFragmentationNeeded);
  EXPECT_EQ(icmp->rest, 1450u);
  const Bytes quoted = ip->transport().subspan(IcmpHeader::kSize);
  EXPECT_TRUE(std::equal(quoted.begin(), quoted.end(), inner.begin()))
      << "quotes the packet as the pod sent it";
  EXPECT_EQ(node.counters.Read().icmp_errors_sent, 1u);
  EXPECT_EQ(node.CountsOf("linux-1").sent_packets, 0u);
}

TEST_P(PathMtu, AnIpv6SenderGetsPacketTooBig) {
  Node node(Config());
  const ByteVector inner = PacketBuilder("fd00:2::9", "fd00:1::7").TotalLength(1451).Build();
  EXPECT_EQ(node.Encapsulate(inner).verdict, Verdict::kTooBig);
  ASSERT_EQ(node.replies().size(), 1u);
  const auto ip = ParseInnerIp(node.replies()[0].bytes());
  ASSERT_TRUE(ip);
  EXPECT_LE(ip->total_length, 1280u);
  EXPECT_EQ(ip->source(), Ip("fd00:2::"));
  const auto icmp = IcmpHeader::Parse(ip->transport());
  EXPECT_EQ(icmp->type, icmp_v6::kPacketTooBig);
  EXPECT_EQ(icmp->rest, 1450u);
  EXPECT_EQ(VerifyTransportChecksum(node.replies()[0].bytes()), TransportChecksum::kRight);
}

TEST_P(PathMtu, SomePacketsAreDroppedInSilence) {
  const struct {
    const char* description;
    ByteVector inner;
  } rows[] = {
      {"an ICMP error",
       PacketBuilder("10.244.2.9", "10.244.1.7").Icmp(3, 1).TotalLength(1480).Build()},
      {"a later fragment",
       PacketBuilder("10.244.2.9", "10.244.1.7").Payload(4000).Fragment(1600, 1480).Build()},
      {"from nowhere", PacketBuilder("0.0.0.0", "10.244.1.7").TotalLength(1480).Build()},
      {"from a group", PacketBuilder("224.0.0.1", "10.244.1.7").TotalLength(1480).Build()},
      {"ICMPv6 error",
       PacketBuilder("fd00:2::9", "fd00:1::7").Icmp(1, 0).TotalLength(1480).Build()},
      {"headers longer than an ICMPv6 error may quote",
       PacketBuilder("fd00:2::9", "fd00:1::7").Ipv6DestinationOptions(1432).Build()},
  };
  for (const auto& row : rows) {
    Node node(Config());
    EXPECT_EQ(node.Encapsulate(row.inner).verdict, Verdict::kTooBigSilent) << row.description;
    EXPECT_TRUE(node.replies().empty()) << row.description;
  }
  ForwarderConfig without_address = Config();
  without_address.own_addresses = {Ip("fd00:2::")};
  Node node(without_address);
  EXPECT_EQ(node.Encapsulate(OfLength(1480)).verdict, Verdict::kTooBigSilent)
      << "no address of the family";
}

TEST_P(PathMtu, WithoutRoomForTheAnswerThereIsNone) {
  Node node(Config());
  while (!node.replies().full()) node.replies().Add(Packet());
  Packet& packet = node.batch().Add(node.buffers.Make(OfLength(1480)));
  node.forwarder.Encapsulate(node.batch(), node.replies());
  EXPECT_EQ(packet.verdict, Verdict::kTooBigSilent);
}

TEST_P(PathMtu, UnansweredPacketsDoNotUseTheRateLimit) {
  Node node(Config());
  const ByteVector error =
      PacketBuilder("10.244.2.9", "10.244.1.7").Icmp(3, 1).TotalLength(1480).Build();
  for (int i = 0; i < 200; ++i) EXPECT_EQ(node.Encapsulate(error).verdict, Verdict::kTooBigSilent);
  EXPECT_EQ(node.Encapsulate(OfLength(1480)).verdict, Verdict::kTooBig);
}

TEST_P(PathMtu, AnswersAreLimitedInRate) {
  Node node(Config());
  int answered = 0;
  for (int i = 0; i < 200; ++i)
    answered += node.Encapsulate(OfLength(1480)).verdict == Verdict::kTooBig ? 1 : 0;
  EXPECT_EQ(answered, 50);
  node.now += std::chrono::milliseconds(1);
  EXPECT_EQ(node.Encapsulate(OfLength(1480)).verdict, Verdict::kTooBig);
  EXPECT_EQ(node.Encapsulate(OfLength(1480)).verdict, Verdict::kTooBigSilent);
}

TEST_P(PathMtu, IsLearntForEveryPeerAtTheVtepAndForgottenAfterTenMinutes) {
  Node node(Config());
  node.now = seconds(100);
  node.forwarder.LearnPathMtu({Ip("192.0.2.3"), 1400}, node.now);
  const auto to = [](std::string_view address, std::size_t bytes) {
    return PacketBuilder("10.244.2.9", address).TotalLength(bytes).Build();
  };
  EXPECT_EQ(node.Encapsulate(to("10.244.3.1", 1350)).verdict, Verdict::kForward);
  EXPECT_EQ(node.Encapsulate(to("10.244.3.1", 1351)).verdict, Verdict::kTooBig);
  ASSERT_EQ(node.replies().size(), 1u);
  EXPECT_EQ(LoadBe32(node.replies()[0].data + 24), 1350u);
  EXPECT_EQ(node.Encapsulate(to("10.244.33.1", 1351)).verdict, Verdict::kTooBig)
      << "linux-3b shares the VTEP";
  EXPECT_EQ(node.Encapsulate(to("10.244.1.1", 1450)).verdict, Verdict::kForward) << "another VTEP";
  EXPECT_EQ(node.CountsOf("linux-3").path_mtu, 1400u);

  node.now += minutes(10) - seconds(1);
  EXPECT_EQ(node.Encapsulate(to("10.244.3.1", 1351)).verdict, Verdict::kTooBig);
  node.now += seconds(1);
  EXPECT_EQ(node.Encapsulate(to("10.244.3.1", 1351)).verdict, Verdict::kForward);
  EXPECT_EQ(node.CountsOf("linux-3").path_mtu, 0u);
  node.forwarder.LearnPathMtu({Ip("192.0.2.3"), 1300}, node.now - seconds(1));
  EXPECT_EQ(node.CountsOf("linux-3").path_mtu, 1300u) << "of a batch before";
}

// Although no packet was sent there meanwhile, which would have dropped the old one.
TEST_P(PathMtu, ALargerOneIsLearntOnceTheOldHasExpired) {
  Node node(Config());
  node.now = seconds(100);
  node.forwarder.LearnPathMtu({Ip("192.0.2.1"), 1300}, node.now);
  node.now += minutes(10) - seconds(1);
  node.forwarder.LearnPathMtu({Ip("192.0.2.1"), 1400}, node.now);
  EXPECT_EQ(node.CountsOf("linux-1").path_mtu, 1300u);
  node.now += seconds(1);
  node.forwarder.LearnPathMtu({Ip("192.0.2.1"), 1400}, node.now);
  EXPECT_EQ(node.CountsOf("linux-1").path_mtu, 1400u);
  node.now += minutes(10) - seconds(1);
  EXPECT_EQ(node.Encapsulate(OfLength(1351)).verdict, Verdict::kTooBig) << "and lasts as long";
  EXPECT_EQ(node.Encapsulate(OfLength(1350)).verdict, Verdict::kForward);
  node.now += seconds(1);
  EXPECT_EQ(node.Encapsulate(OfLength(1351)).verdict, Verdict::kForward);
}

// One that is learnt again while it is known lasts from then on.
TEST_P(PathMtu, LearntAgainItLastsLonger) {
  Node node(Config());
  node.forwarder.LearnPathMtu({Ip("192.0.2.1"), 1400}, node.now);
  node.now += minutes(6);
  node.forwarder.LearnPathMtu({Ip("192.0.2.1"), 1400}, node.now);
  node.now += minutes(6);
  EXPECT_EQ(node.Encapsulate(OfLength(1351)).verdict, Verdict::kTooBig);
}

TEST_P(PathMtu, ImplausibleErrorsAreIgnored) {
  const struct {
    const char* description;
    std::uint32_t first;
    std::uint32_t second;
    std::uint32_t learnt;
  } rows[] = {
      {"once", 1400, 0, 1400},
      {"smaller still", 1400, 1300, 1300},
      {"larger does not raise it before it expires", 1300, 1400, 1300},
      {"the link's own MTU is no change", 1500, 0, 0},
      {"one less is", 1499, 0, 1499},
      {"none reported", 0, 0, 0},
      {"beyond the link", 9000, 0, 0},
      {"what IPv4 must carry", 68, 0, 68},
      {"below what IPv4 must carry", 67, 0, 68},
  };
  for (const auto& row : rows) {
    Node node(Config());
    node.forwarder.LearnPathMtu({Ip("192.0.2.1"), row.first}, node.now);
    node.forwarder.LearnPathMtu({Ip("192.0.2.1"), row.second}, node.now);
    EXPECT_EQ(node.CountsOf("linux-1").path_mtu, row.learnt) << row.description;
  }
  Node node(Config());
  node.forwarder.LearnPathMtu({Ip("2001:db8::6"), 600}, node.now);
  EXPECT_EQ(node.CountsOf("linux-6").path_mtu, 1280u);
  node.forwarder.LearnPathMtu({Ip("198.51.100.1"), 600},
                              node.now);  // an unknown VTEP: nothing is learnt
}

// Linux pods follow no path MTU below 552, and IPv6 has none below 1280: such packets are still
// sent, whatever MTU a path or forged ICMP reports.
TEST_P(PathMtu, BelowThePodsMinimumPacketsLeaveWithoutDf) {
  std::vector<RemoteSpec> leases = DefaultLeases();
  leases.push_back(Lease("linux-7", "fd00:7::/64", "2001:db8::7", "02:00:00:00:00:07"));
  const struct {
    const char* description;
    const char* vtep;
    std::uint32_t outer_mtu;
    const char* source;
    const char* destination;
    std::size_t fits;      // bytes of the largest inner packet that needs no fragments
    std::size_t enforced;  // and of the largest at all
  } rows[] = {
      {"IPv4, 590", "192.0.2.1", 590, "10.244.2.9", "10.244.1.7", 540, 552},
      {"IPv4, forged 68", "192.0.2.1", 68, "10.244.2.9", "10.244.1.7", 0, 552},
      {"IPv4, 601", "192.0.2.1", 601, "10.244.2.9", "10.244.1.7", 551, 552},
      {"IPv4, 602: pods can follow", "192.0.2.1", 602, "10.244.2.9", "10.244.1.7", 552, 552},
      {"IPv6, 1280", "2001:db8::7", 1280, "fd00:2::9", "fd00:7::7", 1210, 1280},
      {"IPv6, forged 68", "2001:db8::7", 68, "fd00:2::9", "fd00:7::7", 1210, 1280},
      {"IPv6, 1349", "2001:db8::7", 1349, "fd00:2::9", "fd00:7::7", 1279, 1280},
      {"IPv6, 1350: pods can follow", "2001:db8::7", 1350, "fd00:2::9", "fd00:7::7", 1280, 1280},
      {"IPv6 over IPv4", "192.0.2.1", 1280, "fd00:2::9", "fd00:1::7", 1230, 1280},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.description);
    ForwarderConfig config = Config();
    if (!Ip(row.vtep).is_v4()) config.local.outer_source = Ip("2001:db8::2");
    Node node(config, leases);
    node.forwarder.LearnPathMtu({Ip(row.vtep), row.outer_mtu}, node.now);
    const auto send = [&](std::size_t bytes) {
      return node.Encapsulate(
          PacketBuilder(row.source, row.destination).Udp(1, 2).TotalLength(bytes).Build());
    };
    if (row.fits != 0) {
      EXPECT_EQ(send(row.fits).verdict, Verdict::kForward);
      EXPECT_FALSE(send(row.fits).may_fragment);
    }
    const Packet largest = send(row.enforced);
    EXPECT_EQ(largest.verdict, Verdict::kForward);
    EXPECT_EQ(largest.may_fragment, row.fits != row.enforced);
    if (config.wire == PortKind::kWirePacket && Ip(row.vtep).is_v4()) {
      EXPECT_EQ(LoadBe16(largest.data + 6), row.fits != row.enforced ? 0 : 0x4000) << "DF";
      EXPECT_TRUE(SumIpv4Header(largest.data).IsRight());
    } else if (config.wire == PortKind::kWirePacket) {
      EXPECT_EQ(LoadBe16(largest.data + 6), 0x1140) << "UDP, hop limit 64";
    }
    EXPECT_EQ(send(row.enforced + 1).verdict, Verdict::kTooBig);
    std::uint64_t fragmentable = 0;
    for (const PeerTable::Row& peer : node.peers.Read())
      fragmentable += peer.counts.fragmentable_packets;
    EXPECT_EQ(fragmentable, row.fits != row.enforced ? 1u : 0u);

    node.now += kPathMtuLifetime;
    EXPECT_FALSE(send(row.enforced).may_fragment) << "and all is forgotten in time";
  }
}

TEST_P(PathMtu, ASuperframesSegmentsAreShortenedOrMayBeFragmented) {
  const struct {
    const char* description;
    Segmentation kind;
    std::uint32_t path_mtu;
    std::uint16_t segment;  // as the pod made it
    std::uint16_t sent;
    bool may_fragment;
  } rows[] = {
      {"TCP that fits", Segmentation::kTcp, 500, 410, 410, false},
      {"TCP that does not: shorter ones do", Segmentation::kTcp, 500, 512, 410, false},
      {"TCP, and a forged MTU: not a packet for each byte", Segmentation::kTcp, 68, 512, 512, true},
      {"TCP, less than half", Segmentation::kTcp, 345, 512, 512, true},
      {"TCP, half", Segmentation::kTcp, 346, 512, 256, false},
      {"UDP keeps its datagrams", Segmentation::kUdp, 500, 512, 512, true},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.description);
    Node node(Config());
    node.forwarder.LearnPathMtu({Ip("192.0.2.1"), row.path_mtu}, node.now);
    PacketBuilder inner("10.244.2.9", "10.244.1.7");
    row.kind == Segmentation::kTcp ? inner.Tcp(1, 2) : inner.Udp(1, 2);
    const Packet& packet = node.Encapsulate(
        node.buffers.MakeSuperframe(inner.Payload(4000).Build(), row.kind, row.segment));
    EXPECT_EQ(packet.verdict, Verdict::kForward);
    EXPECT_EQ(packet.segment_size, row.sent);
    EXPECT_EQ(packet.may_fragment, row.may_fragment);
    const std::uint64_t packets = (4000 + row.sent - 1) / row.sent;
    EXPECT_EQ(node.CountsOf("linux-1").sent_packets, packets);
    EXPECT_EQ(node.CountsOf("linux-1").fragmentable_packets, row.may_fragment ? packets : 0);
  }
  Node node(Config());
  node.forwarder.LearnPathMtu({Ip("192.0.2.1"), 500}, node.now);
  EXPECT_EQ(node.Encapsulate(node.buffers.MakeSuperframe(Superframe(4000), Segmentation::kTcp, 513))
                .verdict,
            Verdict::kTooBig)
      << "which pods can follow";
}

// The answer lies over its headers by the time that it is counted.
TEST_P(PathMtu, ASuperframeThatIsAnsweredCountsAsItsSegments) {
  Node node(Config());
  Counters::Direction counts;
  node.Encapsulate(node.buffers.MakeSuperframe(Superframe(28 * 1411), Segmentation::kTcp, 1411));
  ASSERT_EQ(node.replies().size(), 1u);
  counts.Count(node.batch());
  EXPECT_EQ(counts.packets[static_cast<std::size_t>(Verdict::kTooBig)], 28u);
}

}  // namespace
}  // namespace weft::dataplane
