// SPDX-License-Identifier: Apache-2.0
#include "vxlan/udp.h"

#include <gtest/gtest.h>

#include "tests/support/bytes.h"

namespace weft {
namespace {

const ByteVector kDatagram =
    Hex("c3 50"  // source port 50000
        "12 b5"  // destination port 4789
        "00 0c"  // length 12
        "12 34"  // checksum
        "77 65 66 74");

TEST(Udp, Deconstruct) {
  EXPECT_EQ(UdpHeader::Parse(kDatagram), (UdpHeader{50000, 4789, 12, 0x1234}));
}

TEST(Udp, EmitWritesEveryByteAndNoMore) {
  ByteVector out(9, std::byte{0xa5});
  UdpHeader{50000, 4789, 12, 0x1234}.Emit(MutableBytes(out).first<UdpHeader::kSize>());
  EXPECT_EQ(Dump(Bytes(out).first(8)), Dump(Bytes(kDatagram).first(8)));
  EXPECT_EQ(out[8], std::byte{0xa5});
}

struct LengthRow {
  const char* description;
  std::uint16_t length;
  std::size_t size;
  const char* verdict;
};

TEST(Udp, Lengths) {
  constexpr LengthRow kRows[] = {
      {"header cut off", 12, 7, "truncated"},
      {"header alone", 8, 8, "ok"},
      {"all of the payload", 12, 12, "ok"},
      {"less than the payload: padding", 9, 12, "ok"},
      {"below the header", 7, 12, "bad_udp_length"},
      {"zero", 0, 12, "bad_udp_length"},
      {"beyond the payload", 13, 12, "bad_udp_length"},
  };
  for (const LengthRow& row : kRows) {
    ByteVector datagram = kDatagram;
    StoreBe16(datagram.data() + 4, row.length);
    const auto header = UdpHeader::Parse(Bytes(datagram).first(row.size));
    EXPECT_EQ(header ? "ok" : Name(header.error()), row.verdict) << row.description;
  }
}

TEST(Udp, ZeroIsSentAsAllOnes) {
  EXPECT_EQ(NonZeroUdpChecksum(0), 0xffff);
  EXPECT_EQ(NonZeroUdpChecksum(1), 1);
  EXPECT_EQ(NonZeroUdpChecksum(0xffff), 0xffff);
}

}  // namespace
}  // namespace weft
