// SPDX-License-Identifier: Apache-2.0
// The requirements of RFC 7348 for a tunnel end point, sentence by sentence, as far as the
// forwarder decides them.
#include <gtest/gtest.h>

#include <set>

#include "tests/dataplane/support.h"
#include "vxlan/transport_checksum.h"

namespace weft::dataplane {
namespace {

PacketBuilder ToPeer() { return PacketBuilder("10.244.2.9", "10.244.1.7"); }
VxlanBuilder FromPeer() {
  return VxlanBuilder(PacketBuilder("10.244.1.7", "10.244.2.9").Payload(64).Build());
}

TEST(Rfc7348, Section4_3_VtepsMustNotFragment) {
  // "VTEPs MUST NOT fragment VXLAN packets": a too big packet is dropped, and every outer packet
  // has DF set.
  Node node;
  EXPECT_EQ(node.Encapsulate(ToPeer().TotalLength(1451).Build()).verdict, Verdict::kTooBig);
  const Packet& packet = node.Encapsulate(ToPeer().TotalLength(1450).Build());
  ASSERT_EQ(packet.verdict, Verdict::kForward);
  EXPECT_EQ(LoadBe16(packet.data + 6), 0x4000);
}

// The one departure. On a path below the minimum that pods follow (552 bytes over IPv4, 1280 over
// IPv6) all packets would be lost: there, and for such packets only, DF is not set.
TEST(Rfc7348, Section4_3_ButAPathBelowWhatPodsFollowMayFragment) {
  Node node;
  node.forwarder.LearnPathMtu({Ip("192.0.2.1"), 590}, node.now);
  const Packet& packet = node.Encapsulate(ToPeer().TotalLength(552).Build());
  ASSERT_EQ(packet.verdict, Verdict::kForward);
  EXPECT_EQ(LoadBe16(packet.data + 6), 0);
  EXPECT_EQ(LoadBe16(node.Encapsulate(ToPeer().TotalLength(540).Build()).data + 6), 0x4000);
  EXPECT_EQ(node.CountsOf("linux-1").fragmentable_packets, 1u);
}

TEST(Rfc7348, Section4_3_TheDestinationMaySilentlyDiscardFragments) {
  Node node;
  EXPECT_EQ(node.Decapsulate(FromPeer().Fragment(0, 64).Build()).verdict, Verdict::kOuterFragment);
}

TEST(Rfc7348, Section4_1_FramesOfAnotherVniAreNotDelivered) {
  // "... only within the same VXLAN overlay segment".
  Node node;
  for (const std::uint32_t vni : {0u, 1u, 4095u, 4097u, 0x1000'00u, 0xff'ffffu}) {
    EXPECT_EQ(node.Decapsulate(FromPeer().Network(vni).Build()).verdict, Verdict::kForeignVni)
        << vni;
  }
}

TEST(Rfc7348, Section5_TheIFlagMustBeSet) {
  // "the I flag MUST be set to 1 for a valid VXLAN Network ID".
  Node node;
  const Packet& packet = node.Encapsulate(ToPeer().Build());
  EXPECT_EQ(Load8(packet.data + 28), 0x08);
  for (const int flags : {0x00, 0xf7, 0x80}) {
    EXPECT_EQ(node.Decapsulate(FromPeer().Flags(static_cast<std::uint8_t>(flags)).Build()).verdict,
              Verdict::kNotVxlan)
        << flags;
  }
}

TEST(Rfc7348, Section5_ReservedBitsAreZeroOnTransmissionAndIgnoredOnReceipt) {
  // "The other 7 bits (designated "R") are reserved fields and MUST be set to zero on transmission
  // and ignored on receipt", and the same of both reserved fields.
  Node node;
  const Packet& packet = node.Encapsulate(ToPeer().Build());
  EXPECT_EQ(LoadBe32(packet.data + 28), 0x0800'0000u);
  EXPECT_EQ(LoadBe32(packet.data + 32), 4096u << 8);
  EXPECT_EQ(node.Decapsulate(FromPeer().ReservedBitsSet().Build()).verdict, Verdict::kForward);
}

TEST(Rfc7348, Section5_TheDestinationPortIs4789) {
  Node node;
  EXPECT_EQ(LoadBe16(node.Encapsulate(ToPeer().Build()).data + 22), 4789);
}

TEST(Rfc7348, Section5_TheSourcePortIsAHashOfTheInnerFlowInTheDynamicRange) {
  // "RECOMMENDED that the UDP source port number be calculated using a hash of fields from the
  // inner packet" and "be in the dynamic/private port range 49152-65535".
  Node node;
  std::set<std::uint16_t> ports;
  for (std::uint16_t flow = 1; flow <= 200; ++flow) {
    const ByteVector inner = ToPeer().Udp(flow, 53).Build();
    const std::uint16_t port = LoadBe16(node.Encapsulate(inner).data + 20);
    EXPECT_GE(port, 49152);
    EXPECT_EQ(LoadBe16(node.Encapsulate(inner).data + 20), port) << "one flow, one port";
    ports.insert(port);
  }
  // Of 16,384 at random 200 flows would share 1.2, and twelve or more in 7 of 10^9 cases.
  EXPECT_GE(ports.size(), 189u);
}

TEST(Rfc7348, Section5_AZeroUdpChecksumMustBeAccepted) {
  // "When a packet is received with a UDP checksum of zero, it MUST be accepted for decapsulation."
  Node node;
  EXPECT_EQ(node.Decapsulate(FromPeer().Build()).verdict, Verdict::kForward);
}

TEST(Rfc7348, Section5_ANonZeroUdpChecksumMustBeRightWhenItIsVerified) {
  // "if the encapsulating end point includes a non-zero UDP checksum, it MUST be correctly
  // calculated across the entire packet"; the receiver MAY verify, and "if the verification fails,
  // the packet MUST be dropped".
  Node node;
  for (std::size_t payload = 0; payload < 40; ++payload) {
    const Packet& packet = node.Encapsulate(ToPeer().Udp(1, 2).Payload(payload).Build());
    EXPECT_NE(LoadBe16(packet.data + 26), 0);
    EXPECT_EQ(VerifyTransportChecksum(packet.bytes()), TransportChecksum::kRight);
  }
  EXPECT_EQ(node.Decapsulate(FromPeer().UdpChecksum().Build()).verdict, Verdict::kForward);
  EXPECT_EQ(node.Decapsulate(FromPeer().WrongUdpChecksum().Build()).verdict,
            Verdict::kOuterChecksum);
}

TEST(Rfc7348, Section6_1_TaggedInnerFramesAreDiscarded) {
  // "Decapsulated VXLAN frames with the inner VLAN tag SHOULD be discarded", "a VTEP SHOULD NOT
  // include an inner VLAN tag".
  Node node;
  const ByteVector frame = PacketBuilder("10.244.1.7", "10.244.2.9")
                               .BuildFrame(Mac("02:00:00:00:00:01"), Mac("02:00:00:00:00:02"), 7);
  EXPECT_EQ(node.Decapsulate(VxlanBuilder::AroundFrame(frame).Build()).verdict,
            Verdict::kVlanTagged);
  EXPECT_EQ(LoadBe16(node.Encapsulate(ToPeer().Build()).data + 48), 0x0800);
}

}  // namespace
}  // namespace weft::dataplane
