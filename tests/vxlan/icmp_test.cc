// SPDX-License-Identifier: Apache-2.0
#include "vxlan/icmp.h"

#include <gtest/gtest.h>

#include "tests/support/packet_builder.h"
#include "vxlan/ipv4.h"
#include "vxlan/ipv6.h"
#include "vxlan/transport_checksum.h"

namespace weft {
namespace {

TEST(IcmpHeader, DeconstructAndEmit) {
  const ByteVector echo =
      Hex("08 00"    // echo request
          "e5 ca"    // checksum
          "12 34"    // identifier
          "00 01");  // sequence
  const auto header = IcmpHeader::Parse(echo);
  EXPECT_EQ(header, (IcmpHeader{8, 0, 0xe5ca, 0x1234'0001}));
  ByteVector out(9, std::byte{0xa5});
  header->Emit(MutableBytes(out).first<IcmpHeader::kSize>());
  EXPECT_EQ(Dump(out), Dump(Concatenate(echo, Hex("a5"))));
  for (std::size_t size = 0; size < 8; ++size) {
    EXPECT_EQ(IcmpHeader::Parse(Bytes(echo).first(size)).error(), Malformed::kTruncated);
  }
}

struct MayRow {
  const char* description;
  ByteVector packet;
  bool may;
};

TEST(MayAnswer, Rows) {
  const MayRow kRows[] = {
      {"UDP", PodsV4().Build(), true},
      {"TCP", PodsV4().Tcp(1, 2).Build(), true},
      {"echo request", PodsV4().Ping(1, 1).Build(), true},
      {"echo reply", PodsV4().Icmp(0, 0).Build(), true},
      {"timestamp request", PodsV4().Icmp(13, 0).Build(), true},
      {"first fragment", PodsV4().Payload(100).Fragment(0, 48).Build(), true},
      {"IPv6 UDP", PodsV6().Build(), true},
      {"IPv6 echo request", PodsV6().Ping(1, 1).Build(), true},
      {"IPv6 first fragment", PodsV6().Payload(100).Fragment(0, 48).Build(), true},
      {"IPv6 neighbor solicitation", PodsV6().Icmp(135, 0).Build(), true},

      {"unreachable", PodsV4().Icmp(3, 1).Build(), false},
      {"source quench", PodsV4().Icmp(4, 0).Build(), false},
      {"redirect", PodsV4().Icmp(5, 0).Build(), false},
      {"time exceeded", PodsV4().Icmp(11, 0).Build(), false},
      {"parameter problem", PodsV4().Icmp(12, 0).Build(), false},
      {"ICMP without a type", PodsV4().Raw(IpProtocol::kIcmp).Build(), false},
      {"ICMP's number inside IPv6",
       PodsV6().Raw(IpProtocol::kIcmp).Payload(Hex("03010000")).Build(), true},
      {"ICMPv6's number inside IPv4",
       PodsV4().Raw(IpProtocol::kIcmpV6).Payload(Hex("01000000")).Build(), true},
      {"ICMPv6 without a type", PodsV6().Raw(IpProtocol::kIcmpV6).Build(), false},
      {"later fragment", PodsV4().Payload(100).Fragment(48, 999).Build(), false},
      {"from nowhere", PacketBuilder("0.0.0.0", "10.244.2.3").Build(), false},
      {"from multicast", PacketBuilder("224.0.0.1", "10.244.2.3").Build(), false},
      {"from broadcast", PacketBuilder("255.255.255.255", "10.244.2.3").Build(), false},
      {"from loopback", PacketBuilder("127.0.0.1", "10.244.2.3").Build(), false},
      {"to multicast", PacketBuilder("10.244.1.2", "239.1.1.1").Build(), false},
      {"to broadcast", PacketBuilder("10.244.1.2", "255.255.255.255").Build(), false},
      {"garbage", Hex("00 01 02"), false},
      {"nothing", {}, false},
      {"IPv6 packet too big", PodsV6().Icmp(2, 0).Build(), false},
      {"IPv6 unknown error type", PodsV6().Icmp(100, 0).Build(), false},
      {"IPv6 redirect", PodsV6().Icmp(137, 0).Build(), false},
      {"IPv6 error behind options", PodsV6().Icmp(1, 0).Ipv6DestinationOptions(8).Build(), false},
      {"IPv6 later fragment", PodsV6().Payload(100).Fragment(48, 999).Build(), false},
      {"IPv6 from nowhere", PacketBuilder("::", "2001:db8::2").Build(), false},
      {"IPv6 from multicast", PacketBuilder("ff02::1", "2001:db8::2").Build(), false},
      {"IPv6 to multicast", PacketBuilder("2001:db8::1", "ff02::1").Build(), false},
  };
  for (const MayRow& row : kRows) {
    EXPECT_EQ(MayAnswerWithIcmpError(row.packet), row.may) << row.description;
  }
}

TEST(PacketTooBig, V4FieldByField) {
  // UDP 10.244.1.2:1000 -> 10.244.2.3:2000 "weft"; error bytes computed outside this project.
  const ByteVector offending =
      Hex("45000020 12344000 40110fad 0af40102 0af40203"
          "03e807d0 000cfd57 77656674");
  const ByteVector expected = Concatenate(Hex("45 c0 00 3c"  // DSCP 48 (CS6), total length 60
                                              "00 00 00 00"  // not fragmented
                                              "40 01 62 17"  // TTL 64, ICMP, checksum
                                              "0a f4 01 01"  // from the gateway
                                              "0a f4 01 02"  // to the sender
                                              "03 04"        // unreachable, fragmentation needed
                                              "10 5c"        // checksum
                                              "00 00 05 aa"  // next-hop MTU 1450
                                              ),
                                          offending);
  ByteVector out(kMaxIcmpV4Error, std::byte{0xa5});
  const std::size_t size =
      EmitPacketTooBig(*InnerMtu::From(1450), offending, Ip("10.244.1.1"), out);
  ASSERT_EQ(size, expected.size());
  EXPECT_EQ(Show(Bytes(out).first(size), FrameStart::kInnerIp),
            Show(expected, FrameStart::kInnerIp));
  EXPECT_EQ(out[size], std::byte{0xa5});
}

TEST(PacketTooBig, V4QuotesWhatFitsIn576) {
  ByteVector out(2000, std::byte{0xa5});
  const ByteVector big = PodsV4().TotalLength(1500).DontFragment().Build();
  const std::size_t size = EmitPacketTooBig(*InnerMtu::From(1450), big, Ip("10.244.1.1"), out);
  ASSERT_EQ(size, 576u);
  const Bytes error = Bytes(out).first(size);
  EXPECT_TRUE(Ipv4ChecksumIsRight(error));
  EXPECT_EQ(VerifyTransportChecksum(error), TransportChecksum::kRight);
  EXPECT_EQ(Dump(error.subspan(28)), Dump(Bytes(big).first(548)));
  EXPECT_EQ(out[576], std::byte{0xa5});
}

TEST(PacketTooBig, V6QuotesWhatFitsIn1280) {
  ByteVector out(2000, std::byte{0xa5});
  const ByteVector big = PodsV6().TotalLength(1500).Build();
  const std::size_t size = EmitPacketTooBig(*InnerMtu::From(1430), big, Ip("fe80::1"), out);
  ASSERT_EQ(size, 1280u);
  const Bytes error = Bytes(out).first(size);
  const auto ip = Ipv6Header::Parse(error);
  ASSERT_TRUE(ip);
  EXPECT_EQ(ip->source, Ip("fe80::1"));
  EXPECT_EQ(ip->destination, Ip("2001:db8::1"));
  EXPECT_EQ(ip->payload_length, 1240);
  const auto icmp = IcmpHeader::Parse(error.subspan(40));
  EXPECT_EQ(icmp->type, icmp_v6::kPacketTooBig);
  EXPECT_EQ(icmp->rest, 1430u);
  EXPECT_EQ(VerifyTransportChecksum(error), TransportChecksum::kRight);
  EXPECT_EQ(Dump(error.subspan(48)), Dump(Bytes(big).first(1232)));
  EXPECT_EQ(out[1280], std::byte{0xa5});
}

TEST(PacketTooBig, OddQuotesHaveRightChecksums) {
  for (std::size_t payload = 0; payload < 40; ++payload) {
    for (const ByteVector& offending :
         {PodsV4().Payload(payload).Build(), PodsV6().Payload(payload).Build()}) {
      const bool v4 = Load8(offending.data()) >> 4 == 4;
      ByteVector out(kMaxIcmpV6Error);
      const std::size_t size = EmitPacketTooBig(*InnerMtu::From(1000), offending,
                                                v4 ? Ip("10.244.1.1") : Ip("fe80::1"), out);
      ASSERT_NE(size, 0u);
      EXPECT_EQ(VerifyTransportChecksum(Bytes(out).first(size)), TransportChecksum::kRight)
          << payload;
    }
  }
}

TEST(PacketTooBig, PaddingIsNotQuoted) {
  const ByteVector padded = Concatenate(PodsV4().Build(), ByteVector(18));
  ByteVector out(kMaxIcmpV4Error);
  EXPECT_EQ(EmitPacketTooBig(*InnerMtu::From(1000), padded, Ip("10.244.1.1"), out), 28u + 28u);
}

TEST(PacketTooBig, NoAnswerWhereNoneMayBeSent) {
  ByteVector out(kMaxIcmpV6Error, std::byte{0xa5});
  const ByteVector untouched = out;
  const InnerMtu mtu = *InnerMtu::From(1450);
  EXPECT_EQ(EmitPacketTooBig(mtu, PodsV4().Icmp(3, 4).Build(), Ip("10.244.1.1"), out), 0u);
  EXPECT_EQ(EmitPacketTooBig(mtu, PodsV4().Build(), Ip("fe80::1"), out), 0u) << "other family";
  EXPECT_EQ(EmitPacketTooBig(mtu, {}, Ip("10.244.1.1"), out), 0u);
  EXPECT_EQ(Dump(out), Dump(untouched));
}

TEST(PacketTooBig, ASmallBufferCutsTheQuoteAndThenRefuses) {
  const ByteVector offending = PodsV4().Payload(100).Build();
  const InnerMtu mtu = *InnerMtu::From(1450);
  ByteVector out(56, std::byte{0xa5});
  EXPECT_EQ(EmitPacketTooBig(mtu, offending, Ip("10.244.1.1"), out), 56u);
  EXPECT_EQ(VerifyTransportChecksum(out), TransportChecksum::kRight);
  out.resize(55);
  EXPECT_EQ(EmitPacketTooBig(mtu, offending, Ip("10.244.1.1"), out), 0u)
      << "header and 8 bytes of data are the least";
}

struct ErrorRow {
  IcmpError error;
  std::uint8_t type_v4, code_v4, type_v6, code_v6;
};

TEST(IcmpErrors, TypesAndCodes) {
  constexpr ErrorRow kRows[] = {
      {IcmpError::kPacketTooBig, 3, 4, 2, 0},
      {IcmpError::kTimeExceeded, 11, 0, 3, 0},
      {IcmpError::kHostUnreachable, 3, 1, 1, 3},
      {IcmpError::kProhibited, 3, 13, 1, 1},
  };
  for (const ErrorRow& row : kRows) {
    ByteVector out(kMaxIcmpV6Error);
    ASSERT_NE(EmitIcmpError(row.error, 1400, PodsV4().Build(), Ip("10.244.1.1"), out), 0u);
    const auto v4 = IcmpHeader::Parse(Bytes(out).subspan(20));
    EXPECT_EQ(v4->type, row.type_v4);
    EXPECT_EQ(v4->code, row.code_v4);
    EXPECT_EQ(v4->rest, row.error == IcmpError::kPacketTooBig ? 1400u : 0u);
    ASSERT_NE(EmitIcmpError(row.error, 1400, PodsV6().Build(), Ip("fe80::1"), out), 0u);
    const auto v6 = IcmpHeader::Parse(Bytes(out).subspan(40));
    EXPECT_EQ(v6->type, row.type_v6);
    EXPECT_EQ(v6->code, row.code_v6);
  }
}

TEST(IcmpErrors, AnErrorIsNeverAnsweredWithAnError) {
  for (const IcmpError error : {IcmpError::kPacketTooBig, IcmpError::kTimeExceeded,
                                IcmpError::kHostUnreachable, IcmpError::kProhibited}) {
    ByteVector out(kMaxIcmpV6Error);
    std::size_t size = EmitIcmpError(error, 1400, PodsV4().Build(), Ip("10.244.1.1"), out);
    EXPECT_FALSE(MayAnswerWithIcmpError(Bytes(out).first(size)));
    size = EmitIcmpError(error, 1400, PodsV6().Build(), Ip("fe80::1"), out);
    EXPECT_FALSE(MayAnswerWithIcmpError(Bytes(out).first(size)));
  }
}

TEST(IcmpErrors, AnMtuBeyond16BitsIsTheLargestThatFitsTheFieldOfIpv4) {
  ByteVector out(kMaxIcmpV6Error);
  ASSERT_NE(
      EmitIcmpError(IcmpError::kPacketTooBig, 0x12345, PodsV4().Build(), Ip("10.244.1.1"), out),
      0u);
  EXPECT_EQ(IcmpHeader::Parse(Bytes(out).subspan(20))->rest, 0xffffu);
  ASSERT_NE(EmitIcmpError(IcmpError::kPacketTooBig, 0x12345, PodsV6().Build(), Ip("fe80::1"), out),
            0u);
  EXPECT_EQ(IcmpHeader::Parse(Bytes(out).subspan(40))->rest, 0x12345u);
}

// RFC 792: IP header and 8 bytes are quoted; a packet that has fewer is quoted whole.
TEST(IcmpErrors, AShortPacketIsQuotedWhole) {
  const ByteVector bare = PodsV4().Raw(IpProtocol{200}).Payload(3).Build();
  ASSERT_EQ(bare.size(), 23u);
  ByteVector out(28 + 23);
  EXPECT_EQ(EmitIcmpError(IcmpError::kHostUnreachable, 0, bare, Ip("10.244.1.1"), out), 28u + 23);
  EXPECT_EQ(Dump(Bytes(out).subspan(28)), Dump(bare));
  out.resize(28 + 22);
  EXPECT_EQ(EmitIcmpError(IcmpError::kHostUnreachable, 0, bare, Ip("10.244.1.1"), out), 0u);
}

struct NameRow {
  std::uint8_t type;  // IANA's registries of ICMP and ICMPv6 parameters
  const char* v4;
  const char* v6;
};

TEST(IcmpTypeName, DependsOnTheFamily) {
  constexpr NameRow kRows[] = {
      {0, "Echo (ping) reply", ""},
      {1, "", "Destination unreachable"},
      {2, "", "Packet Too Big"},
      {3, "Destination unreachable", "Time Exceeded"},
      {4, "Source quench", "Parameter Problem"},
      {5, "Redirect", ""},
      {8, "Echo (ping) request", ""},
      {11, "Time-to-live exceeded", ""},
      {12, "Parameter problem", ""},
      {128, "", "Echo (ping) request"},
      {129, "", "Echo (ping) reply"},
      {133, "", "Router Solicitation"},
      {134, "", "Router Advertisement"},
      {135, "", "Neighbor Solicitation"},
      {136, "", "Neighbor Advertisement"},
      {137, "", "Redirect"},
      {255, "", ""},
  };
  for (const NameRow& row : kRows) {
    EXPECT_EQ(IcmpTypeName(IpFamily::kV4, row.type), row.v4) << +row.type;
    EXPECT_EQ(IcmpTypeName(IpFamily::kV6, row.type), row.v6) << +row.type;
  }
}

}  // namespace
}  // namespace weft
