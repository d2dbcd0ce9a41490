// SPDX-License-Identifier: Apache-2.0
#include "vxlan/encapsulation.h"

#include <gtest/gtest.h>

#include "tests/support/packet_builder.h"
#include "vxlan/ipv4.h"
#include "vxlan/ipv6.h"
#include "vxlan/transport_checksum.h"

namespace weft {
namespace {

EncapsulationSpec V4Spec() {
  EncapsulationSpec spec;
  spec.outer_source = Ip("192.0.2.1");
  spec.outer_destination = Ip("192.0.2.2");
  spec.inner_source = Mac("02:00:00:00:00:01");
  spec.inner_destination = Mac("02:00:00:00:00:02");
  return spec;
}

EncapsulationSpec V6Spec() {
  EncapsulationSpec spec = V4Spec();
  spec.outer_source = Ip("2001:db8::1");
  spec.outer_destination = Ip("2001:db8::2");
  return spec;
}

const ByteVector kInner =
    Hex("45000020 12344000 40110fad 0af40102 0af40203"  // 10.244.1.2 -> 10.244.2.3
        "03e807d0 000cfd57"                             // UDP 1000 -> 2000
        "77656674");

// Stamps into 0xa5, with guards of 8 bytes around.
ByteVector Stamped(const EncapsulationSpec& spec, const ByteVector& inner, EtherType type,
                   std::uint16_t port, Ecn ecn) {
  const EncapsulationTemplate prepared(spec);
  ByteVector buffer(8 + prepared.size(), std::byte{0xa5});
  buffer = Concatenate(buffer, inner);
  prepared.Stamp(buffer.data() + 8, static_cast<std::uint32_t>(inner.size()), type, port, ecn);
  EXPECT_EQ(Dump(Bytes(buffer).first(8)), Dump(ByteVector(8, std::byte{0xa5})));
  EXPECT_EQ(Dump(Bytes(buffer).subspan(8 + prepared.size())), Dump(inner));
  return ByteVector(buffer.begin() + 8, buffer.end());
}

// Checksums computed outside this project.
TEST(Encapsulation, V4FieldByField) {
  const ByteVector expected = Concatenate(Hex("45 00 00 52"        // IPv4, total length 82
                                              "00 00 40 00"        // identification 0, DF
                                              "40 11 b6 97"        // TTL 64, UDP, checksum
                                              "c0 00 02 01"        // 192.0.2.1
                                              "c0 00 02 02"        // 192.0.2.2
                                              "c3 50"              // source port 50000
                                              "12 b5"              // destination port 4789
                                              "00 3e"              // UDP length 62
                                              "00 00"              // no UDP checksum
                                              "08 00 00 00"        // VXLAN: I flag
                                              "00 10 00 00"        // VNI 4096
                                              "02 00 00 00 00 02"  // inner destination
                                              "02 00 00 00 00 01"  // inner source
                                              "08 00"),            // IPv4
                                          kInner);
  const ByteVector got = Stamped(V4Spec(), kInner, EtherType::kIpv4, 50000, Ecn::kNotEct);
  EXPECT_EQ(Show(got, FrameStart::kOuterIp), Show(expected, FrameStart::kOuterIp));
}

TEST(Encapsulation, V4CarriesEcn) {
  const ByteVector ce = Stamped(V4Spec(), kInner, EtherType::kIpv4, 50000, Ecn::kCe);
  EXPECT_EQ(Dump(Bytes(ce).first(12)), Dump(Hex("45030052 00004000 4011b694")));
}

TEST(Encapsulation, V6FieldByField) {
  const ByteVector expected = Concatenate(Hex("60 00 00 00"  // IPv6
                                              "00 3e 11 40"  // payload length 62, UDP, hop limit 64
                                              "20010db8 00000000 00000000 00000001"  // source
                                              "20010db8 00000000 00000000 00000002"  // destination
                                              "c3 50 12 b5"                          // ports
                                              "00 3e 00 00"              // length 62, no checksum
                                              "08 00 00 00 00 10 00 00"  // VXLAN
                                              "02 00 00 00 00 02"        // inner destination
                                              "02 00 00 00 00 01"        // inner source
                                              "08 00"),
                                          kInner);
  const ByteVector got = Stamped(V6Spec(), kInner, EtherType::kIpv4, 50000, Ecn::kNotEct);
  EXPECT_EQ(Show(got, FrameStart::kOuterIp), Show(expected, FrameStart::kOuterIp));
  const ByteVector ce = Stamped(V6Spec(), kInner, EtherType::kIpv4, 50000, Ecn::kCe);
  EXPECT_EQ(Dump(Bytes(ce).first(4)), Dump(Hex("60300000")));
}

// Field by field the same as a packet put together by the builder, for every kind of inner packet.
TEST(Encapsulation, AgreesWithTheBuilder) {
  for (const EncapsulationSpec& base : {V4Spec(), V6Spec()}) {
    for (const std::size_t length : {40u, 41u, 64u, 1450u, 9000u}) {
      for (const Ecn ecn : {Ecn::kNotEct, Ecn::kEct1, Ecn::kEct0, Ecn::kCe}) {
        for (const bool inner_v6 : {false, true}) {
          EncapsulationSpec spec = base;
          spec.ttl = 17;
          spec.destination_port = 8472;
          spec.vni = *Vni::From(0xab'cdef);
          PacketBuilder inner = inner_v6 ? PacketBuilder("2001:db8:1::1", "2001:db8:2::1")
                                         : PacketBuilder("10.244.1.2", "10.244.2.3");
          const ByteVector packet = inner.TotalLength(inner_v6 ? length + 20 : length).Build();
          const ByteVector expected = VxlanBuilder(packet)
                                          .Outer(spec.outer_source, spec.outer_destination)
                                          .Ports(51234, 8472)
                                          .Network(0xab'cdef)
                                          .Macs(spec.inner_source, spec.inner_destination)
                                          .Ttl(17)
                                          .MarkEcn(ecn)
                                          .Build();
          const ByteVector got =
              Stamped(spec, packet, inner_v6 ? EtherType::kIpv6 : EtherType::kIpv4, 51234, ecn);
          ASSERT_EQ(Show(got, FrameStart::kOuterIp), Show(expected, FrameStart::kOuterIp));
        }
      }
    }
  }
}

TEST(Encapsulation, TheIpv4ChecksumIsRightForEveryLength) {
  const EncapsulationTemplate prepared(V4Spec());
  ByteVector header(50);
  for (std::uint32_t length = 0; length <= 65535 - 50; ++length) {
    prepared.Stamp(header.data(), length, EtherType::kIpv4, 50000, Ecn::kEct0);
    ASSERT_TRUE(Ipv4ChecksumIsRight(header)) << length;
  }
}

TEST(Encapsulation, LengthsBeyond16BitsWrapAndNothingElseChanges) {
  const EncapsulationTemplate prepared(V4Spec());
  ByteVector wrapped(50);
  ByteVector small(50);
  prepared.Stamp(wrapped.data(), 65536 + 100, EtherType::kIpv4, 50000, Ecn::kNotEct);
  prepared.Stamp(small.data(), 100, EtherType::kIpv4, 50000, Ecn::kNotEct);
  EXPECT_EQ(Dump(wrapped), Dump(small));
}

TEST(Encapsulation, PayloadIsTheTailOfTheStamp) {
  for (const EncapsulationSpec& spec : {V4Spec(), V6Spec()}) {
    const EncapsulationTemplate prepared(spec);
    const ByteVector whole = Stamped(spec, {}, EtherType::kIpv6, 50000, Ecn::kNotEct);
    ByteVector payload(24, std::byte{0xa5});
    prepared.StampPayload(payload.data() + 1, EtherType::kIpv6);
    EXPECT_EQ(Dump(Bytes(payload).subspan(1, 22)),
              Dump(Bytes(whole).last(EncapsulationTemplate::kPayloadSize)));
    EXPECT_EQ(payload.front(), std::byte{0xa5});
    EXPECT_EQ(payload.back(), std::byte{0xa5});
  }
}

TEST(Encapsulation, UdpChecksumOverV4AndV6) {
  ByteVector v4 = Stamped(V4Spec(), kInner, EtherType::kIpv4, 50000, Ecn::kNotEct);
  CompleteUdpChecksum(v4);
  EXPECT_EQ(LoadBe16(v4.data() + 26), 0xaa5f);
  ByteVector v6 = Stamped(V6Spec(), kInner, EtherType::kIpv4, 50000, Ecn::kNotEct);
  CompleteUdpChecksum(v6);
  EXPECT_EQ(LoadBe16(v6.data() + 46), 0xd2ee);
  CompleteUdpChecksum(v6);
  EXPECT_EQ(LoadBe16(v6.data() + 46), 0xd2ee) << "the field's old value does not count";
}

TEST(Encapsulation, UdpChecksumIsNeverZero) {
  // Two bytes of payload have every value, one of which makes the sum all ones.
  ByteVector inner =
      PacketBuilder("10.244.1.2", "10.244.2.3").UdpWithoutChecksum(1, 2).Payload(2).Build();
  ByteVector packet = Stamped(V4Spec(), inner, EtherType::kIpv4, 50000, Ecn::kNotEct);
  bool all_ones_seen = false;
  for (unsigned value = 0; value <= 0xffff; ++value) {
    StoreBe16(packet.data() + packet.size() - 2, static_cast<std::uint16_t>(value));
    CompleteUdpChecksum(packet);
    ASSERT_NE(LoadBe16(packet.data() + 26), 0);
    all_ones_seen |= LoadBe16(packet.data() + 26) == 0xffff;
  }
  EXPECT_TRUE(all_ones_seen);
}

TEST(Encapsulation, TheSpecComesBack) {
  for (EncapsulationSpec spec : {V4Spec(), V6Spec()}) {
    spec.destination_port = 8472;
    spec.vni = *Vni::From(77);
    spec.ttl = 3;
    spec.udp_checksum = true;
    const EncapsulationTemplate prepared(spec);
    EXPECT_EQ(SpecOf(prepared), spec);
    EXPECT_TRUE(prepared.wants_udp_checksum());
    EXPECT_EQ(prepared.outer_family(), spec.outer_source.family());
    EXPECT_EQ(prepared.size(), EncapsulationOverhead(spec.outer_source.family()));
  }
}

// Receivers drop zero over IPv6 unless configured otherwise (RFC 8200 section 8.1).
TEST(Encapsulation, WithoutUdpChecksumOverIpv4Only) {
  for (const bool udp_checksum : {false, true}) {
    EncapsulationSpec v4 = V4Spec();
    EncapsulationSpec v6 = V6Spec();
    v4.udp_checksum = v6.udp_checksum = udp_checksum;
    EXPECT_EQ(EncapsulationTemplate(v4).wants_udp_checksum(), udp_checksum);
    EXPECT_TRUE(EncapsulationTemplate(v6).wants_udp_checksum());
    EXPECT_TRUE(SpecOf(EncapsulationTemplate(v6)).udp_checksum);
  }
}

TEST(Encapsulation, AnEmptyTemplateStampsNothing) {
  const EncapsulationTemplate empty;
  EXPECT_EQ(empty.size(), 0u);
  EXPECT_EQ(SpecOf(empty), EncapsulationSpec{});
  ByteVector buffer(80, std::byte{0xa5});
  const ByteVector untouched = buffer;
  empty.Stamp(buffer.data(), 100, EtherType::kIpv4, 50000, Ecn::kCe);
  EXPECT_EQ(Dump(buffer), Dump(untouched));
}

TEST(Encapsulation, LeavesRoomInARecordOf128Bytes) {
  EXPECT_LE(sizeof(EncapsulationTemplate), 80u);
}

}  // namespace
}  // namespace weft
