// SPDX-License-Identifier: Apache-2.0
// RFC 7348, sections 4 and 5, requirement by requirement. Where the forwarder decides, the proof is
// in tests/dataplane/rfc7348_forwarder_test.cc; here is only what this folder contributes.
//
// clang-format off
// | section | requirement                                  | proven by                            |
// | ------- | -------------------------------------------- | ------------------------------------ |
// | 4.1     | (no key word) VNI and inner destination      | forwarder                            |
// |         | checked before delivery                      |                                      |
// | 4.1     | (no key word) learning inner source to outer | -                                    |
// |         | source: not done, the control plane has this |                                      |
// |         | mapping                                      |                                      |
// | 4.2     | (no key word) flooding to a multicast group: | -                                    |
// |         | not done, flannel knows every peer and       |                                      |
// |         | answers ARP itself                           |                                      |
// | 4.3     | VTEPs MUST NOT fragment VXLAN packets        | OuterPacketsAreNeverFragments;       |
// |         |                                              | forwarder, with one departure (1)    |
// | 4.3     | destination MAY discard VXLAN fragments      | FragmentsAreDiscarded; forwarder     |
// | 4.3     | RECOMMENDED: MTUs that hold the larger frame | TheInnerMtuLeavesRoomForTheHeaders   |
// | 4.3     | path MTU discovery MAY be used               | forwarder                            |
// | 5       | I flag MUST be 1                             | TheIFlagIsSet,                       |
// |         |                                              | WithoutTheIFlagRefused               |
// | 5       | other 7 flags MUST be zero on transmission   | ReservedBitsAreSentAsZero            |
// | 5       | other 7 flags MUST be ignored on receipt     | ReservedBitsAreIgnored               |
// | 5       | reserved 24 and 8 bits MUST be zero on       | ReservedBitsAreSentAsZero            |
// |         | transmission                                 |                                      |
// | 5       | reserved 24 and 8 bits MUST be ignored on    | ReservedBitsAreIgnored               |
// |         | receipt                                      |                                      |
// | 5       | destination port SHOULD be 4789 by default   | TheDefaultPortIs4789                 |
// | 5       | destination port SHOULD be configurable      | ThePortIsConfigurable                |
// | 5       | source port recommended: a hash of inner     | TheSourcePortFollowsTheInnerFlow     |
// |         | fields                                       |                                      |
// | 5       | source port RECOMMENDED in 49152-65535       | TheSourcePortIsInTheDynamicRange     |
// | 5       | UDP checksum SHOULD be sent as zero          | TheUdpChecksumIsSentAsZeroOverIpv4   |
// | 5       | UDP checksum zero MUST be accepted           | UdpChecksumZeroIsAccepted            |
// | 5       | a sent non-zero checksum MUST be right       | ASentUdpChecksumCoversTheWholePacket |
// | 5       | MAY verify; verified and wrong MUST be       | AWrongUdpChecksumIsRefused           |
// |         | dropped                                      |                                      |
// | 5       | not verified, or right, MUST be accepted     | ARightUdpChecksumIsAccepted,         |
// |         |                                              | AnUnverifiedUdpChecksumIsAccepted    |
//
// (1) On a path below what pods can follow (552 bytes of IPv4, 1280 of IPv6) outer packets go
//     without DF, over IPv6 in fragments (ButAPathBelowWhatPodsFollowMayFragment).
// clang-format on
#include <gtest/gtest.h>

#include <set>

#include "tests/support/packet_builder.h"
#include "vxlan/encapsulation.h"
#include "vxlan/flow_hash.h"
#include "vxlan/ipv4.h"
#include "vxlan/outer_packet.h"
#include "vxlan/transport_checksum.h"
#include "vxlan/vxlan_header.h"

namespace weft {
namespace {

const ByteVector kPodPacket = PacketBuilder("10.244.1.2", "10.244.2.3").Payload(50).Build();
constexpr const char* kFamilies[][2] = {{"192.0.2.1", "192.0.2.2"}, {"2001:db8::1", "2001:db8::2"}};

EncapsulationSpec SpecFor(const char* const (&addresses)[2]) {
  EncapsulationSpec spec;
  spec.outer_source = Ip(addresses[0]);
  spec.outer_destination = Ip(addresses[1]);
  spec.inner_source = Mac("02:00:00:00:00:01");
  spec.inner_destination = Mac("02:00:00:00:00:02");
  return spec;
}

// The outer packet around kPodPacket; the buffer contained another packet before.
ByteVector Sent(const EncapsulationSpec& spec) {
  const EncapsulationTemplate prepared(spec);
  const std::uint16_t port = OuterSourcePort(HashInnerFlow(kPodPacket));
  ByteVector packet = Concatenate(ByteVector(prepared.size(), std::byte{0xff}), kPodPacket);
  prepared.Stamp(packet.data(), static_cast<std::uint32_t>(kPodPacket.size()), EtherType::kIpv4,
                 port, Ecn::kNotEct);
  if (prepared.wants_udp_checksum()) CompleteUdpChecksum(packet);
  return packet;
}

VxlanBuilder Received(const char* const (&addresses)[2]) {
  return VxlanBuilder(kPodPacket).Outer(addresses[0], addresses[1]);
}

std::string_view Verdict(const ByteVector& packet,
                         OuterChecksums checksums = OuterChecksums::kVerify) {
  const auto outer = ParseOuterPacket(packet, checksums);
  if (!outer) return Name(outer.error());
  const auto header = VxlanHeader::Parse(outer->payload());
  return header ? "accepted" : Name(header.error());
}

TEST(Rfc7348Section4, OuterPacketsAreNeverFragments) {
  const auto ip = Ipv4Header::Parse(Sent(SpecFor(kFamilies[0])));
  ASSERT_TRUE(ip);
  EXPECT_EQ(ip->fragment(), FragmentKind::kWhole);
  EXPECT_TRUE(ip->dont_fragment) << "nor may routers on the way";
  EXPECT_EQ(ParseInnerIp(Sent(SpecFor(kFamilies[1])))->fragment, FragmentKind::kWhole);
}

TEST(Rfc7348Section4, FragmentsAreDiscarded) {
  for (const auto& family : kFamilies) {
    EXPECT_EQ(Verdict(Received(family).Fragment(0, 64).Build()), "fragment");
    EXPECT_EQ(Verdict(Received(family).Fragment(64, 9999).Build()), "fragment");
  }
}

TEST(Rfc7348Section4, TheInnerMtuLeavesRoomForTheHeaders) {
  for (const auto& family : kFamilies) {
    const EncapsulationTemplate prepared(SpecFor(family));
    const InnerMtu inner = OuterMtu::From(1500)->Inner(prepared.outer_family());
    EXPECT_EQ(inner.bytes() + prepared.size(), 1500u);
  }
}

TEST(Rfc7348Section5, TheIFlagIsSet) {
  for (const auto& family : kFamilies) {
    const ByteVector packet = Sent(SpecFor(family));
    EXPECT_EQ(Load8(ParseOuterPacket(packet)->payload().data()) & 0x08, 0x08);
  }
}

TEST(Rfc7348Section5, WithoutTheIFlagRefused) {
  for (const auto& family : kFamilies) {
    EXPECT_EQ(Verdict(Received(family).Flags(0x00).Build()), "no_vni_flag");
    EXPECT_EQ(Verdict(Received(family).Flags(0xf7).Build()), "no_vni_flag");
  }
}

TEST(Rfc7348Section5, ReservedBitsAreSentAsZero) {
  for (const auto& family : kFamilies) {
    EncapsulationSpec spec = SpecFor(family);
    spec.vni = *Vni::From(Vni::kMax);
    const ByteVector packet = Sent(spec);
    EXPECT_EQ(Dump(ParseOuterPacket(packet)->payload().first(8)), Dump(Hex("08000000 ffffff00")));
  }
}

TEST(Rfc7348Section5, ReservedBitsAreIgnored) {
  for (const auto& family : kFamilies) {
    const ByteVector packet = Received(family).ReservedBitsSet().Network(77).Build();
    EXPECT_EQ(Verdict(packet), "accepted");
    EXPECT_EQ(VxlanHeader::Parse(ParseOuterPacket(packet)->payload())->vni, Vni::From(77));
  }
}

TEST(Rfc7348Section5, TheDefaultPortIs4789) {
  for (const auto& family : kFamilies) {
    EXPECT_EQ(ParseOuterPacket(Sent(SpecFor(family)))->destination_port, 4789);
  }
}

TEST(Rfc7348Section5, ThePortIsConfigurable) {
  for (const auto& family : kFamilies) {
    EncapsulationSpec spec = SpecFor(family);
    spec.destination_port = 8472;
    EXPECT_EQ(ParseOuterPacket(Sent(spec))->destination_port, 8472);
  }
}

TEST(Rfc7348Section5, TheSourcePortFollowsTheInnerFlow) {
  std::set<std::uint16_t> ports;
  for (std::uint16_t flow = 0; flow < 100; ++flow) {
    PacketBuilder packet("10.244.1.2", "10.244.2.3");
    packet.Tcp(static_cast<std::uint16_t>(40000 + flow), 443);
    const std::uint16_t port = OuterSourcePort(HashInnerFlow(packet.Payload(1).Build()));
    EXPECT_EQ(port, OuterSourcePort(HashInnerFlow(packet.Payload(999).Build())));
    ports.insert(port);
  }
  // Of 16,384 at random 100 flows would share 0.3, and seven or more in 4 of 10^8 cases.
  EXPECT_GE(ports.size(), 94u);
}

TEST(Rfc7348Section5, TheSourcePortIsInTheDynamicRange) {
  for (std::uint32_t hash = 0; hash < 0xff00'0000; hash += 0x0010'0001) {
    EXPECT_GE(OuterSourcePort(FlowHash{hash}), 49152);
  }
}

// "SHOULD be transmitted as zero": over IPv6 we do not, as RFC 8200 section 8.1 has it.
TEST(Rfc7348Section5, TheUdpChecksumIsSentAsZeroOverIpv4) {
  EXPECT_EQ(LoadBe16(Sent(SpecFor(kFamilies[0])).data() + 26), 0);
  const ByteVector over_ipv6 = Sent(SpecFor(kFamilies[1]));
  EXPECT_NE(LoadBe16(over_ipv6.data() + 46), 0);
  EXPECT_EQ(VerifyTransportChecksum(over_ipv6), TransportChecksum::kRight);
}

TEST(Rfc7348Section5, UdpChecksumZeroIsAccepted) {
  for (const auto& family : kFamilies) EXPECT_EQ(Verdict(Received(family).Build()), "accepted");
}

TEST(Rfc7348Section5, ASentUdpChecksumCoversTheWholePacket) {
  for (const auto& family : kFamilies) {
    EncapsulationSpec spec = SpecFor(family);
    spec.udp_checksum = true;
    ByteVector packet = Sent(spec);
    EXPECT_EQ(VerifyTransportChecksum(packet), TransportChecksum::kRight);
    packet.back() ^= std::byte{1};
    EXPECT_EQ(VerifyTransportChecksum(packet), TransportChecksum::kWrong)
        << "the inner packet's last byte counts";
  }
}

TEST(Rfc7348Section5, AWrongUdpChecksumIsRefused) {
  for (const auto& family : kFamilies) {
    EXPECT_EQ(Verdict(Received(family).WrongUdpChecksum().Build()), "bad_udp_checksum");
  }
}

TEST(Rfc7348Section5, ARightUdpChecksumIsAccepted) {
  for (const auto& family : kFamilies) {
    EXPECT_EQ(Verdict(Received(family).UdpChecksum().Build()), "accepted");
  }
}

TEST(Rfc7348Section5, AnUnverifiedUdpChecksumIsAccepted) {
  for (const auto& family : kFamilies) {
    EXPECT_EQ(Verdict(Received(family).WrongUdpChecksum().Build(), OuterChecksums::kTrust),
              "accepted");
  }
}

}  // namespace
}  // namespace weft
