// SPDX-License-Identifier: Apache-2.0
#include "vxlan/transport_checksum.h"

#include <gtest/gtest.h>

#include "tests/support/packet_builder.h"

namespace weft {
namespace {

// Checksums computed outside this project.
TEST(TransportChecksum, KnownPackets) {
  const ByteVector udp =
      Hex("45000020 12344000 40110fad 0af40102 0af40203 03e807d0 000cfd57 77656674");
  EXPECT_EQ(VerifyTransportChecksum(udp), TransportChecksum::kRight);
  const ByteVector tcp = PacketBuilder("10.244.1.2", "10.244.2.3")
                             .Raw(IpProtocol::kTcp)
                             .Payload(Hex("9c4001bb 01020304 05060708 50180400 206b0000 616263"))
                             .Build();
  EXPECT_EQ(VerifyTransportChecksum(tcp), TransportChecksum::kRight);
  const ByteVector ping = PacketBuilder("10.244.1.2", "10.244.2.3")
                              .Raw(IpProtocol::kIcmp)
                              .Payload(Hex("0800 e5ca 1234 0001"))
                              .Build();
  EXPECT_EQ(VerifyTransportChecksum(ping), TransportChecksum::kRight);
  const ByteVector ping6 = PacketBuilder("2001:db8::1", "2001:db8::2")
                               .Raw(IpProtocol::kIcmpV6)
                               .Payload(Hex("8000 1213 1234 0001"))
                               .Build();
  EXPECT_EQ(VerifyTransportChecksum(ping6), TransportChecksum::kRight);
  const ByteVector odd = PacketBuilder("10.244.1.2", "10.244.2.3")
                             .Raw(IpProtocol::kUdp)
                             .Payload(Hex("03e807d0 0009 6337 78"))
                             .Build();
  EXPECT_EQ(VerifyTransportChecksum(odd), TransportChecksum::kRight);
}

TEST(TransportChecksum, AUdpSumOfZeroIsStoredAsAllOnes) {
  ByteVector packet = PacketBuilder("10.244.1.2", "10.244.2.3")
                          .Raw(IpProtocol::kUdp)
                          .Payload(Hex("03e807d0 000a 0000 db35"))  // sums to 0xffff
                          .Build();
  ASSERT_TRUE(CompleteTransportChecksum(packet));
  EXPECT_EQ(LoadBe16(packet.data() + 26), 0xffff);
  EXPECT_EQ(VerifyTransportChecksum(packet), TransportChecksum::kRight);
}

std::vector<PacketBuilder> Builders() {
  std::vector<PacketBuilder> builders;
  for (const auto& [source, destination] :
       {std::pair("10.244.1.2", "10.244.2.3"), std::pair("2001:db8::1", "2001:db8::2")}) {
    const PacketBuilder base(source, destination);
    builders.push_back(PacketBuilder(base).Udp(1000, 2000));
    builders.push_back(PacketBuilder(base).Tcp(1000, 2000));
    builders.push_back(PacketBuilder(base).Tcp(1000, 2000).TcpTimestamps());
    builders.push_back(PacketBuilder(base).Ping(1, 2));
    builders.push_back(PacketBuilder(base).Udp(1, 2).Ipv4Options(12).Ipv6DestinationOptions(16));
  }
  return builders;
}

TEST(TransportChecksum, CompletesAnyOldValue) {
  std::vector<PacketBuilder> builders = Builders();
  for (PacketBuilder& builder : builders) {
    for (const std::size_t payload : {0u, 1u, 2u, 999u}) {
      const ByteVector right = builder.Payload(payload).Build();
      EXPECT_EQ(VerifyTransportChecksum(right), TransportChecksum::kRight);
      for (const ByteVector& other : {PacketBuilder(builder).WrongTransportChecksum().Build(),
                                      PacketBuilder(builder).PartialTransportChecksum().Build()}) {
        ByteVector packet = other;
        EXPECT_EQ(VerifyTransportChecksum(packet), TransportChecksum::kWrong);
        EXPECT_TRUE(CompleteTransportChecksum(packet));
        EXPECT_EQ(Show(packet, FrameStart::kInnerIp), Show(right, FrameStart::kInnerIp));
      }
    }
  }
}

TEST(TransportChecksum, UdpMayHaveNone) {
  const PacketBuilder builder =
      PacketBuilder("10.244.1.2", "10.244.2.3").UdpWithoutChecksum(1, 2).Payload(5);
  ByteVector packet = builder.Build();
  EXPECT_EQ(VerifyTransportChecksum(packet), TransportChecksum::kNone);
  EXPECT_TRUE(CompleteTransportChecksum(packet));
  EXPECT_EQ(VerifyTransportChecksum(packet), TransportChecksum::kRight);
  const ByteVector tcp = PodsV4()
                             .Raw(IpProtocol::kTcp)
                             .Payload(Hex("9c4001bb 01020304 05060708 50180400 00000000 616263"))
                             .Build();
  EXPECT_EQ(VerifyTransportChecksum(tcp), TransportChecksum::kWrong) << "TCP always has one";
}

TEST(TransportChecksum, PaddingDoesNotCount) {
  const ByteVector packet = PacketBuilder("10.244.1.2", "10.244.2.3").Payload(3).Build();
  EXPECT_EQ(VerifyTransportChecksum(Concatenate(packet, Hex("ff ff ff"))),
            TransportChecksum::kRight);
}

TEST(TransportChecksum, FindsPartialChecksums) {
  for (const PacketBuilder& ip :
       {PacketBuilder("10.244.1.2", "10.244.2.3"), PacketBuilder("2001:db8::1", "2001:db8::2")}) {
    const std::uint32_t start = ip.Build()[0] >> 4 == std::byte{4} ? 20 : 40;
    const auto tcp = PacketBuilder(ip).Tcp(1, 2).Payload(99);
    const auto udp = PacketBuilder(ip).Udp(1, 2).Payload(99);
    EXPECT_EQ(FindUnfinishedChecksum(PacketBuilder(tcp).PartialTransportChecksum().Build()),
              (UnfinishedChecksum{start, 16}));
    EXPECT_EQ(FindUnfinishedChecksum(PacketBuilder(udp).PartialTransportChecksum().Build()),
              (UnfinishedChecksum{start, 6}));
    EXPECT_EQ(FindUnfinishedChecksum(tcp.Build()), std::nullopt);
    EXPECT_EQ(FindUnfinishedChecksum(udp.Build()), std::nullopt);
  }
  EXPECT_EQ(FindUnfinishedChecksum(
                PacketBuilder("10.244.1.2", "10.244.2.3").UdpWithoutChecksum(1, 2).Build()),
            std::nullopt);
  // A device that completes a checksum sums up to the packet's end: nothing may follow the covered
  // bytes.
  const ByteVector udp = PacketBuilder("10.244.1.2", "10.244.2.3")
                             .Udp(1, 2)
                             .Payload(99)
                             .PartialTransportChecksum()
                             .Build();
  EXPECT_EQ(FindUnfinishedChecksum(Concatenate(udp, ByteVector(1))), std::nullopt) << "padding";
  // Two bytes in the IP packet that UDP's length leaves out; the pseudo-header is of that length.
  const ByteVector short_udp = PacketBuilder("10.244.1.2", "10.244.2.3")
                                   .Raw(IpProtocol::kUdp)
                                   .Payload(Hex("0001 0002 0009 1907 77 7777"))
                                   .Build();
  EXPECT_EQ(FindUnfinishedChecksum(short_udp), std::nullopt) << "behind UDP's length";
  // ICMP has no pseudo-header: its field has no partial sum.
  const ByteVector ping = PacketBuilder("10.244.1.2", "10.244.2.3")
                              .Raw(IpProtocol::kIcmp)
                              .Payload(Hex("0800 0000 1234 0001"))
                              .Build();
  EXPECT_EQ(FindUnfinishedChecksum(ping), std::nullopt);
  EXPECT_EQ(FindUnfinishedChecksum(Hex("45 00")), std::nullopt);
}

TEST(TransportChecksum, UncoveredBytesStayUntouched) {
  const PacketBuilder v4("10.244.1.2", "10.244.2.3");
  const PacketBuilder v6("2001:db8::1", "2001:db8::2");
  const ByteVector packets[] = {
      {},
      Hex("45 00"),
      PacketBuilder(v4).Payload(100).Fragment(0, 48).Build(),
      PacketBuilder(v4).Payload(100).Fragment(48, 999).Build(),
      PacketBuilder(v6).Payload(100).Fragment(0, 48).Build(),
      PacketBuilder(v4).Tcp(1, 2).Payload(100).Fragment(0, 48).Build(),
      PacketBuilder(v6).Tcp(1, 2).Payload(100).Fragment(0, 48).Build(),
      PacketBuilder(v4).Raw(IpProtocol::kSctp).Payload(40).Build(),
      PacketBuilder(v4).Raw(IpProtocol::kIcmpV6).Payload(40).Build(),
      PacketBuilder(v6).Raw(IpProtocol::kIcmp).Payload(40).Build(),
      PacketBuilder(v4).Raw(IpProtocol::kUdp).Payload(7).Build(),
      PacketBuilder(v4).Raw(IpProtocol::kTcp).Payload(19).Build(),
      PacketBuilder(v4).Raw(IpProtocol::kIcmp).Payload(3).Build(),
  };
  for (const ByteVector& packet : packets) {
    SCOPED_TRACE(Show(packet, FrameStart::kInnerIp));
    EXPECT_EQ(VerifyTransportChecksum(packet), TransportChecksum::kNotCovered);
    ByteVector copy = packet;
    EXPECT_FALSE(CompleteTransportChecksum(copy));
    EXPECT_EQ(Dump(copy), Dump(packet));
  }
}

}  // namespace
}  // namespace weft
