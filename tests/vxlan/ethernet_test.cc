// SPDX-License-Identifier: Apache-2.0
#include "vxlan/ethernet.h"

#include <gtest/gtest.h>

#include "tests/support/bytes.h"
#include "tests/support/packet_builder.h"

namespace weft {
namespace {

const ByteVector kPlain =
    Hex("02 00 00 00 00 02"  // destination
        "02 00 00 00 00 01"  // source
        "08 00"              // IPv4
        "45 00");            // payload

TEST(EthernetHeader, Deconstruct) {
  const auto header = EthernetHeader::Parse(kPlain);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->destination, Mac("02:00:00:00:00:02"));
  EXPECT_EQ(header->source, Mac("02:00:00:00:00:01"));
  EXPECT_EQ(header->ether_type, EtherType::kIpv4);
}

TEST(EthernetHeader, EmitWritesEveryByteAndNoMore) {
  ByteVector out(16, std::byte{0xa5});
  EthernetHeader{Mac("02:00:00:00:00:02"), Mac("02:00:00:00:00:01"), EtherType::kIpv4}.Emit(
      MutableBytes(out).first<EthernetHeader::kSize>());
  EXPECT_EQ(Dump(Bytes(out).first(14)), Dump(Bytes(kPlain).first(14)));
  EXPECT_EQ(out[14], std::byte{0xa5});
}

TEST(EthernetHeader, RefusesAnyTruncation) {
  for (std::size_t size = 0; size < EthernetHeader::kSize; ++size) {
    const auto header = EthernetHeader::Parse(Bytes(kPlain).first(size));
    ASSERT_FALSE(header) << size;
    EXPECT_EQ(header.error(), Malformed::kTruncated);
  }
}

TEST(EthernetHeader, UnknownTypesAreKept) {
  ByteVector frame = kPlain;
  StoreBe16(frame.data() + 12, 0x88cc);
  const auto header = EthernetHeader::Parse(frame);
  ASSERT_TRUE(header);
  EXPECT_EQ(static_cast<std::uint16_t>(header->ether_type), 0x88cc);
  EXPECT_EQ(Name(header->ether_type), "");
}

TEST(EthernetFrame, WithoutTag) {
  const auto frame = EthernetFrame::Parse(kPlain);
  ASSERT_TRUE(frame);
  EXPECT_FALSE(frame->tag);
  EXPECT_EQ(frame->ether_type, EtherType::kIpv4);
  EXPECT_EQ(frame->payload_offset, 14u);
}

TEST(EthernetFrame, LooksThroughOneTag) {
  const ByteVector tagged =
      Hex("02 00 00 00 00 02"  // destination
          "02 00 00 00 00 01"  // source
          "81 00"              // 802.1Q
          "b0 64"              // priority 5, drop eligible, identifier 100
          "86 dd");            // IPv6
  const auto frame = EthernetFrame::Parse(tagged);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->tag, (VlanTag{5, true, 100}));
  EXPECT_EQ(frame->ether_type, EtherType::kIpv6);
  EXPECT_EQ(frame->payload_offset, 18u);
  for (std::size_t size = 14; size < 18; ++size) {
    EXPECT_EQ(EthernetFrame::Parse(Bytes(tagged).first(size)).error(), Malformed::kTruncated);
  }
}

TEST(EthernetFrame, ASecondTagStaysVisible) {
  const ByteVector twice =
      Hex("020000000002 020000000001"
          "88 a8 00 0a"  // 802.1ad, identifier 10
          "81 00 00 0b"  // 802.1Q, identifier 11
          "08 00");
  const auto frame = EthernetFrame::Parse(twice);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->tag->identifier, 10);
  EXPECT_EQ(frame->ether_type, EtherType::kVlan);
  EXPECT_TRUE(IsVlanTag(frame->ether_type));
}

TEST(EtherType, Names) {
  EXPECT_EQ(Name(EtherType::kIpv4), "IPv4");
  EXPECT_EQ(Name(EtherType::kArp), "ARP");
  EXPECT_EQ(Name(EtherType::kIpv6), "IPv6");
  EXPECT_EQ(Name(EtherType::kVlan), "802.1Q Virtual LAN");
  EXPECT_FALSE(IsVlanTag(EtherType::kIpv4));
}

}  // namespace
}  // namespace weft
