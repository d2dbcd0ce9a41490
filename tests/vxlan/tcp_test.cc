// SPDX-License-Identifier: Apache-2.0
#include "vxlan/tcp.h"

#include <gtest/gtest.h>

#include "tests/support/bytes.h"
#include "tests/support/packet_builder.h"

namespace weft {
namespace {

const ByteVector kSegment =
    Hex("9c 40"        // source port 40000
        "01 bb"        // destination port 443
        "01 02 03 04"  // sequence
        "05 06 07 08"  // acknowledgment
        "61 12"        // 24 bytes, AE, ACK, SYN
        "04 00"        // window
        "20 6b"        // checksum
        "00 05"        // urgent pointer
        "02 04 05 b4"  // option: MSS 1460
        "61 62 63");   // data

TcpHeader TcpValue() {
  return {40000,       443,    0x0102'0304,
          0x0506'0708, 24,     TcpHeader::kAe | TcpHeader::kAck | TcpHeader::kSyn,
          0x0400,      0x206b, 5};
}

TEST(Tcp, Deconstruct) { EXPECT_EQ(TcpHeader::Parse(kSegment), TcpValue()); }

TEST(Tcp, EmitWritesTheFixedHeaderAndLeavesOptions) {
  ByteVector out(24, std::byte{0xa5});
  EmitTcp(TcpValue(), out);
  EXPECT_EQ(Dump(Bytes(out).first(20)), Dump(Bytes(kSegment).first(20)));
  EXPECT_EQ(Dump(Bytes(out).subspan(20)), Dump(Hex("a5a5a5a5")));
}

TEST(Tcp, ReservedBitsSurvive) {
  ByteVector segment = kSegment;
  Store8(segment.data() + 12, 0x6e);
  const auto header = TcpHeader::Parse(segment);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->flags, 0xe12);
  ByteVector out(24);
  EmitTcp(*header, out);
  EXPECT_EQ(Load8(out.data() + 12), 0x6e);
}

TEST(Tcp, Refusals) {
  for (std::size_t size = 0; size < 24; ++size) {
    EXPECT_EQ(TcpHeader::Parse(Bytes(kSegment).first(size)).error(), Malformed::kTruncated) << size;
  }
  EXPECT_TRUE(TcpHeader::Parse(Bytes(kSegment).first(24)));
  for (const unsigned words : {0u, 1u, 4u}) {
    ByteVector segment = kSegment;
    Store8(segment.data() + 12, static_cast<std::uint8_t>(words << 4));
    EXPECT_EQ(TcpHeader::Parse(segment).error(), Malformed::kBadHeaderLength) << words;
    EXPECT_EQ(TcpHeader::Parse(Bytes(segment).first(19)).error(), Malformed::kTruncated) << words;
  }
  ByteVector segment = kSegment;
  Store8(segment.data() + 12, 0xf0);
  EXPECT_EQ(TcpHeader::Parse(segment).error(), Malformed::kTruncated) << "60 bytes of 27";
}

TEST(Tcp, FlagNames) {
  EXPECT_EQ(TcpFlagNames(0), "none");
  EXPECT_EQ(TcpFlagNames(TcpHeader::kSyn), "SYN");
  EXPECT_EQ(TcpFlagNames(TcpHeader::kSyn | TcpHeader::kAck), "SYN, ACK");
  EXPECT_EQ(TcpFlagNames(0x1ff), "FIN, SYN, RST, PSH, ACK, URG, ECE, CWR, AE");
  EXPECT_EQ(TcpFlagNames(0xe00), "none") << "reserved bits have no names";
}

}  // namespace
}  // namespace weft
