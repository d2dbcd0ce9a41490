// SPDX-License-Identifier: Apache-2.0
#include "vxlan/arp.h"

#include <gtest/gtest.h>

#include "tests/support/bytes.h"
#include "tests/support/packet_builder.h"

namespace weft {
namespace {

const ByteVector kRequest =
    Hex("00 01"              // hardware: Ethernet
        "08 00"              // protocol: IPv4
        "06 04"              // address sizes
        "00 01"              // request
        "02 00 00 00 00 01"  // sender MAC
        "0a f4 01 02"        // sender 10.244.1.2
        "00 00 00 00 00 00"  // target MAC, requested
        "0a f4 01 01");      // target 10.244.1.1

TEST(Arp, Deconstruct) {
  const auto arp = ArpPacket::Parse(kRequest);
  ASSERT_TRUE(arp);
  EXPECT_EQ(arp->operation, ArpPacket::Operation::kRequest);
  EXPECT_EQ(arp->sender_mac, Mac("02:00:00:00:00:01"));
  EXPECT_EQ(arp->sender_address, 0x0af4'0102u);
  EXPECT_TRUE(arp->target_mac.IsZero());
  EXPECT_EQ(arp->target_address, 0x0af4'0101u);
}

TEST(Arp, EmitWritesEveryByteAndNoMore) {
  ByteVector out(ArpPacket::kSize + 1, std::byte{0xa5});
  ArpPacket::Parse(kRequest)->Emit(MutableBytes(out).first<ArpPacket::kSize>());
  EXPECT_EQ(Dump(Bytes(out).first(ArpPacket::kSize)), Dump(kRequest));
  EXPECT_EQ(out.back(), std::byte{0xa5});
}

TEST(Arp, TheReplySwapsTheRequest) {
  const ArpPacket reply = ArpPacket::Parse(kRequest)->ReplyFrom(Mac("02:00:00:00:00:fe"));
  ByteVector out(ArpPacket::kSize);
  reply.Emit(MutableBytes(out).first<ArpPacket::kSize>());
  EXPECT_EQ(Dump(out), Dump(Hex("0001 0800 0604 0002"        // reply
                                "0200000000fe 0af40101"      // sender: the gateway
                                "020000000001 0af40102")));  // target: the requester
}

TEST(Arp, PaddingIsIgnored) {
  EXPECT_EQ(ArpPacket::Parse(Concatenate(kRequest, ByteVector(18))), ArpPacket::Parse(kRequest));
}

TEST(Arp, RefusesAnyTruncation) {
  for (std::size_t size = 0; size < ArpPacket::kSize; ++size) {
    EXPECT_EQ(ArpPacket::Parse(Bytes(kRequest).first(size)).error(), Malformed::kTruncated);
  }
}

TEST(Arp, RefusesOtherHardwareAndProtocols) {
  for (const std::size_t at : {0u, 1u, 2u, 3u, 4u, 5u}) {
    ByteVector other = kRequest;
    other[at] ^= std::byte{0x10};
    EXPECT_EQ(ArpPacket::Parse(other).error(), Malformed::kNotEthernetIpv4Arp) << at;
  }
}

TEST(Arp, UnknownOperationsAreKept) {
  ByteVector inverse = kRequest;
  StoreBe16(inverse.data() + 6, 8);
  const auto arp = ArpPacket::Parse(inverse);
  ASSERT_TRUE(arp);
  EXPECT_EQ(static_cast<std::uint16_t>(arp->operation), 8);
}

}  // namespace
}  // namespace weft
