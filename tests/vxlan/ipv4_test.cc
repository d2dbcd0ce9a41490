// SPDX-License-Identifier: Apache-2.0
#include "vxlan/ipv4.h"

#include <gtest/gtest.h>

#include "tests/support/bytes.h"
#include "tests/support/packet_builder.h"

namespace weft {
namespace {

// 20 bytes of header and 8 of payload; the checksum was computed outside this project.
const ByteVector kPacket =
    Hex("45"           // version 4, IHL 5
        "b9"           // DSCP 46, ECT(1)
        "00 1c"        // total length 28
        "12 34"        // identification
        "60 02"        // DF and MF, offset 2 * 8
        "40"           // TTL 64
        "11"           // UDP
        "ee f5"        // header checksum
        "0a f4 01 02"  // 10.244.1.2
        "0a f4 02 03"  // 10.244.2.3
        "00 01 02 03 04 05 06 07");

Ipv4Header Value() {
  Ipv4Header header;
  header.dscp = 46;
  header.ecn = Ecn::kEct1;
  header.total_length = 28;
  header.identification = 0x1234;
  header.dont_fragment = true;
  header.more_fragments = true;
  header.fragment_offset = 16;
  header.ttl = 64;
  header.protocol = IpProtocol::kUdp;
  header.source = 0x0af4'0102;
  header.destination = 0x0af4'0203;
  return header;
}

TEST(Ipv4, Deconstruct) { EXPECT_EQ(Ipv4Header::Parse(kPacket), Value()); }

TEST(Ipv4, EmitWritesEveryByteAndNoMore) {
  ByteVector out(21, std::byte{0xa5});
  Value().Emit(out);
  EXPECT_EQ(Dump(Bytes(out).first(20)), Dump(Bytes(kPacket).first(20)));
  EXPECT_EQ(out[20], std::byte{0xa5});
}

TEST(Ipv4, EmitCoversOptionsAlreadyInPlace) {
  Ipv4Header header = Value();
  header.header_length = 24;
  header.total_length = 24;
  ByteVector out(24, std::byte{0xa5});
  StoreBe32(out.data() + 20, 0x9404'0000);  // router alert
  header.Emit(out);
  EXPECT_EQ(LoadBe32(out.data() + 20), 0x9404'0000u);
  EXPECT_TRUE(Ipv4ChecksumIsRight(out));
  EXPECT_EQ(Ipv4Header::Parse(out), header);
}

TEST(Ipv4, KnownChecksum) {
  const ByteVector header = Hex("4500 0073 0000 4000 4011 b861 c0a8 0001 c0a8 00c7");
  EXPECT_TRUE(Ipv4ChecksumIsRight(header));
  for (std::size_t i = 1; i < header.size(); ++i) {
    ByteVector changed = header;
    changed[i] ^= std::byte{0x04};
    EXPECT_FALSE(Ipv4ChecksumIsRight(changed)) << "byte " << i;
  }
}

struct ParseRow {
  const char* description;
  std::size_t offset;  // where kPacket is changed
  std::uint8_t value;  // to what
  std::size_t size;    // the bytes that are present
  Malformed verdict;
};

TEST(Ipv4, Refusals) {
  constexpr ParseRow kRows[] = {
      {"nothing", 0, 0x45, 0, Malformed::kTruncated},
      {"one byte short of a header", 0, 0x45, 19, Malformed::kTruncated},
      {"version 6, cut off", 0, 0x65, 19, Malformed::kTruncated},
      {"version 6", 0, 0x65, 28, Malformed::kBadVersion},
      {"version 0", 0, 0x05, 28, Malformed::kBadVersion},
      {"IHL 4", 0, 0x44, 28, Malformed::kBadHeaderLength},
      {"IHL 0", 0, 0x40, 28, Malformed::kBadHeaderLength},
      {"IHL beyond total length", 0, 0x48, 28, Malformed::kBadTotalLength},
      {"total length below header", 3, 19, 28, Malformed::kBadTotalLength},
      {"total length zero", 3, 0, 28, Malformed::kBadTotalLength},
      {"total length beyond the bytes", 3, 29, 28, Malformed::kTruncated},
      {"bytes cut off", 0, 0x45, 27, Malformed::kTruncated},
  };
  for (const ParseRow& row : kRows) {
    SCOPED_TRACE(row.description);
    ByteVector packet = kPacket;
    Store8(packet.data() + row.offset, row.value);
    const auto header = Ipv4Header::Parse(Bytes(packet).first(row.size));
    ASSERT_FALSE(header);
    EXPECT_EQ(Name(header.error()), Name(row.verdict));
  }
}

TEST(Ipv4, PaddingBehindThePacketIsAccepted) {
  EXPECT_EQ(Ipv4Header::Parse(Concatenate(kPacket, ByteVector(18))), Value());
}

TEST(Ipv4, AWrongChecksumStillParses) {
  const ByteVector packet = PacketBuilder("10.0.0.1", "10.0.0.2").WrongHeaderChecksum().Build();
  EXPECT_TRUE(Ipv4Header::Parse(packet));
  EXPECT_FALSE(Ipv4ChecksumIsRight(packet));
}

TEST(Ipv4, FragmentKinds) {
  Ipv4Header header;
  EXPECT_EQ(header.fragment(), FragmentKind::kWhole);
  header.dont_fragment = true;
  EXPECT_EQ(header.fragment(), FragmentKind::kWhole);
  header.more_fragments = true;
  EXPECT_EQ(header.fragment(), FragmentKind::kFirst);
  header.fragment_offset = 8;
  EXPECT_EQ(header.fragment(), FragmentKind::kLater);
  header.more_fragments = false;
  EXPECT_EQ(header.fragment(), FragmentKind::kLater);
}

TEST(Ipv4, DecrementTtlKeepsTheChecksumRight) {
  for (const std::size_t options : {0u, 8u}) {
    for (unsigned ttl = 1; ttl <= 255; ++ttl) {
      ByteVector packet = PacketBuilder("10.244.1.2", "10.244.2.3")
                              .Ttl(static_cast<std::uint8_t>(ttl))
                              .Ipv4Options(options)
                              .Build();
      DecrementIpv4Ttl(packet.data());
      ASSERT_EQ(Ipv4Header::Parse(packet)->ttl, ttl - 1);
      ASSERT_EQ(Ipv4Header::Parse(packet)->protocol, IpProtocol::kUdp);
      ASSERT_TRUE(Ipv4ChecksumIsRight(packet)) << ttl;
    }
  }
}

TEST(Ipv4, SetEcnKeepsTheRestAndTheChecksumRight) {
  for (const Ecn before : {Ecn::kNotEct, Ecn::kEct1, Ecn::kEct0, Ecn::kCe}) {
    for (const Ecn after : {Ecn::kNotEct, Ecn::kEct1, Ecn::kEct0, Ecn::kCe}) {
      ByteVector packet = PacketBuilder("10.244.1.2", "10.244.2.3").Tos(46, before).Build();
      Ipv4Header expected = *Ipv4Header::Parse(packet);
      expected.ecn = after;
      SetIpv4Ecn(packet.data(), after);
      EXPECT_EQ(Ipv4Header::Parse(packet), expected);
      EXPECT_TRUE(Ipv4ChecksumIsRight(packet)) << Name(before) << " to " << Name(after);
    }
  }
}

TEST(Ipv4, EditsDoNotRepairAWrongChecksum) {
  ByteVector packet = PacketBuilder("10.0.0.1", "10.0.0.2").WrongHeaderChecksum().Build();
  DecrementIpv4Ttl(packet.data());
  SetIpv4Ecn(packet.data(), Ecn::kCe);
  EXPECT_FALSE(Ipv4ChecksumIsRight(packet));
}

}  // namespace
}  // namespace weft
