// SPDX-License-Identifier: Apache-2.0
#include "vxlan/flow_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <random>
#include <set>

#include "tests/support/packet_builder.h"

namespace weft {
namespace {

std::uint32_t HashOf(const PacketBuilder& builder) { return HashInnerFlow(builder.Build()).value; }

struct PairRow {
  const char* description;
  PacketBuilder a;
  PacketBuilder b;
  bool same;
};

TEST(FlowHash, WhatMakesAFlow) {
  const PairRow kRows[] = {
      {"payload", PodsV4().Payload(0), PodsV4().Payload(1000), true},
      {"TTL, DSCP, ECN", PodsV4(), PodsV4().Ttl(3).Tos(46, Ecn::kCe), true},
      {"identification, DF", PodsV4(), PodsV4().Identification(7).DontFragment(), true},
      {"IPv4 options", PodsV4(), PodsV4().Ipv4Options(8), true},
      {"TCP sequence and flags", PodsV4().Tcp(1, 2, TcpHeader::kSyn, 1), PodsV4().Tcp(1, 2, 0, 99),
       true},
      {"source address", PodsV4(), PacketBuilder("10.244.1.4", "10.244.2.3"), false},
      {"destination address", PodsV4(), PacketBuilder("10.244.1.2", "10.244.2.4"), false},
      {"direction", PodsV4().Udp(5, 5), PacketBuilder("10.244.2.3", "10.244.1.2").Udp(5, 5), false},
      {"source port", PodsV4().Udp(1, 2), PodsV4().Udp(3, 2), false},
      {"destination port", PodsV4().Udp(1, 2), PodsV4().Udp(1, 3), false},
      {"ports exchanged", PodsV4().Udp(1, 2), PodsV4().Udp(2, 1), false},
      {"protocol", PodsV4().Udp(1, 2), PodsV4().Tcp(1, 2), false},
      {"SCTP ports", PodsV4().Raw(IpProtocol::kSctp).Payload(Hex("00010002")),
       PodsV4().Raw(IpProtocol::kSctp).Payload(Hex("00010003")), false},
      {"GRE has no ports", PodsV4().Raw(IpProtocol{47}).Payload(Hex("00010002")),
       PodsV4().Raw(IpProtocol{47}).Payload(Hex("00010003")), true},
      {"ICMP identifier", PodsV4().Ping(1, 1), PodsV4().Ping(2, 2), true},
      {"IPv6 payload", PodsV6().Payload(0), PodsV6().Payload(1000), true},
      {"IPv6 flow label", PodsV6(), PodsV6().FlowLabel(0x12345), true},
      {"IPv6 hop limit and class", PodsV6(), PodsV6().Ttl(3).Tos(46, Ecn::kCe), true},
      {"IPv6 extension headers", PodsV6(), PodsV6().Ipv6DestinationOptions(16), true},
      {"IPv6 source", PodsV6(), PacketBuilder("2001:db8::3", "2001:db8::2"), false},
      {"IPv6 source network", PodsV6(), PacketBuilder("2001:db9::1", "2001:db8::2"), false},
      {"IPv6 destination", PodsV6(), PacketBuilder("2001:db8::1", "2001:db8::3"), false},
      {"IPv6 direction", PodsV6().Udp(5, 5), PacketBuilder("2001:db8::2", "2001:db8::1").Udp(5, 5),
       false},
      {"IPv6 ports", PodsV6().Udp(1, 2), PodsV6().Udp(1, 3), false},
      {"IPv6 port behind options", PodsV6().Ipv6DestinationOptions(8).Udp(1, 2),
       PodsV6().Ipv6DestinationOptions(8).Udp(1, 3), false},
  };
  for (const PairRow& row : kRows) {
    EXPECT_EQ(HashOf(row.a) == HashOf(row.b), row.same) << row.description;
  }
}

TEST(FlowHash, AllFragmentsOfADatagramStayTogether) {
  for (const PacketBuilder& whole : {PodsV4().Payload(3000), PodsV6().Payload(3000)}) {
    const std::uint32_t first = HashOf(PacketBuilder(whole).Fragment(0, 1400));
    EXPECT_EQ(HashOf(PacketBuilder(whole).Fragment(1400, 1400)), first);
    EXPECT_EQ(HashOf(PacketBuilder(whole).Fragment(2800, 9999)), first);
  }
}

// A datagram's fragments cannot stay with its flow, because the later ones have no ports; and a
// first fragment must have the same hash as the rest, although it has ports.
TEST(FlowHash, PortsOfFragmentsAreNotRead) {
  EXPECT_EQ(HashOf(PodsV4().Udp(1, 2).Payload(99).Fragment(0, 16)),
            HashOf(PodsV4().Udp(3, 4).Payload(99).Fragment(0, 16)));
}

TEST(FlowHash, PortsThatAreNotThereAreNotRead) {
  const ByteVector stub = PodsV4().Raw(IpProtocol::kUdp).Payload(3).Build();
  const ByteVector other = Concatenate(stub, Hex("ff"));
  EXPECT_EQ(HashInnerFlow(stub), HashInnerFlow(other)) << "padding is not a port";
}

TEST(FlowHash, MalformedPacketsHaveHashZero) {
  EXPECT_EQ(HashInnerFlow(Bytes()), FlowHash{});
  EXPECT_EQ(HashInnerFlow(Hex("45 00")), FlowHash{});
}

TEST(FlowHash, BothEntrancesAgree) {
  const ByteVector packet = PodsV6().Udp(1, 2).Build();
  EXPECT_EQ(HashInnerFlow(packet), HashInnerFlow(*ParseInnerIp(packet)));
}

// ECMP and the choice of the socket depend on this: neighbouring flows fill buckets evenly, by the
// high bits that become the port and by the low ones that choose a queue.
TEST(FlowHash, NeighbouringFlowsSpreadEvenly) {
  constexpr int kFlows = 64 * 256;
  for (const bool v6 : {false, true}) {
    std::array<int, 64> by_port{};
    std::array<int, 64> by_low_bits{};
    for (int flow = 0; flow < kFlows; ++flow) {
      PacketBuilder builder = v6 ? PodsV6() : PodsV4();
      builder.Tcp(static_cast<std::uint16_t>(32768 + flow), 443);
      const FlowHash hash = HashInnerFlow(builder.Build());
      ++by_port[OuterSourcePort(hash) % 64];
      ++by_low_bits[hash.value % 64];
    }
    // 256 expected in each; six standard deviations are 96, which a random choice would exceed in
    // one of 256 buckets in 5 of 10^7 cases.
    for (const auto& buckets : {by_port, by_low_bits}) {
      EXPECT_GT(*std::ranges::min_element(buckets), 160) << (v6 ? "IPv6" : "IPv4");
      EXPECT_LT(*std::ranges::max_element(buckets), 352) << (v6 ? "IPv6" : "IPv4");
    }
  }
}

TEST(FlowHash, OneChangedBitChangesHalfOfThem) {
  constexpr unsigned kSeed = 6335;
  std::mt19937 random(kSeed);
  SCOPED_TRACE(kSeed);
  int changed_bits = 0;
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    ByteVector packet = PodsV4().Udp(static_cast<std::uint16_t>(random()), 53).Build();
    const std::uint32_t before = HashInnerFlow(packet).value;
    const std::size_t bit = 12 * 8 + random() % (12 * 8);  // addresses and ports
    packet[bit / 8] ^= std::byte{1} << bit % 8;
    changed_bits += std::popcount(before ^ HashInnerFlow(packet).value);
  }
  // Half of 64,000 bits: the mean's standard deviation is 0.063, of which 0.5 is eight.
  EXPECT_NEAR(changed_bits / double{kRounds}, 16.0, 0.5);
}

TEST(OuterSourcePort, CoversTheDynamicRangeAndNothingElse) {
  EXPECT_EQ(OuterSourcePort(FlowHash{0}), 49152);
  EXPECT_EQ(OuterSourcePort(FlowHash{0xffff'ffff}), 65535);
  std::set<std::uint16_t> ports;
  for (std::uint32_t top = 0; top < 0x4000; ++top) ports.insert(OuterSourcePort({top << 18}));
  EXPECT_EQ(ports.size(), 0x4000u);
}

}  // namespace
}  // namespace weft
