// SPDX-License-Identifier: Apache-2.0
#include "vxlan/outer_packet.h"

#include <gtest/gtest.h>

#include "tests/support/packet_builder.h"
#include "vxlan/ipv4.h"

namespace weft {
namespace {

const ByteVector kInnerPacket = PacketBuilder("10.244.1.2", "10.244.2.3").Payload(20).Build();

VxlanBuilder V4() { return VxlanBuilder(kInnerPacket); }
VxlanBuilder V6() { return VxlanBuilder(kInnerPacket).Outer("2001:db8::1", "2001:db8::2"); }

ByteVector WithChecksum(ByteVector packet) {
  Ipv4Header header = *Ipv4Header::Parse(packet);
  header.Emit(packet);
  return packet;
}

ByteVector Changed(ByteVector packet, std::size_t at, std::uint8_t value) {
  Store8(packet.data() + at, value);
  return packet;
}

TEST(OuterPacket, V4Fields) {
  const ByteVector bytes = V4().Ports(51234, 8472).MarkEcn(Ecn::kEct0).Ttl(9).Build();
  const auto packet = ParseOuterPacket(bytes);
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->data, bytes.data());
  EXPECT_EQ(packet->total_length, bytes.size());
  EXPECT_EQ(packet->payload_offset, 28u);
  EXPECT_EQ(packet->payload_length, bytes.size() - 28);
  EXPECT_EQ(packet->source_port, 51234);
  EXPECT_EQ(packet->destination_port, 8472);
  EXPECT_EQ(packet->ecn, Ecn::kEct0);
  EXPECT_EQ(packet->ttl, 9);
  EXPECT_EQ(packet->source_v4(), 0xc000'0201u);
  EXPECT_EQ(packet->destination_v4(), 0xc000'0202u);
  EXPECT_EQ(packet->source(), Ip("192.0.2.1"));
  EXPECT_EQ(packet->destination(), Ip("192.0.2.2"));
  EXPECT_EQ(Dump(packet->payload()), Dump(V4().BuildPayload()));
}

TEST(OuterPacket, V6Fields) {
  const ByteVector bytes = V6().Ports(51234).MarkEcn(Ecn::kCe).Ttl(9).Build();
  const auto packet = ParseOuterPacket(bytes);
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->payload_offset, 48u);
  EXPECT_EQ(packet->source_port, 51234);
  EXPECT_EQ(packet->destination_port, kVxlanPort);
  EXPECT_EQ(packet->ecn, Ecn::kCe);
  EXPECT_EQ(packet->ttl, 9);
  EXPECT_EQ(packet->source(), Ip("2001:db8::1"));
  EXPECT_EQ(packet->destination(), Ip("2001:db8::2"));
  EXPECT_EQ(Dump(packet->payload()), Dump(V6().BuildPayload()));
}

struct Row {
  const char* description;
  ByteVector packet;
  const char* verdict;          // with checksums verified
  const char* trusted_verdict;  // with checksums trusted
};

TEST(OuterPacket, Rows) {
  const ByteVector options = PacketBuilder("192.0.2.1", "192.0.2.2")
                                 .UdpWithoutChecksum(50000, 4789)
                                 .Payload(V4().BuildPayload())
                                 .Ipv4Options(8)
                                 .Build();
  const ByteVector v6_options = PacketBuilder("2001:db8::1", "2001:db8::2")
                                    .Udp(50000, 4789)
                                    .Payload(V4().BuildPayload())
                                    .Ipv6DestinationOptions(8)
                                    .Build();
  const Row kRows[] = {
      {"no UDP checksum", V4().Build(), "ok", "ok"},
      {"right UDP checksum", V4().UdpChecksum().Build(), "ok", "ok"},
      {"wrong UDP checksum", V4().WrongUdpChecksum().Build(), "bad_udp_checksum", "ok"},
      {"wrong header checksum", V4().WrongHeaderChecksum().Build(), "bad_checksum", "ok"},
      {"padding", Concatenate(V4().Build(), ByteVector(9)), "ok", "ok"},
      {"DF clear", V4().DontFragment(false).Build(), "ok", "ok"},
      {"IPv4 options", options, "ok", "ok"},
      {"IPv6, no UDP checksum (RFC 6935)", V6().Build(), "ok", "ok"},
      {"IPv6, right UDP checksum", V6().UdpChecksum().Build(), "ok", "ok"},
      {"IPv6, wrong UDP checksum", V6().WrongUdpChecksum().Build(), "bad_udp_checksum", "ok"},
      {"IPv6 destination options", v6_options, "ok", "ok"},

      {"first fragment", V4().Fragment(0, 48).Build(), "fragment", "fragment"},
      {"later fragment", V4().Fragment(48, 999).Build(), "fragment", "fragment"},
      {"IPv6 first fragment", V6().Fragment(0, 48).Build(), "fragment", "fragment"},
      {"IPv6 later fragment", V6().Fragment(48, 999).Build(), "fragment", "fragment"},
      {"TCP", PacketBuilder("192.0.2.1", "192.0.2.2").Tcp(1, 4789).Build(), "not_udp", "not_udp"},
      {"IPv6 ICMP", PacketBuilder("2001:db8::1", "2001:db8::2").Ping(1, 1).Build(), "not_udp",
       "not_udp"},
      {"nothing", {}, "truncated", "truncated"},
      {"version 3", Changed(V4().Build(), 0, 0x35), "bad_version", "bad_version"},
      {"IHL 4", Changed(V4().Build(), 0, 0x44), "bad_header_length", "bad_header_length"},
      {"total length below header", Changed(Changed(V4().Build(), 2, 0), 3, 8), "bad_total_length",
       "bad_total_length"},
      {"UDP length 7", Changed(V4().Build(), 25, 7), "bad_udp_length", "bad_udp_length"},
      {"UDP length too large", Changed(V4().Build(), 24, 0xff), "bad_udp_length", "bad_udp_length"},
      {"room for half a UDP header",
       PacketBuilder("192.0.2.1", "192.0.2.2").Raw(IpProtocol::kUdp).Payload(4).Build(),
       "truncated", "truncated"},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.description);
    const auto verified = ParseOuterPacket(row.packet);
    EXPECT_EQ(verified ? "ok" : Name(verified.error()), row.verdict);
    const auto trusted = ParseOuterPacket(row.packet, OuterChecksums::kTrust);
    EXPECT_EQ(trusted ? "ok" : Name(trusted.error()), row.trusted_verdict);
  }
}

TEST(OuterPacket, AnyTruncationIsRefused) {
  for (const ByteVector& packet : {V4().Build(), V6().Build()}) {
    for (std::size_t size = 0; size < packet.size(); ++size) {
      const ByteVector cut(packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(size));
      ASSERT_FALSE(ParseOuterPacket(cut)) << size;
      ASSERT_EQ(ParseOuterPacket(cut).error(), Malformed::kTruncated) << size;
    }
  }
}

// The inline path must not accept what the full parser refuses, nor read different values.
TEST(OuterPacket, TheFastPathAgreesWithTheThoroughOne) {
  const ByteVector packet = V4().Build();
  for (std::size_t at = 0; at < 28; ++at) {
    for (unsigned value = 0; value < 256; ++value) {
      ByteVector changed = Changed(packet, at, static_cast<std::uint8_t>(value));
      // With a corrected header checksum the other checks are reached too.
      if (at < 20 && at != 10 && at != 11 && Ipv4Header::Parse(changed)) {
        changed = WithChecksum(changed);
      }
      for (const OuterChecksums checksums : {OuterChecksums::kVerify, OuterChecksums::kTrust}) {
        const auto fast = ParseOuterPacket(changed, checksums);
        const auto thorough = detail::ParseOuterPacketSlow(changed, checksums);
        ASSERT_EQ(fast.ok(), thorough.ok()) << at << " " << value;
        if (!fast) {
          ASSERT_EQ(fast.error(), thorough.error()) << at << " " << value;
          continue;
        }
        ASSERT_EQ(fast->total_length, thorough->total_length);
        ASSERT_EQ(fast->payload_offset, thorough->payload_offset);
        ASSERT_EQ(fast->payload_length, thorough->payload_length);
        ASSERT_EQ(fast->source_port, thorough->source_port);
        ASSERT_EQ(fast->destination_port, thorough->destination_port);
        ASSERT_EQ(fast->ecn, thorough->ecn);
        ASSERT_EQ(fast->ttl, thorough->ttl);
      }
    }
  }
}

}  // namespace
}  // namespace weft
