// SPDX-License-Identifier: Apache-2.0
// The edge as pods see it: frames in, frames and verdicts out. The node's gateway is 10.244.1.1 and
// fd00:1::1 at 02:..:01; pod A is 10.244.1.2 and fd00:1::2 at 02:..:0a.
#include "dataplane/edge/edge.h"

#include <gtest/gtest.h>

#include "tests/dataplane/ports/port_harnesses.h"
#include "tests/support/memory_port.h"
#include "tests/support/packet_builder.h"
#include "vxlan/ipv4.h"
#include "vxlan/transport_checksum.h"

namespace weft::dataplane {
namespace {

using std::chrono::seconds;

const MacAddress kOurs = Mac("02:00:00:00:00:01");
const MacAddress kPodA = Mac("02:00:00:00:00:0a");
const MacAddress kPodB = Mac("02:00:00:00:00:0b");
const MacAddress kAll = Mac("ff:ff:ff:ff:ff:ff");

class EdgeTest : public ::testing::Test {
 protected:
  explicit EdgeTest(bool unmarked_offloads = false) {
    MemoryOptions memory;
    memory.kind = PortKind::kPodL2;
    memory.features.partial_checksum = true;
    memory.features.tcp_segmentation = true;
    MemoryLink link = MemoryLink::Make(memory);
    pods_ = std::move(link.second);
    EdgeOptions options;
    options.mac = kOurs;
    options.gateways = {Ip("10.244.1.1"), Ip("fd00:1::1")};
    options.pod_subnets = {*IpPrefix::Parse("10.244.1.0/24"), *IpPrefix::Parse("fd00:1::/64")};
    options.neighbour_lifetime = seconds(60);
    if (unmarked_offloads) options.unmarked_offloads = InnerMtu::From(1450);
    edge_ = std::make_unique<Edge>(std::move(link.first), options);
  }

  // The one verdict of one frame; batch_ keeps the packet.
  Verdict Receive(const ByteVector& frame, Timestamp now = {}) {
    SendBytes(*pods_, frame);
    batch_.now = now;
    EXPECT_EQ(edge_->Receive(batch_), 1u);
    return batch_[0].verdict;
  }
  // A TCP packet of pod A whose checksum is left to the edge's device.
  void SendPartialTcp() {
    const ByteVector frame = PacketBuilder("10.244.1.2", "10.244.2.3")
                                 .Tcp(1, 2)
                                 .PartialTransportChecksum()
                                 .BuildFrame(kPodA, kOurs);
    Packet packet = slab_.Lend(0);
    std::copy(frame.begin(), frame.end(), packet.data);
    packet.length = static_cast<std::uint32_t>(frame.size());
    packet.checksum = ChecksumState::kPartial;
    packet.checksum_start = 34;
    packet.checksum_offset = 16;
    out_.Add(packet);
    pods_->Send(out_);
  }
  ByteVector Received() const { return {batch_[0].data, batch_[0].data + batch_[0].length}; }

  Verdict Send(const ByteVector& bytes, Timestamp now = {}) {
    Packet packet = slab_.Lend(0);
    std::copy(bytes.begin(), bytes.end(), packet.data);
    packet.length = static_cast<std::uint32_t>(bytes.size());
    out_.clear();
    out_.now = now;
    out_.Add(packet);
    edge_->Send(out_);
    return out_[0].verdict;
  }
  std::vector<ByteVector> Frames() { return ReceiveBytes(*pods_); }

  static ByteVector Frame(const MacAddress& to, const MacAddress& from, EtherType type,
                          const ByteVector& payload) {
    ByteVector header(EthernetHeader::kSize);
    EthernetHeader{to, from, type}.Emit(MutableBytes(header).first<EthernetHeader::kSize>());
    return Concatenate(header, payload);
  }
  static ByteVector Arp(ArpPacket::Operation operation, const MacAddress& mac,
                        std::string_view sender, std::string_view target,
                        const MacAddress& to = kAll) {
    ByteVector payload(ArpPacket::kSize);
    ArpPacket{operation, mac, Ip(sender).v4(), {}, Ip(target).v4()}.Emit(
        MutableBytes(payload).first<ArpPacket::kSize>());
    return Frame(to, mac, EtherType::kArp, payload);
  }
  static ByteVector Nd(const NeighbourMessage& message, const MacAddress& from,
                       const MacAddress& to) {
    ByteVector payload(NeighbourMessage::kMaxSize);
    payload.resize(message.Emit(payload));
    return Frame(to, from, EtherType::kIpv6, payload);
  }
  static NeighbourMessage Solicitation(std::string_view source, std::string_view target) {
    NeighbourMessage message;
    message.source = Ip(source);
    message.target = Ip(target);
    message.destination = SolicitedNodeAddress(message.target);
    if (!message.source.IsUnspecified()) message.link_address = kPodA;
    return message;
  }

  std::unique_ptr<PacketPort> pods_;
  std::unique_ptr<Edge> edge_;
  PacketSlab slab_;
  Batch batch_;
  Batch out_;
};

TEST_F(EdgeTest, APodsPacketLosesItsFrameAndOneHop) {
  EXPECT_EQ(
      Receive(
          PacketBuilder("10.244.1.2", "10.244.2.3").Payload(20).Ttl(64).BuildFrame(kPodA, kOurs)),
      Verdict::kForward);
  EXPECT_EQ(Show(Received(), FrameStart::kInnerIp),
            Show(PacketBuilder("10.244.1.2", "10.244.2.3").Payload(20).Ttl(63).Build(),
                 FrameStart::kInnerIp));
  EXPECT_EQ(
      Receive(PacketBuilder("fd00:1::2", "fd00:2::3").Payload(20).Ttl(64).BuildFrame(kPodA, kOurs)),
      Verdict::kForward);
  EXPECT_EQ(Show(Received(), FrameStart::kInnerIp),
            Show(PacketBuilder("fd00:1::2", "fd00:2::3").Payload(20).Ttl(63).Build(),
                 FrameStart::kInnerIp));
}

TEST_F(EdgeTest, PaddingOfShortFramesIsCut) {
  const PacketBuilder packet = PacketBuilder("10.244.1.2", "10.244.2.3").Payload(1);
  ByteVector frame = packet.BuildFrame(kPodA, kOurs);
  frame.resize(60);
  EXPECT_EQ(Receive(frame), Verdict::kForward);
  EXPECT_EQ(batch_[0].length, packet.Build().size());
}

TEST_F(EdgeTest, EachFrameThatIsNoPodPacketHasItsVerdict) {
  const PacketBuilder packet("10.244.1.2", "10.244.2.3");
  const ByteVector frame = packet.BuildFrame(kPodA, kOurs);
  ByteVector lldp = frame;
  StoreBe16(lldp.data() + 12, 0x88cc);
  ByteVector contradiction = frame;
  StoreBe16(contradiction.data() + 12, 0x86dd);
  struct Row {
    const char* what;
    ByteVector frame;
    Verdict verdict;
  };
  const std::vector<Row> rows = {
      {"our own, come back", packet.BuildFrame(kOurs, kPodA), Verdict::kOwnFrame},
      {"tagged", packet.BuildFrame(kPodA, kOurs, 5), Verdict::kVlanTagged},
      {"LLDP", lldp, Verdict::kNotIp},
      {"a stump", ByteVector(frame.begin(), frame.begin() + 13), Verdict::kInnerMalformed},
      {"half an IP header", ByteVector(frame.begin(), frame.begin() + 30),
       Verdict::kInnerMalformed},
      {"IPv4 announced as IPv6", contradiction, Verdict::kInnerMalformed},
      {"broadcast", packet.BuildFrame(kPodA, kAll), Verdict::kGroupDestination},
      {"to another pod", packet.BuildFrame(kPodA, kPodB), Verdict::kForeignMac},
      {"TTL 1", PacketBuilder("10.244.1.2", "10.244.2.3").Ttl(1).BuildFrame(kPodA, kOurs),
       Verdict::kTtlExpired},
      {"TTL 0", PacketBuilder("10.244.1.2", "10.244.2.3").Ttl(0).BuildFrame(kPodA, kOurs),
       Verdict::kTtlExpired},
      {"hop limit 1", PacketBuilder("fd00:1::2", "fd00:2::3").Ttl(1).BuildFrame(kPodA, kOurs),
       Verdict::kTtlExpired},
      {"ARP", Arp(ArpPacket::Operation::kRequest, kPodA, "10.244.1.2", "10.244.1.9"),
       Verdict::kConsumed},
      {"damaged ARP", Frame(kAll, kPodA, EtherType::kArp, Hex("0001")), Verdict::kConsumed},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(Receive(row.frame), row.verdict) << row.what;
    EXPECT_TRUE(Frames().empty()) << row.what;
  }
}

TEST_F(EdgeTest, AnswersArpForTheGatewayOnly) {
  EXPECT_EQ(Receive(Arp(ArpPacket::Operation::kRequest, kPodA, "10.244.1.2", "10.244.1.1")),
            Verdict::kConsumed);
  const auto frames = Frames();
  ASSERT_EQ(frames.size(), 1u);
  const auto header = EthernetHeader::Parse(frames[0]);
  EXPECT_EQ(*header, (EthernetHeader{kPodA, kOurs, EtherType::kArp}));
  const auto arp = ArpPacket::Parse(Bytes(frames[0]).subspan(EthernetHeader::kSize));
  ASSERT_TRUE(arp.ok());
  EXPECT_EQ(*arp, (ArpPacket{ArpPacket::Operation::kReply, kOurs, Ip("10.244.1.1").v4(), kPodA,
                             Ip("10.244.1.2").v4()}));
  Receive(Arp(ArpPacket::Operation::kRequest, kPodA, "10.244.1.2", "10.244.1.3"));
  EXPECT_TRUE(Frames().empty()) << "another pod's address";
}

TEST_F(EdgeTest, AnswersAnArpProbeWithoutLearningZero) {
  Receive(Arp(ArpPacket::Operation::kRequest, kPodA, "0.0.0.0", "10.244.1.1"));
  EXPECT_EQ(Frames().size(), 1u);
  EXPECT_EQ(Send(PacketBuilder("10.244.2.3", "0.0.0.0").Build()), Verdict::kNoNeighbour);
}

TEST_F(EdgeTest, AnswersNeighbourSolicitationForTheGateway) {
  const NeighbourMessage solicitation = Solicitation("fd00:1::2", "fd00:1::1");
  EXPECT_EQ(Receive(Nd(solicitation, kPodA, MulticastMac(solicitation.destination))),
            Verdict::kConsumed);
  auto frames = Frames();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(EthernetHeader::Parse(frames[0])->destination, kPodA);
  auto answer = NeighbourMessage::Parse(Bytes(frames[0]).subspan(EthernetHeader::kSize));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, NeighbourMessage::Kind::kAdvertisement);
  EXPECT_EQ(answer->destination, Ip("fd00:1::2"));
  EXPECT_EQ(answer->target, Ip("fd00:1::1"));
  EXPECT_EQ(answer->link_address, kOurs);
  EXPECT_TRUE(answer->router && answer->solicited && answer->overrides);

  // A probe by unicast without link-layer address (RFC 4861 section 7.2.2), from a pod already
  // known.
  NeighbourMessage probe = solicitation;
  probe.destination = Ip("fd00:1::1");
  probe.link_address.reset();
  EXPECT_EQ(Receive(Nd(probe, kPodA, kOurs)), Verdict::kConsumed);
  EXPECT_EQ(Frames().size(), 1u);

  // Duplicate address detection: to all nodes, not solicited.
  EXPECT_EQ(
      Receive(Nd(Solicitation("::", "fd00:1::1"), kPodB, MulticastMac(solicitation.destination))),
      Verdict::kConsumed);
  frames = Frames();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(EthernetHeader::Parse(frames[0])->destination, Mac("33:33:00:00:00:01"));
  answer = NeighbourMessage::Parse(Bytes(frames[0]).subspan(EthernetHeader::kSize));
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->solicited);

  // A pod sends a solicitation from its link-local address, which is not learnt.
  Receive(Nd(Solicitation("fe80::2", "fd00:1::1"), kPodA, MulticastMac(solicitation.destination)));
  frames = Frames();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(EthernetHeader::Parse(frames[0])->destination, kPodA);

  Receive(Nd(Solicitation("fd00:1::2", "fd00:1::3"), kPodA, kAll));
  EXPECT_TRUE(Frames().empty()) << "another pod's address";
}

TEST_F(EdgeTest, PacketsFindThePodThatArpShowed) {
  Receive(Arp(ArpPacket::Operation::kReply, kPodA, "10.244.1.2", "10.244.1.2"));
  const PacketBuilder packet = PacketBuilder("10.244.2.3", "10.244.1.2").Payload(20);
  EXPECT_EQ(Send(packet.Build()), Verdict::kForward);
  const auto frames = Frames();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(
      Show(frames[0], FrameStart::kInnerEthernet),
      Show(PacketBuilder("10.244.2.3", "10.244.1.2").Payload(20).Ttl(63).BuildFrame(kOurs, kPodA),
           FrameStart::kInnerEthernet));
  EXPECT_EQ(out_[0].length, packet.Build().size()) << "the caller's descriptor is as it was";
}

TEST_F(EdgeTest, LearnsFromAdvertisementsAndFromPackets) {
  NeighbourMessage advertisement;
  advertisement.kind = NeighbourMessage::Kind::kAdvertisement;
  advertisement.source = advertisement.target = Ip("fd00:1::2");
  advertisement.destination = Ip("ff02::1");
  advertisement.link_address = kPodA;
  Receive(Nd(advertisement, kPodA, Mac("33:33:00:00:00:01")));
  EXPECT_EQ(Send(PacketBuilder("fd00:2::3", "fd00:1::2").Build()), Verdict::kForward);
  Receive(PacketBuilder("10.244.1.7", "10.244.2.3").BuildFrame(kPodB, kOurs));
  EXPECT_EQ(Send(PacketBuilder("10.244.2.3", "10.244.1.7").Build()), Verdict::kForward);
  const auto frames = Frames();
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(EthernetHeader::Parse(frames[1])->destination, kPodB);
}

TEST_F(EdgeTest, LearnsNothingItShouldNot) {
  const struct {
    ByteVector frame;
    Verdict verdict;
  } rows[] = {
      {Arp(ArpPacket::Operation::kReply, kPodA, "10.244.9.9", "10.244.1.1"),
       Verdict::kForeignNeighbour},
      {Arp(ArpPacket::Operation::kRequest, kPodA, "10.244.9.9", "10.244.1.1"),
       Verdict::kForeignNeighbour},
      {Arp(ArpPacket::Operation::kReply, kPodA, "10.244.1.1", "10.244.1.1"),
       Verdict::kForgedGateway},
      {Arp(ArpPacket::Operation::kRequest, kPodA, "10.244.1.1", "10.244.1.1"),
       Verdict::kForgedGateway},
      {Arp(ArpPacket::Operation::kReply, Mac("01:00:00:00:00:01"), "10.244.1.5", "10.244.1.1"),
       Verdict::kConsumed},  // a group's MAC
  };
  for (const auto& row : rows) EXPECT_EQ(Receive(row.frame), row.verdict) << Name(row.verdict);
  NeighbourMessage gateway;
  gateway.kind = NeighbourMessage::Kind::kAdvertisement;
  gateway.source = gateway.target = Ip("fd00:1::1");
  gateway.destination = Ip("ff02::1");
  gateway.link_address = kPodA;
  EXPECT_EQ(Receive(Nd(gateway, kPodA, Mac("33:33:00:00:00:01"))), Verdict::kForgedGateway);
  gateway.source = Ip("::");
  gateway.link_address.reset();
  EXPECT_EQ(Receive(Nd(gateway, kPodA, Mac("33:33:00:00:00:01"))), Verdict::kConsumed);
  for (const char* source : {"10.244.1.1", "10.244.9.9"}) {
    EXPECT_EQ(Receive(PacketBuilder(source, "10.244.2.3").BuildFrame(kPodA, kOurs)),
              Verdict::kForward);
  }
  NeighbourMessage stranger = Solicitation("fd00:9::9", "fd00:1::1");
  EXPECT_EQ(Receive(Nd(stranger, kPodA, MulticastMac(stranger.destination))),
            Verdict::kForeignNeighbour);
  EXPECT_TRUE(Frames().empty()) << "neither they nor answers get a frame";
  for (const char* address : {"10.244.9.9", "10.244.1.1", "10.244.1.5"}) {
    EXPECT_EQ(Send(PacketBuilder("10.244.2.3", address).Build()), Verdict::kNoNeighbour) << address;
  }
}

TEST_F(EdgeTest, RequestsAnUnknownPodOnceASecond) {
  const ByteVector packet = PacketBuilder("10.244.2.3", "10.244.1.2").Build();
  EXPECT_EQ(Send(packet, seconds(1)), Verdict::kNoNeighbour);
  EXPECT_EQ(Send(packet, seconds(1)), Verdict::kNoNeighbour);
  auto frames = Frames();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(*EthernetHeader::Parse(frames[0]), (EthernetHeader{kAll, kOurs, EtherType::kArp}));
  EXPECT_EQ(*ArpPacket::Parse(Bytes(frames[0]).subspan(EthernetHeader::kSize)),
            (ArpPacket{ArpPacket::Operation::kRequest,
                       kOurs,
                       Ip("10.244.1.1").v4(),
                       {},
                       Ip("10.244.1.2").v4()}));
  EXPECT_EQ(Send(packet, seconds(2)), Verdict::kNoNeighbour);
  EXPECT_EQ(Frames().size(), 1u);

  EXPECT_EQ(Send(PacketBuilder("fd00:2::3", "fd00:1::abcd").Build(), seconds(2)),
            Verdict::kNoNeighbour);
  frames = Frames();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(EthernetHeader::Parse(frames[0])->destination, Mac("33:33:ff:00:ab:cd"));
  const auto asked = NeighbourMessage::Parse(Bytes(frames[0]).subspan(EthernetHeader::kSize));
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->target, Ip("fd00:1::abcd"));
  EXPECT_EQ(asked->source, Ip("fd00:1::1"));
  EXPECT_EQ(asked->link_address, kOurs);

  EXPECT_EQ(Send(PacketBuilder("10.244.2.3", "192.0.2.1").Build(), seconds(9)),
            Verdict::kNoNeighbour);
  EXPECT_TRUE(Frames().empty()) << "no pod's address";
}

TEST_F(EdgeTest, NeighboursAgeByTheBatchsTime) {
  Receive(Arp(ArpPacket::Operation::kReply, kPodA, "10.244.1.2", "10.244.1.2"), seconds(100));
  const ByteVector packet = PacketBuilder("10.244.2.3", "10.244.1.2").Build();
  EXPECT_EQ(Send(packet, seconds(130)), Verdict::kForward);
  EXPECT_EQ(Frames().size(), 1u);
  EXPECT_EQ(Send(packet, seconds(131)), Verdict::kForward);
  EXPECT_EQ(Frames().size(), 2u) << "past half the lifetime a request is sent as well";
  EXPECT_EQ(Send(packet, seconds(161)), Verdict::kNoNeighbour);
}

TEST_F(EdgeTest, TtlRunsOutTowardsPodsToo) {
  Receive(Arp(ArpPacket::Operation::kReply, kPodA, "10.244.1.2", "10.244.1.2"));
  EXPECT_EQ(Send(PacketBuilder("10.244.2.3", "10.244.1.2").Ttl(1).Build()), Verdict::kTtlExpired);
  EXPECT_EQ(Send(Hex("45")), Verdict::kInnerMalformed);
  EXPECT_TRUE(Frames().empty());
}

TEST_F(EdgeTest, OffsetsOfPartialChecksumsMoveWithTheHeader) {
  SendPartialTcp();
  ASSERT_EQ(edge_->Receive(batch_), 1u);
  EXPECT_EQ(batch_[0].verdict, Verdict::kForward);
  EXPECT_EQ(batch_[0].checksum, ChecksumState::kPartial);
  EXPECT_EQ(batch_[0].checksum_start, 20);
  EXPECT_EQ(batch_[0].headroom, kHeadroom + 14);

  // And back: the same packet sent to pod A, whose MAC the edge learnt from it.
  StoreBe32(batch_[0].data + 16, Ip("10.244.1.2").v4());
  edge_->Send(batch_);
  EXPECT_EQ(batch_[0].checksum_start, 20);
  Batch received;
  ASSERT_EQ(pods_->Receive(received), 1u);
  EXPECT_EQ(received[0].checksum_start, 34);
}

// Duplicate address detection, our own address as sender, and forged messages: nothing is learnt
// from them.
TEST_F(EdgeTest, LearnsNoInvalidMac) {
  Receive(Arp(ArpPacket::Operation::kReply, Mac("00:00:00:00:00:00"), "10.244.1.5", "10.244.1.1"));
  EXPECT_EQ(Send(PacketBuilder("10.244.2.3", "10.244.1.5").Build()), Verdict::kNoNeighbour);
  NeighbourMessage ours;
  ours.kind = NeighbourMessage::Kind::kAdvertisement;
  ours.source = ours.target = Ip("fd00:1::5");
  ours.destination = Ip("ff02::1");
  ours.link_address = kOurs;
  Receive(Nd(ours, kPodA, Mac("33:33:00:00:00:01")));
  EXPECT_EQ(Send(PacketBuilder("fd00:2::3", "fd00:1::5").Build()), Verdict::kNoNeighbour);
}

// RFC 4861 section 7.2.4: without a link-layer address an answer has no destination.
TEST_F(EdgeTest, ARequestFromAnUnknownPodWithoutItsMacIsNotAnswered) {
  NeighbourMessage solicitation = Solicitation("fd00:1::77", "fd00:1::1");
  solicitation.destination = Ip("fd00:1::1");
  solicitation.link_address.reset();
  EXPECT_EQ(Receive(Nd(solicitation, kPodB, kOurs)), Verdict::kConsumed);
  EXPECT_TRUE(Frames().empty());
}

TEST_F(EdgeTest, DamagedNeighbourMessagesAreConsumedAndIgnored) {
  const NeighbourMessage solicitation = Solicitation("fd00:1::2", "fd00:1::1");
  ByteVector frame = Nd(solicitation, kPodA, MulticastMac(solicitation.destination));
  frame.back() ^= std::byte{1};  // the checksum is wrong now
  EXPECT_EQ(Receive(frame), Verdict::kConsumed);
  EXPECT_TRUE(Frames().empty());
  EXPECT_EQ(Send(PacketBuilder("fd00:2::3", "fd00:1::2").Build()), Verdict::kNoNeighbour);
}

TEST_F(EdgeTest, OtherIcmpV6IsAnOrdinaryPacket) {
  EXPECT_EQ(Receive(PacketBuilder("fd00:1::2", "fd00:2::3").Ping(1, 1).BuildFrame(kPodA, kOurs)),
            Verdict::kForward);
  EXPECT_EQ(Receive(PacketBuilder("fd00:1::2", "fd00:2::3")
                        .Raw(IpProtocol::kIcmpV6)
                        .Payload(3)
                        .BuildFrame(kPodA, kOurs)),
            Verdict::kForward)
      << "too short for a type, and not judged here";
  EXPECT_EQ(Receive(PacketBuilder("10.244.1.2", "10.244.2.3")
                        .Raw(IpProtocol::kIcmpV6)
                        .Payload(Hex("8700000000000000"))
                        .BuildFrame(kPodA, kOurs)),
            Verdict::kForward)
      << "a solicitation's type inside IPv4";
  EXPECT_EQ(
      Receive(PacketBuilder("fd00:1::2", "fd00:2::3").Udp(0x8700, 53).BuildFrame(kPodA, kOurs)),
      Verdict::kForward)
      << "a port that begins like a solicitation";
}

TEST_F(EdgeTest, WithoutRoomForAFrameAPacketIsRefused) {
  Receive(Arp(ArpPacket::Operation::kReply, kPodA, "10.244.1.2", "10.244.1.2"));
  const ByteVector bytes = PacketBuilder("10.244.2.3", "10.244.1.2").Payload(20).Build();
  for (const std::uint32_t headroom : {14u, 13u}) {
    Packet packet = slab_.Lend(0);
    std::copy(bytes.begin(), bytes.end(), packet.data);
    packet.length = static_cast<std::uint32_t>(bytes.size());
    packet.headroom = headroom;
    out_.clear();
    out_.Add(packet);
    edge_->Send(out_);
    EXPECT_EQ(out_[0].verdict, headroom == 14 ? Verdict::kForward : Verdict::kPodError);
    EXPECT_EQ(Frames().size(), headroom == 14 ? 1u : 0u);
    EXPECT_EQ(Ipv4ChecksumIsRight(out_[0].bytes()), true) << "one hop less, or untouched";
  }
}

TEST_F(EdgeTest, DroppedPacketsAreNotSent) {
  Receive(Arp(ArpPacket::Operation::kReply, kPodA, "10.244.1.2", "10.244.1.2"));
  const ByteVector bytes = PacketBuilder("10.244.2.3", "10.244.1.2").Payload(20).Build();
  Packet packet = slab_.Lend(0);
  std::copy(bytes.begin(), bytes.end(), packet.data);
  packet.length = static_cast<std::uint32_t>(bytes.size());
  packet.verdict = Verdict::kUnknownPeer;
  out_.Add(packet);
  edge_->Send(out_);
  EXPECT_EQ(out_[0].verdict, Verdict::kUnknownPeer);
  EXPECT_EQ(out_[0].length, bytes.size());
  EXPECT_TRUE(Frames().empty());
}

TEST_F(EdgeTest, SuperframesKeepTheirKindAndLength) {
  const ByteVector frame = PacketBuilder("10.244.1.2", "10.244.2.3")
                               .Tcp(1, 2)
                               .Payload(5000)
                               .PartialTransportChecksum()
                               .BuildFrame(kPodA, kOurs);
  Packet packet = slab_.Lend(0);
  std::copy(frame.begin(), frame.end(), packet.data);
  packet.length = static_cast<std::uint32_t>(frame.size());
  packet.checksum = ChecksumState::kPartial;
  packet.checksum_start = 34;
  packet.checksum_offset = 16;
  packet.segmentation = Segmentation::kTcp;
  packet.segment_size = 1000;
  out_.Add(packet);
  pods_->Send(out_);
  ASSERT_EQ(edge_->Receive(batch_), 1u);
  EXPECT_EQ(batch_[0].verdict, Verdict::kForward);
  EXPECT_EQ(batch_[0].segmentation, Segmentation::kTcp);
  EXPECT_EQ(batch_[0].segment_size, 1000);
  EXPECT_EQ(batch_[0].length, 5040u);
}

TEST_F(EdgeTest, AChecksumThatBeginsInsideTheFrameHeaderIsMalformed) {
  const ByteVector frame =
      PacketBuilder("10.244.1.2", "10.244.2.3").Tcp(1, 2).BuildFrame(kPodA, kOurs);
  for (const std::uint16_t start : {std::uint16_t{13}, std::uint16_t{14}}) {
    Packet packet = slab_.Lend(0);
    std::copy(frame.begin(), frame.end(), packet.data);
    packet.length = static_cast<std::uint32_t>(frame.size());
    packet.checksum = ChecksumState::kPartial;
    packet.checksum_start = start;
    packet.checksum_offset = 16;
    out_.clear();
    out_.Add(packet);
    pods_->Send(out_);
    ASSERT_EQ(edge_->Receive(batch_), 1u);
    EXPECT_EQ(batch_[0].verdict, start == 14 ? Verdict::kForward : Verdict::kInnerMalformed);
  }
}

// A node of one family has no source address for requests of the other.
TEST(EdgeOfOneFamily, SendsNoRequestsOfTheOtherFamily) {
  MemoryLink link = MemoryLink::Make(PortKind::kPodL2);
  EdgeOptions options;
  options.mac = kOurs;
  options.gateways = {Ip("10.244.1.1")};
  options.pod_subnets = {*IpPrefix::Parse("10.244.1.0/24"), *IpPrefix::Parse("fd00:1::/64")};
  Edge edge(std::move(link.first), options);
  PacketSlab slab;
  Batch batch;
  for (const char* destination : {"fd00:1::9", "10.244.1.9"}) {
    const ByteVector bytes =
        PacketBuilder(Ip(destination).is_v4() ? "10.244.2.3" : "fd00:2::3", destination).Build();
    Packet packet = slab.Lend(batch.size());
    std::copy(bytes.begin(), bytes.end(), packet.data);
    packet.length = static_cast<std::uint32_t>(bytes.size());
    batch.Add(packet);
  }
  edge.Send(batch);
  EXPECT_EQ(batch[0].verdict, Verdict::kNoNeighbour);
  EXPECT_EQ(batch[1].verdict, Verdict::kNoNeighbour);
  const auto frames = ReceiveBytes(*link.second);
  ASSERT_EQ(frames.size(), 1u) << "ARP for the one, nothing for the other";
  EXPECT_EQ(EthernetHeader::Parse(frames[0])->ether_type, EtherType::kArp);
}

TEST_F(EdgeTest, CountsWhatItDoes) {
  Receive(Arp(ArpPacket::Operation::kRequest, kPodA, "10.244.1.2", "10.244.1.1"));
  Send(PacketBuilder("10.244.2.3", "10.244.1.9").Build());
  edge_->Receive(batch_);  // the returned frames are not queued any more
  std::vector<std::string> counts;
  for (const NamedCount& count : edge_->Counts())
    counts.push_back(count.name + "=" + std::to_string(count.value));
  EXPECT_EQ(counts, (std::vector<std::string>{"queued=0", "neighbours=1", "neighbours-asked=1",
                                              "neighbours-answered=1"}));
}

TEST_F(EdgeTest, ChecksumsStayAsThePodSentThem) {
  EXPECT_EQ(Receive(PacketBuilder("10.244.1.2", "10.244.2.3")
                        .Tcp(1, 2)
                        .PartialTransportChecksum()
                        .BuildFrame(kPodA, kOurs)),
            Verdict::kForward);
  EXPECT_EQ(VerifyTransportChecksum(batch_[0].bytes()), TransportChecksum::kWrong);
}

class UnmarkedEdgeTest : public EdgeTest {
 protected:
  UnmarkedEdgeTest() : EdgeTest(true) {}
  std::uint64_t Count(std::string_view name) {
    for (const NamedCount& count : edge_->Counts()) {
      if (count.name == name) return count.value;
    }
    return ~std::uint64_t{0};
  }
};

// The forwarder completes it, as if the port had marked it.
TEST_F(UnmarkedEdgeTest, AChecksumLeftToTheAdapterIsRecognized) {
  for (const auto& [source, destination] :
       {std::pair("10.244.1.2", "10.244.2.3"), std::pair("fd00:1::2", "fd00:2::3")}) {
    EXPECT_EQ(Receive(PacketBuilder(source, destination)
                          .Tcp(1, 2)
                          .Payload(33)
                          .PartialTransportChecksum()
                          .BuildFrame(kPodA, kOurs)),
              Verdict::kForward);
    EXPECT_EQ(batch_[0].checksum, ChecksumState::kPartial);
    EXPECT_EQ(batch_[0].checksum_start, Ip(source).is_v4() ? 20 : 40);
    EXPECT_EQ(batch_[0].checksum_offset, 16);
    EXPECT_EQ(batch_[0].segmentation, Segmentation::kNone);
  }
  EXPECT_EQ(Count("unmarked-checksums"), 2u);
  EXPECT_EQ(Count("unmarked-superframes"), 0u);
}

TEST_F(UnmarkedEdgeTest, ATcpPacketAboveTheMtuIsASuperframe) {
  EXPECT_EQ(Receive(PacketBuilder("10.244.1.2", "10.244.2.3")
                        .Tcp(1, 2)
                        .Payload(5000)
                        .PartialTransportChecksum()
                        .BuildFrame(kPodA, kOurs)),
            Verdict::kForward);
  EXPECT_EQ(batch_[0].segmentation, Segmentation::kTcp);
  EXPECT_EQ(batch_[0].segment_size, 1410);
  EXPECT_EQ(Count("unmarked-superframes"), 1u);
}

// Damage on the way must not become a right checksum.
TEST_F(UnmarkedEdgeTest, AWrongChecksumStaysWrong) {
  ByteVector frame =
      PacketBuilder("10.244.1.2", "10.244.2.3").Tcp(1, 2).Payload(33).BuildFrame(kPodA, kOurs);
  frame.back() ^= std::byte{1};
  EXPECT_EQ(Receive(frame), Verdict::kForward);
  EXPECT_EQ(batch_[0].checksum, ChecksumState::kOnWire);
  EXPECT_EQ(VerifyTransportChecksum(batch_[0].bytes()), TransportChecksum::kWrong);
  EXPECT_EQ(Count("unmarked-checksums"), 0u);
}

TEST_F(UnmarkedEdgeTest, WhatThePortMarkedStaysAsItIs) {
  SendPartialTcp();
  ASSERT_EQ(edge_->Receive(batch_), 1u);
  EXPECT_EQ(batch_[0].checksum, ChecksumState::kPartial);
  EXPECT_EQ(batch_[0].checksum_start, 20);
  EXPECT_EQ(Count("unmarked-checksums"), 0u);
}

}  // namespace
}  // namespace weft::dataplane
