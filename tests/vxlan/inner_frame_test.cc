// SPDX-License-Identifier: Apache-2.0
#include "vxlan/inner_frame.h"

#include <gtest/gtest.h>

#include "tests/support/packet_builder.h"

namespace weft {
namespace {

TEST(InnerPacket, V4Fields) {
  const ByteVector bytes =
      PodsV4().Tcp(1, 2).Payload(10).Ttl(7).Tos(1, Ecn::kCe).DontFragment().Build();
  const auto packet = ParseInnerIp(bytes);
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->data, bytes.data());
  EXPECT_EQ(packet->total_length, 50u);
  EXPECT_EQ(packet->header_length, 20u);
  EXPECT_TRUE(packet->is_v4());
  EXPECT_EQ(packet->ether_type(), EtherType::kIpv4);
  EXPECT_EQ(packet->protocol, IpProtocol::kTcp);
  EXPECT_EQ(packet->fragment, FragmentKind::kWhole);
  EXPECT_TRUE(packet->dont_fragment);
  EXPECT_EQ(packet->ecn, Ecn::kCe);
  EXPECT_EQ(packet->ttl, 7);
  EXPECT_EQ(packet->source_v4(), 0x0af4'0102u);
  EXPECT_EQ(packet->destination_v4(), 0x0af4'0203u);
  EXPECT_EQ(packet->source(), Ip("10.244.1.2"));
  EXPECT_EQ(packet->destination(), Ip("10.244.2.3"));
  EXPECT_EQ(packet->bytes().size(), 50u);
  EXPECT_EQ(packet->transport().data(), bytes.data() + 20);
  EXPECT_EQ(packet->transport().size(), 30u);
}

TEST(InnerPacket, V6Fields) {
  const ByteVector bytes =
      PodsV6().Udp(1, 2).Payload(10).Ttl(7).Tos(1, Ecn::kEct0).FlowLabel(9).Build();
  const auto packet = ParseInnerIp(bytes);
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->total_length, 58u);
  EXPECT_EQ(packet->header_length, 40u);
  EXPECT_FALSE(packet->is_v4());
  EXPECT_EQ(packet->ether_type(), EtherType::kIpv6);
  EXPECT_EQ(packet->protocol, IpProtocol::kUdp);
  EXPECT_TRUE(packet->dont_fragment);
  EXPECT_EQ(packet->ecn, Ecn::kEct0);
  EXPECT_EQ(packet->ttl, 7);
  EXPECT_EQ(packet->source(), Ip("2001:db8::1"));
  EXPECT_EQ(packet->destination(), Ip("2001:db8::2"));
}

struct OffsetRow {
  const char* description;
  ByteVector packet;
  std::uint32_t header_length;
  FragmentKind fragment;
};

TEST(InnerPacket, WhereTheTransportHeaderIs) {
  const OffsetRow kRows[] = {
      {"plain", PodsV4().Build(), 20, FragmentKind::kWhole},
      {"options", PodsV4().Ipv4Options(40).Build(), 60, FragmentKind::kWhole},
      {"first fragment", PodsV4().Payload(99).Fragment(0, 8).Build(), 20, FragmentKind::kFirst},
      {"later fragment", PodsV4().Payload(99).Fragment(8, 8).Build(), 20, FragmentKind::kLater},
      {"last fragment", PodsV4().Payload(99).Fragment(8, 999).Build(), 20, FragmentKind::kLater},
      {"IPv6", PodsV6().Build(), 40, FragmentKind::kWhole},
      {"IPv6 ICMP", PodsV6().Ping(1, 1).Build(), 40, FragmentKind::kWhole},
      {"IPv6 options", PodsV6().Ipv6DestinationOptions(16).Build(), 56, FragmentKind::kWhole},
      {"IPv6 first fragment", PodsV6().Payload(99).Fragment(0, 8).Build(), 48,
       FragmentKind::kFirst},
      {"IPv6 later fragment", PodsV6().Payload(99).Fragment(8, 8).Build(), 48,
       FragmentKind::kLater},
      {"IPv6 both", PodsV6().Payload(99).Ipv6DestinationOptions(8).Fragment(0, 8).Build(), 56,
       FragmentKind::kFirst},
  };
  for (const OffsetRow& row : kRows) {
    SCOPED_TRACE(row.description);
    const auto packet = ParseInnerIp(row.packet);
    ASSERT_TRUE(packet) << Name(packet.error());
    EXPECT_EQ(packet->header_length, row.header_length);
    EXPECT_EQ(packet->fragment, row.fragment);
  }
}

struct RefusalRow {
  const char* description;
  ByteVector packet;
  Malformed verdict;
};

ByteVector Changed(ByteVector packet, std::size_t at, std::uint8_t value) {
  Store8(packet.data() + at, value);
  return packet;
}

TEST(InnerPacket, Refusals) {
  const RefusalRow kRows[] = {
      {"nothing", {}, Malformed::kTruncated},
      {"19 bytes", Cut(PodsV4().Build(), 19), Malformed::kTruncated},
      {"version 5", Changed(PodsV4().Build(), 0, 0x55), Malformed::kBadVersion},
      {"IHL 4", Changed(PodsV4().Build(), 0, 0x44), Malformed::kBadHeaderLength},
      {"IHL beyond the packet", Changed(PodsV4().Build(), 0, 0x4f), Malformed::kBadTotalLength},
      {"total length 19", Changed(PodsV4().Build(), 3, 19), Malformed::kBadTotalLength},
      {"total length too large", Changed(PodsV4().Build(), 3, 29), Malformed::kTruncated},
      {"IPv6 with 39 bytes", Cut(PodsV6().Build(), 39), Malformed::kTruncated},
      {"IPv6 payload cut off", Cut(PodsV6().Build(), 47), Malformed::kTruncated},
      {"IPv6 options beyond the packet", Changed(PodsV6().Ipv6DestinationOptions(8).Build(), 41, 9),
       Malformed::kTruncated},
  };
  for (const RefusalRow& row : kRows) {
    const auto packet = ParseInnerIp(row.packet);
    EXPECT_EQ(packet ? "ok" : Name(packet.error()), Name(row.verdict)) << row.description;
  }
}

// The fast parse may not differ from the header types.
TEST(InnerPacket, AgreesWithTheHeaderTypesOnAnyFirstBytes) {
  for (const ByteVector& packet : {PodsV4().Payload(30).Build(), PodsV6().Payload(30).Build()}) {
    const bool v4 = Load8(packet.data()) >> 4 == 4;
    for (std::size_t at = 0; at < 8; ++at) {
      for (unsigned value = 0; value < 256; ++value) {
        const ByteVector changed = Changed(packet, at, static_cast<std::uint8_t>(value));
        if (Load8(changed.data()) >> 4 != Load8(packet.data()) >> 4) continue;
        const auto inner = ParseInnerIp(changed);
        if (v4) {
          const auto header = Ipv4Header::Parse(changed);
          ASSERT_EQ(inner.ok(), header.ok()) << at << " " << value;
          if (!inner) {
            ASSERT_EQ(inner.error(), header.error());
            continue;
          }
          ASSERT_EQ(inner->total_length, header->total_length);
          ASSERT_EQ(inner->header_length, header->header_length);
          ASSERT_EQ(inner->fragment, header->fragment());
          ASSERT_EQ(inner->dont_fragment, header->dont_fragment);
          ASSERT_EQ(inner->ecn, header->ecn);
        } else {
          const auto header = Ipv6Header::Parse(changed);
          if (!header) {
            ASSERT_FALSE(inner);
            continue;
          }
          if (!inner) continue;  // an extension chain out of bounds
          ASSERT_EQ(inner->total_length, 40u + header->payload_length);
          ASSERT_EQ(inner->ecn, header->ecn);
          ASSERT_EQ(inner->ttl, header->hop_limit);
        }
      }
    }
  }
}

TEST(InnerPacket, PaddingIsNotPartOfIt) {
  const auto packet = ParseInnerIp(Concatenate(PodsV4().Build(), ByteVector(18)));
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->total_length, 28u);
}

const MacAddress kOurs = Mac("02:00:00:00:00:02");
const MacAddress kPeer = Mac("02:00:00:00:00:01");

TEST(InnerFrame, Addresses) {
  const ByteVector bytes = PodsV4().BuildFrame(kPeer, kOurs);
  const auto frame = ParseInnerEthernet(bytes);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->destination, kOurs);
  EXPECT_EQ(frame->source, kPeer);
  EXPECT_EQ(frame->family, IpFamily::kV4);
  EXPECT_EQ(ParseInnerEthernet(PodsV6().BuildFrame(kPeer, kOurs))->family, IpFamily::kV6);
}

TEST(InnerFrame, Refusals) {
  const ByteVector frame = PodsV4().BuildFrame(kPeer, kOurs);
  for (std::size_t size = 0; size < 14; ++size) {
    EXPECT_EQ(ParseInnerEthernet(Bytes(frame).first(size)).error(), Malformed::kTruncated);
  }
  const auto with_type = [&](std::uint16_t type) {
    ByteVector changed = frame;
    StoreBe16(changed.data() + 12, type);
    const auto parsed = ParseInnerEthernet(changed);
    return parsed ? "ok" : Name(parsed.error());
  };
  EXPECT_EQ(with_type(0x0806), "not_ip") << "ARP";
  EXPECT_EQ(with_type(0x88cc), "not_ip") << "LLDP";
  EXPECT_EQ(with_type(0x0040), "not_ip") << "802.3 length";
  EXPECT_EQ(with_type(0x8100), "vlan_tagged");
  EXPECT_EQ(with_type(0x88a8), "vlan_tagged");
  EXPECT_EQ(ParseInnerEthernet(PodsV4().BuildFrame(kPeer, kOurs, 5)).error(),
            Malformed::kVlanTagged);
}

TEST(InnerFrame, FrameAndPacketAtOnce) {
  const ByteVector bytes = PodsV6().BuildFrame(kPeer, kOurs);
  const auto packet = ParseInnerFrame(bytes);
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->data, bytes.data() + InnerFrame::kIpOffset);
  ByteVector contradiction = bytes;
  StoreBe16(contradiction.data() + 12, 0x0800);
  EXPECT_EQ(ParseInnerFrame(contradiction).error(), Malformed::kEtherTypeMismatch);
  EXPECT_EQ(ParseInnerFrame(Bytes(bytes).first(14)).error(), Malformed::kTruncated);
  EXPECT_EQ(ParseInnerFrame({}).error(), Malformed::kTruncated);
}

TEST(InnerPacket, EditsOfEitherFamily) {
  for (ByteVector bytes : {PodsV4().Ttl(5).Build(), PodsV6().Ttl(5).Build()}) {
    const IpFamily family = ParseInnerIp(bytes)->family;
    SetEcn(bytes.data(), family, Ecn::kCe);
    DecrementTtl(bytes.data(), family);
    EXPECT_EQ(ParseInnerIp(bytes)->ecn, Ecn::kCe);
    EXPECT_EQ(ParseInnerIp(bytes)->ttl, 4);
    if (family == IpFamily::kV4) {
      EXPECT_TRUE(Ipv4ChecksumIsRight(bytes));
    }
  }
}

}  // namespace
}  // namespace weft
