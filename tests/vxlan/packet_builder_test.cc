// SPDX-License-Identifier: Apache-2.0
// Other tests rely on the builder: its packets are compared with bytes written by hand.
#include "tests/support/packet_builder.h"

#include <gtest/gtest.h>

#include "vxlan/transport_checksum.h"

namespace weft {
namespace {

TEST(Hex, ReadsDigitsAndSkipsBlanks) {
  EXPECT_EQ(Hex("45 00\n0054"),
            (ByteVector{std::byte{0x45}, std::byte{0}, std::byte{0}, std::byte{0x54}}));
  EXPECT_TRUE(Hex("").empty());
}

TEST(HexDeathTest, WrongTestDataAborts) {
  EXPECT_DEATH(Hex("4"), "odd number");
  EXPECT_DEATH(Hex("4g"), "'g'");
  EXPECT_DEATH(Ip("10.0.0"), "does not parse");
}

TEST(Dump, SixteenBytesALine) {
  EXPECT_EQ(Dump(Hex("000102")), "0000: 0001 02\n");
  EXPECT_EQ(Dump(ByteVector(17)),
            "0000: 0000 0000 0000 0000 0000 0000 0000 0000\n"
            "0010: 00\n");
}

TEST(PacketBuilder, UdpAsWrittenByHand) {
  const ByteVector built = PacketBuilder("10.244.1.2", "10.244.2.3")
                               .Udp(1000, 2000)
                               .Payload(Hex("77656674"))
                               .Identification(0x1234)
                               .DontFragment()
                               .Build();
  EXPECT_EQ(Dump(built), Dump(Hex("45000020 12344000 40110fad 0af40102 0af40203"
                                  "03e807d0 000cfd57 77656674")));
}

TEST(PacketBuilder, TcpAsWrittenByHand) {
  const ByteVector built =
      PacketBuilder("10.244.1.2", "10.244.2.3")
          .Tcp(40000, 443, TcpHeader::kAck | TcpHeader::kPsh, 0x0102'0304, 0x0506'0708)
          .Payload(Hex("616263"))
          .Build();
  EXPECT_EQ(Dump(Bytes(built).subspan(20)),
            Dump(Hex("9c4001bb 01020304 05060708 50180400 206b0000 616263")));
}

TEST(PacketBuilder, PingAsWrittenByHand) {
  const ByteVector v4 = PacketBuilder("10.244.1.2", "10.244.2.3").Ping(0x1234, 1).Build();
  EXPECT_EQ(Dump(Bytes(v4).subspan(20)), Dump(Hex("0800e5ca 12340001")));
  const ByteVector v6 = PacketBuilder("2001:db8::1", "2001:db8::2").Ping(0x1234, 1).Build();
  EXPECT_EQ(Dump(Bytes(v6).subspan(40)), Dump(Hex("80001213 12340001")));
}

TEST(PacketBuilder, TotalLengthCountsEveryHeader) {
  PacketBuilder v4("10.244.1.2", "10.244.2.3");
  PacketBuilder v6("2001:db8::1", "2001:db8::2");
  EXPECT_EQ(v4.Tcp(1, 2).TcpTimestamps().Ipv4Options(8).TotalLength(1450).Build().size(), 1450u);
  EXPECT_EQ(v6.Udp(1, 2).Ipv6DestinationOptions(16).TotalLength(1430).Build().size(), 1430u);
}

TEST(PacketBuilder, FragmentsPutTogetherAreTheDatagram) {
  const PacketBuilder whole = PacketBuilder("10.244.1.2", "10.244.2.3").Payload(100);
  ByteVector together;
  for (const std::size_t offset : {0u, 48u, 96u}) {
    const ByteVector piece = PacketBuilder(whole).Fragment(offset, 48).Build();
    together.insert(together.end(), piece.begin() + 20, piece.end());
  }
  EXPECT_EQ(Dump(together), Dump(Bytes(whole.Build()).subspan(20)));
}

TEST(PacketBuilder, FrameAndTag) {
  const MacAddress a = Mac("02:00:00:00:00:01");
  const MacAddress b = Mac("02:00:00:00:00:02");
  const PacketBuilder packet("2001:db8::1", "2001:db8::2");
  EXPECT_EQ(Dump(Bytes(packet.BuildFrame(a, b)).first(14)),
            Dump(Hex("020000000002 020000000001 86dd")));
  EXPECT_EQ(Dump(Bytes(packet.BuildFrame(a, b, 5)).first(18)),
            Dump(Hex("020000000002 020000000001 8100 0005 86dd")));
}

TEST(VxlanBuilder, AsWrittenByHand) {
  const ByteVector inner =
      Hex("45000020 12344000 40110fad 0af40102 0af40203 03e807d0 000cfd57 77656674");
  const ByteVector headers =
      Hex("45000052 00004000 4011b697 c0000201 c0000202"  // outer IP
          "c35012b5 003e0000"                             // UDP, no checksum
          "08000000 00100000"                             // VXLAN
          "020000000002 020000000001 0800");              // inner Ethernet
  EXPECT_EQ(Dump(VxlanBuilder(inner).Build()), Dump(Concatenate(headers, inner)));
  EXPECT_EQ(Dump(VxlanBuilder(inner).BuildPayload()),
            Dump(Concatenate(ByteVector(headers.begin() + 28, headers.end()), inner)));
  EXPECT_EQ(LoadBe16(VxlanBuilder(inner).UdpChecksum().Build().data() + 26), 0xaa5f);
}

TEST(VxlanBuilder, BuildsWhatIsRequested) {
  const ByteVector inner = PacketBuilder("10.244.1.2", "10.244.2.3").Build();
  const ByteVector reserved = VxlanBuilder(inner).ReservedBitsSet().BuildPayload();
  EXPECT_EQ(Dump(Bytes(reserved).first(8)), Dump(Hex("ffffffff 001000ff")));
  const ByteVector silent = VxlanBuilder(inner).Flags(0).Network(7).BuildPayload();
  EXPECT_EQ(Dump(Bytes(silent).first(8)), Dump(Hex("00000000 00000700")));
  const ByteVector around = VxlanBuilder::AroundFrame(Hex("0102")).BuildPayload();
  EXPECT_EQ(Dump(around), Dump(Hex("08000000 00100000 0102")));
  EXPECT_EQ(VerifyTransportChecksum(VxlanBuilder(inner).WrongUdpChecksum().Build()),
            TransportChecksum::kWrong);
}

}  // namespace
}  // namespace weft
