// SPDX-License-Identifier: Apache-2.0
#include "vxlan/ipv6.h"

#include <gtest/gtest.h>

#include "tests/support/bytes.h"
#include "tests/support/packet_builder.h"

namespace weft {
namespace {

const ByteVector kHeader =
    Hex("6b 9a bc de"                          // version 6, DSCP 46, ECT(1), flow label 0xabcde
        "00 04"                                // payload length
        "11"                                   // next header UDP
        "40"                                   // hop limit 64
        "20010db8 00000000 00000000 00000001"  // source
        "20010db8 00000000 00000000 00000002"  // destination
        "00 01 02 03");

Ipv6Header Ipv6Value() {
  Ipv6Header header;
  header.dscp = 46;
  header.ecn = Ecn::kEct1;
  header.flow_label = 0xa'bcde;
  header.payload_length = 4;
  header.next_header = IpProtocol::kUdp;
  header.source = Ip("2001:db8::1");
  header.destination = Ip("2001:db8::2");
  return header;
}

TEST(Ipv6, Deconstruct) { EXPECT_EQ(Ipv6Header::Parse(kHeader), Ipv6Value()); }

TEST(Ipv6, EmitWritesEveryByteAndNoMore) {
  ByteVector out(41, std::byte{0xa5});
  Ipv6Value().Emit(MutableBytes(out).first<Ipv6Header::kSize>());
  EXPECT_EQ(Dump(Bytes(out).first(40)), Dump(Bytes(kHeader).first(40)));
  EXPECT_EQ(out[40], std::byte{0xa5});
}

TEST(Ipv6, Refusals) {
  for (std::size_t size = 0; size < kHeader.size(); ++size) {
    EXPECT_EQ(Ipv6Header::Parse(Bytes(kHeader).first(size)).error(), Malformed::kTruncated) << size;
  }
  ByteVector version4 = kHeader;
  Store8(version4.data(), 0x45);
  EXPECT_EQ(Ipv6Header::Parse(version4).error(), Malformed::kBadVersion);
  EXPECT_EQ(Ipv6Header::Parse(Bytes(version4).first(0)).error(), Malformed::kTruncated);
}

TEST(Ipv6, PaddingBehindThePacketIsAccepted) {
  EXPECT_EQ(Ipv6Header::Parse(Concatenate(kHeader, ByteVector(7))), Ipv6Value());
}

// A packet whose payload is `payload`, the first header of which is `next`.
ByteVector WithPayload(std::uint8_t next, const ByteVector& payload) {
  return PacketBuilder("2001:db8::1", "2001:db8::2")
      .Raw(static_cast<IpProtocol>(next))
      .Payload(payload)
      .Build();
}

struct WalkRow {
  const char* description;
  std::uint8_t next;
  const char* payload;  // hexadecimal
  std::uint8_t protocol;
  std::uint32_t offset;
  FragmentKind fragment;
};

TEST(Ipv6, ExtensionHeaders) {
  constexpr FragmentKind kWhole = FragmentKind::kWhole;
  constexpr WalkRow kRows[] = {
      {"none", 17, "", 17, 40, kWhole},
      {"hop-by-hop", 0, "06 00 0000 00000000", 6, 48, kWhole},
      {"hop-by-hop with options", 0, "06 00 0104 00000000", 6, 48, kWhole},
      {"two units long", 60, "06 01 0000 00000000 0000000000000000", 6, 56, kWhole},
      {"three in a row", 0, "2b 00 000000000000  3c 00 000000000000  11 00 000000000000", 17, 64,
       kWhole},
      {"authentication counts words", 51, "06 01 0000 00000000 00000000", 6, 52, kWhole},
      {"ESP ends the walk", 50, "0000000000000000", 50, 40, kWhole},
      {"no next header", 59, "", 59, 40, kWhole},
      {"unknown header is the upper one", 200, "00", 200, 40, kWhole},
      {"first fragment", 44, "11 00 0001 00000007", 17, 48, FragmentKind::kFirst},
      {"first fragment, more headers behind", 44, "3c 00 0001 00000007 11 00 000000000000", 17, 56,
       FragmentKind::kFirst},
      {"later fragment", 44, "11 00 0008 00000007", 17, 48, FragmentKind::kLater},
      {"later fragment: what follows is data", 44, "3c 00 0009 00000007 ffffffffffffffff", 60, 48,
       FragmentKind::kLater},
      {"atomic fragment, RFC 6946", 44, "11 00 0000 00000007", 17, 48, kWhole},
      {"reserved bits of the fragment header", 44, "11 ff 0006 00000007", 17, 48, kWhole},
  };
  for (const WalkRow& row : kRows) {
    SCOPED_TRACE(row.description);
    const auto upper = FindIpv6Upper(WithPayload(row.next, Hex(row.payload)));
    ASSERT_TRUE(upper) << Name(upper.error());
    EXPECT_EQ(static_cast<int>(upper->protocol), row.protocol);
    EXPECT_EQ(upper->offset, row.offset);
    EXPECT_EQ(upper->fragment, row.fragment);
  }
}

TEST(Ipv6, ExtensionHeadersMayNotLeaveThePacket) {
  for (const char* payload :
       {"", "06", "06 00 0000 000000", "06 01 0000 00000000", "06 ff 0000 00000000"}) {
    const auto upper = FindIpv6Upper(WithPayload(0, Hex(payload)));
    ASSERT_FALSE(upper) << payload;
    EXPECT_EQ(upper.error(), Malformed::kTruncated);
  }
}

TEST(Ipv6, TheWalkIsBounded) {
  ByteVector chain;
  for (int i = 0; i < kMaxIpv6Extensions; ++i) chain = Concatenate(chain, Hex("3c00 000000000000"));
  ByteVector enough = chain;
  Store8(enough.data() + enough.size() - 8, 17);
  EXPECT_TRUE(FindIpv6Upper(WithPayload(60, enough)));
  const auto upper = FindIpv6Upper(WithPayload(60, Concatenate(chain, Hex("1100 000000000000"))));
  ASSERT_FALSE(upper);
  EXPECT_EQ(upper.error(), Malformed::kTooManyExtensions);
}

TEST(Ipv6, EditsTouchNothingElse) {
  ByteVector packet = kHeader;
  DecrementIpv6HopLimit(packet.data());
  SetIpv6Ecn(packet.data(), Ecn::kCe);
  Ipv6Header expected = Ipv6Value();
  expected.hop_limit = 63;
  expected.ecn = Ecn::kCe;
  EXPECT_EQ(Ipv6Header::Parse(packet), expected);
  SetIpv6Ecn(packet.data(), Ecn::kNotEct);
  expected.ecn = Ecn::kNotEct;
  EXPECT_EQ(Ipv6Header::Parse(packet), expected);
}

}  // namespace
}  // namespace weft
