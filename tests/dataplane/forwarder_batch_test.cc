// SPDX-License-Identifier: Apache-2.0
// The forwarder handles usual packets in a separate loop that works several packets ahead. The
// result for a packet must not depend on its neighbours or on their number.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/dataplane/support.h"
#include "vxlan/flow_hash.h"

namespace weft::dataplane {
namespace {

constexpr std::size_t kSizes[] = {1, 2, 15, 16, 17, 31, 32, 33, 47, 48, 49, 64, 65, 255, 256};

struct OutwardRow {
  const char* description;
  ByteVector inner;
  Verdict verdict;
  const char* outer_destination = "192.0.2.1";
  const char* inner_destination_mac = "02:00:00:00:00:01";
  Ecn ecn = Ecn::kNotEct;
};

PacketBuilder To(const char* destination) { return PacketBuilder("10.244.2.9", destination); }

std::vector<OutwardRow> OutwardRows() {
  const auto raw = [](int protocol, std::size_t payload) {
    return To("10.244.1.7").Raw(static_cast<IpProtocol>(protocol)).Payload(payload).Build();
  };
  return {
      {"UDP", To("10.244.1.7").Udp(4000, 53).Payload(20).Build(), Verdict::kForward},
      {"TCP, ECN", To("10.244.3.7").Tcp(1, 2).MarkEcn(Ecn::kEct0).Payload(700).Build(),
       Verdict::kForward, "192.0.2.3", "02:00:00:00:00:03", Ecn::kEct0},
      {"congestion", To("10.244.33.1").Tcp(3, 4).Tos(63, Ecn::kCe).Build(), Verdict::kForward,
       "192.0.2.3", "02:00:00:00:00:3b", Ecn::kCe},
      {"ping", To("10.244.1.0").Ping(7, 8).Build(), Verdict::kForward},
      {"SCTP", raw(132, 12), Verdict::kForward},
      {"TCP's number and 64", raw(70, 12), Verdict::kForward},
      {"no byte after the header", raw(17, 0), Verdict::kForward},
      {"no whole ports", raw(17, 3), Verdict::kForward},
      {"just ports", raw(17, 4), Verdict::kForward},
      {"options", To("10.244.1.7").Ipv4Options(8).Build(), Verdict::kForward},
      {"first fragment", To("10.244.1.7").Payload(64).Fragment(0, 8).Build(), Verdict::kForward},
      {"last fragment", To("10.244.1.7").Payload(64).Fragment(32, 32).Build(), Verdict::kForward},
      {"largest", To("10.244.1.7").TotalLength(1450).Build(), Verdict::kForward},
      {"too large", To("10.244.1.7").TotalLength(1451).Build(), Verdict::kTooBigSilent},
      {"IPv6", PacketBuilder("fd00:2::9", "fd00:1::7").Tcp(1, 2).MarkEcn(Ecn::kEct1).Build(),
       Verdict::kForward, "192.0.2.1", "02:00:00:00:00:01", Ecn::kEct1},
      {"no peer's", To("10.245.0.1").Build(), Verdict::kNoRoute},
      {"ours", To("10.244.2.200").Build(), Verdict::kOwnSubnet},
      {"multicast", To("224.0.0.251").Build(), Verdict::kGroupDestination},
      {"reserved, above multicast", To("240.0.0.1").Build(), Verdict::kNoRoute},
      {"TTL 0", To("10.244.1.7").Ttl(0).Build(), Verdict::kTtlExpired},
  };
}

ByteVector DesiredPayload(const OutwardRow& row, bool whole) {
  VxlanBuilder builder(row.inner);
  builder.Outer("192.0.2.2", row.outer_destination)
      .Ports(OuterSourcePort(HashInnerFlow(row.inner)))
      .Macs(Mac("02:00:00:00:00:02"), Mac(row.inner_destination_mac))
      .MarkEcn(row.ecn);
  return whole ? builder.Build() : builder.BuildPayload();
}

TEST(ForwarderBatch, EncapsulatesEveryPacketAsIfItCameAlone) {
  const std::vector<OutwardRow> rows = OutwardRows();
  for (const PortKind wire : {PortKind::kWirePacket, PortKind::kWireDatagram}) {
    const bool whole = wire == PortKind::kWirePacket;
    ForwarderConfig config = DefaultConfig();
    config.local.udp_checksum = false;
    config.own_addresses.clear();  // no ICMP: "too large" is silent
    config.wire = wire;
    Node node(config);
    std::size_t next = 0;
    std::uint64_t forwarded = 0;
    for (const std::size_t size : kSizes) {
      node.batch().clear();
      const std::size_t first = next;
      for (std::size_t i = 0; i < size; ++i)
        node.batch().Add(node.buffers.Make(rows[next++ % rows.size()].inner));
      node.forwarder.Encapsulate(node.batch(), node.replies());
      for (std::size_t i = 0; i < size; ++i) {
        const OutwardRow& row = rows[(first + i) % rows.size()];
        SCOPED_TRACE(row.description);
        const Packet& packet = node.batch()[i];
        ASSERT_EQ(packet.verdict, row.verdict);
        if (row.verdict != Verdict::kForward) continue;
        ++forwarded;
        ASSERT_EQ(BytesOf(packet), DesiredPayload(row, whole));
        EXPECT_EQ(packet.outer_port, OuterSourcePort(HashInnerFlow(row.inner)));
        EXPECT_EQ(packet.outer_ecn, static_cast<int>(row.ecn));
        EXPECT_EQ(packet.inner_offset, whole ? 50 : 22);
        EXPECT_EQ(packet.headroom, kHeadroom - packet.inner_offset);
        if (!whole) EXPECT_EQ(packet.outer_address, Ip(row.outer_destination));
      }
    }
    std::uint64_t counted = 0;
    for (const PeerTable::Row& row : node.peers.Read()) counted += row.counts.sent_packets;
    EXPECT_EQ(counted, forwarded);
    EXPECT_EQ(node.CountsOf("").sent_packets, 0u);
  }
}

TEST(ForwarderBatch, EveryOneOfSeveralOwnSubnetsCounts) {
  ForwarderConfig config = DefaultConfig();
  config.own_subnets = {Prefix("10.244.2.0/24"), Prefix("10.244.3.0/25"), Prefix("fd00:2::/64"),
                        Prefix("10.99.0.0/16")};
  Node node(config);
  const MacAddress theirs = Mac("02:00:00:00:00:01");
  const struct {
    const char* address;
    Verdict outward;
    Verdict inward;
  } rows[] = {
      {"10.244.2.9", Verdict::kOwnSubnet, Verdict::kForward},
      {"10.244.3.9", Verdict::kOwnSubnet, Verdict::kForward},
      {"10.244.3.200", Verdict::kForward, Verdict::kForeignSubnet},
      {"10.99.7.7", Verdict::kOwnSubnet, Verdict::kForward},
      {"10.244.1.7", Verdict::kForward, Verdict::kForeignSubnet},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(node.Encapsulate(To(row.address).Build()).verdict, row.outward) << row.address;
    const ByteVector inner = PacketBuilder("10.244.1.7", row.address).Build();
    const ByteVector outer = VxlanBuilder(inner).Macs(theirs, Mac("02:00:00:00:00:02")).Build();
    EXPECT_EQ(node.Decapsulate(outer).verdict, row.inward) << row.address;
  }
}

struct InwardRow {
  const char* description;
  ByteVector inner;
  VxlanBuilder outer;
  Verdict verdict;
  const char* counted_for = "linux-1";
};

std::vector<InwardRow> InwardRows() {
  const auto inner = [](const char* from, const char* to) {
    return PacketBuilder(from, to).Udp(1, 2).Payload(33);
  };
  const ByteVector usual = inner("10.244.1.7", "10.244.2.9").Build();
  const ByteVector capable = inner("10.244.1.7", "10.244.2.9").MarkEcn(Ecn::kEct0).Build();
  const ByteVector congested = inner("10.244.1.7", "10.244.2.9").MarkEcn(Ecn::kCe).Build();
  const ByteVector from_six = inner("10.244.6.7", "10.244.2.9").Build();
  const ByteVector strange = inner("172.30.0.1", "10.244.2.9").Build();
  const ByteVector v6 = PacketBuilder("fd00:1::7", "fd00:2::9").Build();
  return {
      {"usual", usual, VxlanBuilder(usual), Verdict::kForward},
      {"UDP checksum", usual, VxlanBuilder(usual).UdpChecksum(), Verdict::kForward},
      {"ECN", capable, VxlanBuilder(capable).MarkEcn(Ecn::kEct0), Verdict::kForward},
      {"congestion", congested, VxlanBuilder(capable).MarkEcn(Ecn::kCe), Verdict::kForward},
      {"congestion, unable", usual, VxlanBuilder(usual).MarkEcn(Ecn::kCe), Verdict::kEcnIllegal},
      {"IPv6 outside", from_six, VxlanBuilder(from_six).Outer("2001:db8::6", "2001:db8::2"),
       Verdict::kForward, "linux-6"},
      {"IPv6 inside", v6, VxlanBuilder(v6), Verdict::kForward},
      {"foreign inner source", strange, VxlanBuilder(strange), Verdict::kForward, ""},
      {"unknown VTEP", strange, VxlanBuilder(strange).Outer("203.0.113.5", "192.0.2.2"),
       Verdict::kUnknownPeer},
      {"bad header", usual, VxlanBuilder(usual).WrongHeaderChecksum(), Verdict::kOuterMalformed},
      {"fragment", usual, VxlanBuilder(usual).Fragment(0, 64), Verdict::kOuterFragment},
      {"port", usual, VxlanBuilder(usual).Ports(50'000, 8472), Verdict::kNotVxlan},
      {"no I flag", usual, VxlanBuilder(usual).Flags(0), Verdict::kNotVxlan},
      {"VNI", usual, VxlanBuilder(usual).Network(4097), Verdict::kForeignVni},
      {"EtherType", usual, VxlanBuilder(usual).InnerEtherType(0x86dd), Verdict::kInnerMalformed},
  };
}

TEST(ForwarderBatch, DecapsulatesEveryPacketAsIfItCameAlone) {
  const std::vector<InwardRow> rows = InwardRows();
  Node node;
  std::map<std::string, std::uint64_t> desired_counts;
  std::size_t next = 0;
  for (const std::size_t size : kSizes) {
    node.batch().clear();
    const std::size_t first = next;
    for (std::size_t i = 0; i < size; ++i)
      node.batch().Add(node.buffers.Make(VxlanBuilder(rows[next++ % rows.size()].outer).Build()));
    node.forwarder.Decapsulate(node.batch());
    for (std::size_t i = 0; i < size; ++i) {
      const InwardRow& row = rows[(first + i) % rows.size()];
      SCOPED_TRACE(row.description);
      const Packet& packet = node.batch()[i];
      ASSERT_EQ(packet.verdict, row.verdict);
      if (row.verdict != Verdict::kForward) continue;
      ++desired_counts[row.counted_for];
      ASSERT_EQ(BytesOf(packet), row.inner);
      EXPECT_EQ(packet.tailroom, kMaxPacket - packet.length - (packet.headroom - kHeadroom));
    }
  }
  for (const auto& [peer, packets] : desired_counts) {
    EXPECT_EQ(node.CountsOf(peer).received_packets, packets) << peer;
  }
}

}  // namespace
}  // namespace weft::dataplane
