// SPDX-License-Identifier: Apache-2.0
#include "vxlan/vxlan_header.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/support/bytes.h"

namespace weft {
namespace {

const ByteVector kHeader =
    Hex("08"        // flags: I
        "00 00 00"  // reserved
        "00 10 00"  // VNI 4096
        "00");      // reserved

TEST(VxlanHeader, Deconstruct) {
  const auto header = VxlanHeader::Parse(kHeader);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->vni, kFlannelWindowsVni);
}

TEST(VxlanHeader, EmitWritesEveryByteAndNoMore) {
  ByteVector out(9, std::byte{0xa5});
  VxlanHeader{kFlannelWindowsVni}.Emit(MutableBytes(out).first<VxlanHeader::kSize>());
  EXPECT_EQ(Dump(out), Dump(Concatenate(kHeader, Hex("a5"))));
}

TEST(VxlanHeader, EveryVniSurvives) {
  for (std::uint32_t vni = 0; vni <= Vni::kMax; vni = vni * 3 + 1) {
    ByteVector out(8, std::byte{0xa5});
    const VxlanHeader header{*Vni::From(vni)};
    header.Emit(MutableBytes(out).first<VxlanHeader::kSize>());
    EXPECT_EQ(VxlanHeader::Parse(out), header) << vni;
  }
}

// All ones go out as the largest VNI and zeros; in a constant expression, too.
constexpr bool ReservedBitsDoNotRoundTrip() {
  std::array<std::byte, VxlanHeader::kSize> bytes{};
  bytes.fill(std::byte{0xff});
  VxlanHeader::Parse(bytes)->Emit(bytes);
  return LoadBe64(bytes.data()) == 0x0800'0000'ffff'ff00;
}
static_assert(ReservedBitsDoNotRoundTrip());

TEST(VxlanHeader, RefusesAnyTruncation) {
  for (std::size_t size = 0; size < VxlanHeader::kSize; ++size) {
    EXPECT_EQ(VxlanHeader::Parse(Bytes(kHeader).first(size)).error(), Malformed::kTruncated);
  }
}

TEST(VxlanHeader, TheIFlagAloneDecides) {
  for (unsigned flags = 0; flags < 256; ++flags) {
    ByteVector bytes = kHeader;
    Store8(bytes.data(), static_cast<std::uint8_t>(flags));
    const auto header = VxlanHeader::Parse(bytes);
    EXPECT_EQ(header.ok(), (flags & 0x08) != 0) << flags;
    if (!header) {
      EXPECT_EQ(header.error(), Malformed::kNoVniFlag);
    }
  }
}

}  // namespace
}  // namespace weft
