// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/dataplane/support.h"
#include "vxlan/ipv4.h"

namespace weft::dataplane {
namespace {

ByteVector Inner() {
  return PacketBuilder("10.244.1.7", "10.244.2.9").Udp(4000, 53).Payload(20).Build();
}

// From linux-1, VxlanBuilder's default sender, to us.
VxlanBuilder FromPeer(const ByteVector& inner = Inner()) { return VxlanBuilder(inner); }

std::string ShowInner(const Packet& packet) { return Show(packet.bytes(), FrameStart::kInnerIp); }

TEST(Decapsulate, LeavesTheInnerPacket) {
  const struct {
    const char* description;
    ByteVector inner;
    VxlanBuilder outer;
  } rows[] = {
      {"plain", Inner(), FromPeer()},
      {"with UDP checksum", Inner(), FromPeer().UdpChecksum()},
      {"IPv6 inside", PacketBuilder("fd00:1::7", "fd00:2::9").Build(),
       FromPeer(PacketBuilder("fd00:1::7", "fd00:2::9").Build())},
      {"IPv6 outside", PacketBuilder("10.244.6.1", "10.244.2.9").Build(),
       FromPeer(PacketBuilder("10.244.6.1", "10.244.2.9").Build())
           .Outer("2001:db8::6", "2001:db8::2")},
      {"from the peer's host, source .0", PacketBuilder("10.244.1.0", "10.244.2.9").Build(),
       FromPeer(PacketBuilder("10.244.1.0", "10.244.2.9").Build())},
      {"to our .0", PacketBuilder("10.244.1.7", "10.244.2.0").Build(),
       FromPeer(PacketBuilder("10.244.1.7", "10.244.2.0").Build())},
      {"inner options", PacketBuilder("10.244.1.7", "10.244.2.9").Ipv4Options(4).Build(),
       FromPeer(PacketBuilder("10.244.1.7", "10.244.2.9").Ipv4Options(4).Build())},
      {"an inner fragment",
       PacketBuilder("10.244.1.7", "10.244.2.9").Payload(100).Fragment(64, 8).Build(),
       FromPeer(PacketBuilder("10.244.1.7", "10.244.2.9").Payload(100).Fragment(64, 8).Build())},
  };
  for (const auto& row : rows) {
    Node node;
    const Packet& packet = node.Decapsulate(row.outer.Build());
    ASSERT_EQ(packet.verdict, Verdict::kForward) << row.description;
    EXPECT_EQ(ShowInner(packet), Show(row.inner, FrameStart::kInnerIp)) << row.description;
    EXPECT_EQ(packet.inner_offset, 0);
    EXPECT_EQ(packet.checksum, ChecksumState::kOnWire);
  }
}

TEST(Decapsulate, TakesDatagramsWithTheirDescriptor) {
  ForwarderConfig config = DefaultConfig();
  config.wire = PortKind::kWireDatagram;
  Node node(config);
  Packet datagram = node.buffers.Make(FromPeer().BuildPayload());
  datagram.outer_address = Ip("192.0.2.1");
  const Packet& packet = node.Decapsulate(datagram);
  ASSERT_EQ(packet.verdict, Verdict::kForward);
  EXPECT_EQ(ShowInner(packet), Show(Inner(), FrameStart::kInnerIp));
  EXPECT_EQ(packet.headroom, datagram.headroom + 22);

  datagram.outer_address = Ip("198.51.100.1");
  datagram.data[14] = std::byte{0x77};  // nor the lease's MAC
  EXPECT_EQ(node.Decapsulate(datagram).verdict, Verdict::kUnknownPeer);
}

TEST(Decapsulate, CutsPaddingOff) {
  Node node;
  const ByteVector inner = Inner();
  const Packet& packet = node.Decapsulate(VxlanBuilder(Concatenate(inner, ByteVector(9))).Build());
  ASSERT_EQ(packet.verdict, Verdict::kForward);
  EXPECT_EQ(ShowInner(packet), Show(inner, FrameStart::kInnerIp));
  const Packet& behind = node.Decapsulate(Concatenate(FromPeer().Build(), ByteVector(11)));
  EXPECT_EQ(ShowInner(behind), Show(inner, FrameStart::kInnerIp));
}

// The bytes after the end are the rest of the same packet: only the length shows that it is short.
TEST(Decapsulate, AnyTruncationIsDropped) {
  for (const auto& [wire, bytes] :
       {std::pair(PortKind::kWirePacket, FromPeer().Build()),
        std::pair(PortKind::kWireDatagram, FromPeer().BuildPayload())}) {
    ForwarderConfig config = DefaultConfig();
    config.wire = wire;
    for (std::uint32_t size = 0; size < bytes.size(); ++size) {
      Node node(config);
      Packet packet = node.buffers.Make(bytes);
      packet.outer_address = Ip("192.0.2.1");
      packet.length = size;
      const Verdict desired = wire == PortKind::kWirePacket ? Verdict::kOuterMalformed
                              : size < 8                    ? Verdict::kNotVxlan
                                                            : Verdict::kInnerMalformed;
      ASSERT_EQ(node.Decapsulate(packet).verdict, desired) << size;
    }
  }
}

TEST(Decapsulate, AnInnerPacketShorterThanItsHeaderIsDropped) {
  ForwarderConfig config = DefaultConfig();
  config.wire = PortKind::kWireDatagram;
  for (std::uint16_t size = 0; size < 20; ++size) {
    Node node(config);
    Packet packet = node.buffers.Make(FromPeer().BuildPayload());
    packet.outer_address = Ip("192.0.2.1");
    packet.length = 22u + size;
    StoreBe16(packet.data + 24, size);  // the inner total length agrees
    ASSERT_EQ(node.Decapsulate(packet).verdict, Verdict::kInnerMalformed) << size;
  }
}

TEST(Decapsulate, NamesTheDropReason) {
  const auto to = [](std::string_view address) {
    return FromPeer(PacketBuilder("10.244.1.7", address).Build());
  };
  const auto changed_inner = [](std::size_t at, int value) {
    ByteVector inner = Inner();
    inner[at] = static_cast<std::byte>(value);
    return FromPeer(inner).Build();
  };
  const auto first = [](ByteVector bytes, std::size_t size) {
    bytes.resize(size);
    return bytes;
  };
  // Another byte of the outer header, whose checksum is right again.
  const auto changed_outer = [](std::size_t at, int value) {
    ByteVector outer = FromPeer().Build();
    outer[at] = static_cast<std::byte>(value);
    StoreBe16(outer.data() + 10, 0);
    StoreBe16(outer.data() + 10, SumIpv4Header(outer.data()).Checksum());
    return outer;
  };
  const MacAddress theirs = Mac("02:00:00:00:00:01");
  const MacAddress ours = Mac("02:00:00:00:00:02");
  const struct {
    const char* description;
    ByteVector outer;
    Verdict verdict;
  } rows[] = {
      {"no outer packet", ByteVector(10), Verdict::kOuterMalformed},
      {"outer header checksum", FromPeer().WrongHeaderChecksum().Build(), Verdict::kOuterMalformed},
      {"cut short", first(FromPeer().Build(), 60), Verdict::kOuterMalformed},
      {"outer UDP checksum", FromPeer().WrongUdpChecksum().Build(), Verdict::kOuterChecksum},
      {"outer first fragment", FromPeer().Fragment(0, 64).Build(), Verdict::kOuterFragment},
      {"outer last fragment", FromPeer().Fragment(64, 1000).Build(), Verdict::kOuterFragment},
      {"a whole datagram, more fragments", changed_outer(6, 0x20), Verdict::kOuterFragment},
      {"a whole datagram, fragment offset", changed_outer(7, 1), Verdict::kOuterFragment},
      {"like UDP, protocol TCP", changed_outer(9, 6), Verdict::kNotVxlan},
      {"another UDP port", FromPeer().Ports(50'000, 8472).Build(), Verdict::kNotVxlan},
      {"not UDP", PacketBuilder("192.0.2.1", "192.0.2.2").Tcp(1, 4789).Build(), Verdict::kNotVxlan},
      {"I flag clear", FromPeer().Flags(0).Build(), Verdict::kNotVxlan},
      {"seven bytes of payload",
       PacketBuilder("192.0.2.1", "192.0.2.2").Udp(1, 4789).Payload(7).Build(), Verdict::kNotVxlan},
      {"another VNI", FromPeer().Network(4097).Build(), Verdict::kForeignVni},
      {"VNI 1", FromPeer().Network(1).Build(), Verdict::kForeignVni},
      {"no inner frame", VxlanBuilder::AroundFrame({}).Build(), Verdict::kInnerMalformed},
      {"half an Ethernet header", VxlanBuilder::AroundFrame(ByteVector(13)).Build(),
       Verdict::kInnerMalformed},
      {"another MAC", FromPeer().Macs(theirs, Mac("02:00:00:00:00:99")).Build(),
       Verdict::kForeignMac},
      {"broadcast MAC", FromPeer().Macs(theirs, Mac("ff:ff:ff:ff:ff:ff")).Build(),
       Verdict::kForeignMac},
      {"802.1Q tag",
       VxlanBuilder::AroundFrame(
           PacketBuilder("10.244.1.7", "10.244.2.9").BuildFrame(theirs, ours, 5))
           .Build(),
       Verdict::kVlanTagged},
      {"ARP", FromPeer().InnerEtherType(0x0806).Build(), Verdict::kNotIp},
      {"EtherType of IPv6", FromPeer().InnerEtherType(0x86dd).Build(), Verdict::kInnerMalformed},
      {"inner version 5", changed_inner(0, 0x55), Verdict::kInnerMalformed},
      {"inner IHL 4", changed_inner(0, 0x44), Verdict::kInnerMalformed},
      {"inner total length beyond the end", changed_inner(3, 0xff), Verdict::kInnerMalformed},
      {"inner total length 0", changed_inner(3, 0), Verdict::kInnerMalformed},
      {"inner total length below its header", changed_inner(3, 19), Verdict::kInnerMalformed},
      {"another node's pod", to("10.244.3.1").Build(), Verdict::kForeignSubnet},
      {"the outside", to("8.8.8.8").Build(), Verdict::kForeignSubnet},
      {"multicast", to("224.0.0.1").Build(), Verdict::kForeignSubnet},
      {"IPv6, another node's pod",
       FromPeer(PacketBuilder("fd00:1::7", "fd00:3::1").Build()).Build(), Verdict::kForeignSubnet},
      {"ECN", FromPeer().MarkEcn(Ecn::kCe).Build(), Verdict::kEcnIllegal},
  };
  for (const auto& row : rows) {
    Node node;
    EXPECT_EQ(node.Decapsulate(row.outer).verdict, row.verdict) << row.description;
    EXPECT_EQ(node.CountsOf("linux-1").received_packets, 0u) << row.description;
  }
}

// Where nodes have addresses of the pod network.
TEST(Decapsulate, APublicIpInAPodSubnetIsASender) {
  std::vector<RemoteSpec> leases = DefaultLeases();
  leases[0].vtep = Ip("10.244.3.77");
  Node node(DefaultConfig(), leases);
  const auto from = [&](const char* inner) {
    return node
        .Decapsulate(FromPeer(PacketBuilder(inner, "10.244.2.9").Build())
                         .Outer("10.244.3.77", "192.0.2.2")
                         .Build())
        .verdict;
  };
  EXPECT_EQ(from("10.244.1.7"), Verdict::kForward);
  EXPECT_EQ(from("172.30.0.1"), Verdict::kForward) << "as from any lease's public IP";
}

TEST(Decapsulate, ChecksTheSender) {
  const MacAddress ours = Mac("02:00:00:00:00:02");
  const struct {
    const char* description;
    const char* outer_source;
    const char* inner_source;
    const char* inner_mac;
    Verdict strict;
    Verdict lease;
  } rows[] = {
      {"the lease's own", "192.0.2.1", "10.244.1.7", "02:00:00:00:00:01", Verdict::kForward,
       Verdict::kForward},
      {"inner MAC is irrelevant then", "192.0.2.1", "10.244.1.7", "02:00:00:00:00:99",
       Verdict::kForward, Verdict::kForward},
      {"shared public IP, first", "192.0.2.3", "10.244.3.1", "02:00:00:00:00:03", Verdict::kForward,
       Verdict::kForward},
      {"shared public IP, second", "192.0.2.3", "10.244.33.1", "02:00:00:00:00:3b",
       Verdict::kForward, Verdict::kForward},
      {"another lease's public IP", "192.0.2.3", "10.244.1.7", "02:00:00:00:00:01",
       Verdict::kUnknownPeer, Verdict::kForward},
      {"public-ip-overwrite", "203.0.113.5", "10.244.1.7", "02:00:00:00:00:01",
       Verdict::kUnknownPeer, Verdict::kForward},
      {"MAC of another lease", "203.0.113.5", "10.244.1.7", "02:00:00:00:00:03",
       Verdict::kUnknownPeer, Verdict::kUnknownPeer},
      {"a lease's IP, foreign inner source", "192.0.2.1", "172.30.0.1", "02:00:00:00:00:01",
       Verdict::kUnknownPeer, Verdict::kForward},
      {"an unknown VTEP", "203.0.113.5", "172.30.0.1", "02:00:00:00:00:01", Verdict::kUnknownPeer,
       Verdict::kUnknownPeer},
      // The placeholder for "no lease" has no MAC and no address.
      {"an unknown VTEP, MAC zero", "203.0.113.5", "172.30.0.1", "00:00:00:00:00:00",
       Verdict::kUnknownPeer, Verdict::kUnknownPeer},
      {"an unknown VTEP, address zero", "0.0.0.0", "172.30.0.1", "02:00:00:00:00:01",
       Verdict::kUnknownPeer, Verdict::kUnknownPeer},
      {"an address of our pods", "10.244.2.9", "10.244.1.7", "02:00:00:00:00:01",
       Verdict::kPodSource, Verdict::kPodSource},
      {"an address of our pods, foreign inner source", "10.244.2.9", "172.30.0.1",
       "02:00:00:00:00:01", Verdict::kPodSource, Verdict::kPodSource},
      {"an address of a lease's pods", "10.244.3.9", "10.244.1.7", "02:00:00:00:00:01",
       Verdict::kPodSource, Verdict::kPodSource},
      {"an address of its own pods", "10.244.1.7", "10.244.1.7", "02:00:00:00:00:01",
       Verdict::kPodSource, Verdict::kPodSource},
      {"an address of Network, in no pod subnet", "10.244.99.9", "10.244.1.7", "02:00:00:00:00:01",
       Verdict::kUnknownPeer, Verdict::kForward},
      {"a lease's pod, MAC zero", "203.0.113.5", "10.244.1.7", "00:00:00:00:00:00",
       Verdict::kUnknownPeer, Verdict::kUnknownPeer},
      {"a lease's pod, address zero", "0.0.0.0", "10.244.1.7", "02:00:00:00:00:99",
       Verdict::kUnknownPeer, Verdict::kUnknownPeer},
      {"IPv6 inside", "192.0.2.1", "fd00:1::7", "02:00:00:00:00:99", Verdict::kForward,
       Verdict::kForward},
      {"IPv6 inside, public-ip-overwrite", "203.0.113.5", "fd00:1::7", "02:00:00:00:00:01",
       Verdict::kUnknownPeer, Verdict::kForward},
      {"IPv6 inside, an unknown VTEP", "203.0.113.5", "fd00:77::1", "02:00:00:00:00:01",
       Verdict::kUnknownPeer, Verdict::kUnknownPeer},
      {"IPv6 inside, an unknown VTEP, MAC zero", "203.0.113.5", "fd00:77::1", "00:00:00:00:00:00",
       Verdict::kUnknownPeer, Verdict::kUnknownPeer},
      {"IPv6 outside", "2001:db8::6", "10.244.6.7", "02:00:00:00:00:99", Verdict::kForward,
       Verdict::kForward},
      {"IPv6 outside, a lease's IP, foreign inner source", "2001:db8::6", "172.30.0.1",
       "02:00:00:00:00:01", Verdict::kUnknownPeer, Verdict::kForward},
      {"IPv6 outside, an address of our pods", "fd00:2::9", "10.244.1.7", "02:00:00:00:00:01",
       Verdict::kPodSource, Verdict::kPodSource},
      {"IPv6 outside, an address of a lease's pods", "fd00:1::9", "10.244.1.7", "02:00:00:00:00:01",
       Verdict::kPodSource, Verdict::kPodSource},
      {"IPv6 outside, an unknown VTEP", "2001:db8::77", "172.30.0.1", "02:00:00:00:00:01",
       Verdict::kUnknownPeer, Verdict::kUnknownPeer},
      {"IPv6 outside, an unknown VTEP, MAC zero", "2001:db8::77", "172.30.0.1", "00:00:00:00:00:00",
       Verdict::kUnknownPeer, Verdict::kUnknownPeer},
      {"IPv6 outside, begins like the lease's IPv4", "c000:201::", "10.244.1.7",
       "02:00:00:00:00:99", Verdict::kUnknownPeer, Verdict::kUnknownPeer},
      {"IPv6 outside, ends like it", "::c000:201", "10.244.1.7", "02:00:00:00:00:99",
       Verdict::kUnknownPeer, Verdict::kUnknownPeer},
      {"IPv6 outside, an unknown VTEP, address zero", "::", "172.30.0.1", "02:00:00:00:00:01",
       Verdict::kUnknownPeer, Verdict::kUnknownPeer},
  };
  for (const auto& row : rows) {
    const bool inner_v4 = Ip(row.inner_source).is_v4();
    const bool outer_v4 = Ip(row.outer_source).is_v4();
    VxlanBuilder outer =
        FromPeer(PacketBuilder(row.inner_source, inner_v4 ? "10.244.2.9" : "fd00:2::9").Build())
            .Outer(row.outer_source, outer_v4 ? "192.0.2.2" : "2001:db8::2")
            .Macs(Mac(row.inner_mac), ours);
    for (const PortKind wire : {PortKind::kWirePacket, PortKind::kWireDatagram}) {
      SCOPED_TRACE(wire == PortKind::kWirePacket ? "whole packets" : "datagrams");
      const auto verdict = [&](PeerCheck check) {
        ForwarderConfig config = DefaultConfig();
        config.wire = wire;
        config.peer_check = check;
        Node node(config);
        if (wire == PortKind::kWirePacket) return node.Decapsulate(outer.Build()).verdict;
        Packet datagram = node.buffers.Make(outer.BuildPayload());
        datagram.outer_address = Ip(row.outer_source);
        return node.Decapsulate(datagram).verdict;
      };
      EXPECT_EQ(verdict(PeerCheck::kStrict), row.strict) << row.description;
      EXPECT_EQ(verdict(PeerCheck::kLease), row.lease) << row.description;
      EXPECT_EQ(verdict(PeerCheck::kOff), Verdict::kForward) << row.description;
    }
  }
}

// No host on the wire may send with our own pods' addresses, not even a peer.
TEST(Decapsulate, NothingComesFromOurOwnSubnet) {
  const struct {
    const char* description;
    const char* outer_source;
    const char* inner_source;
  } rows[] = {
      {"a peer", "192.0.2.1", "10.244.2.7"},
      {"a peer, as the receiving pod", "192.0.2.1", "10.244.2.9"},
      {"a peer, as our host", "192.0.2.1", "10.244.2.0"},
      {"a peer whose lease covers our subnet", "192.0.2.5", "10.244.2.200"},
      {"a peer, IPv6", "192.0.2.1", "fd00:2::7"},
      {"a peer over IPv6", "2001:db8::6", "10.244.2.7"},
      {"a stranger", "203.0.113.5", "10.244.2.7"},
      {"a peer, another own subnet", "192.0.2.1", "10.99.0.7"},
  };
  std::vector<RemoteSpec> leases = DefaultLeases();
  leases.push_back(Lease("linux-5", "10.244.2.128/25", "192.0.2.5", "02:00:00:00:00:05"));
  for (const auto& row : rows) {
    const bool inner_v4 = Ip(row.inner_source).is_v4();
    const bool outer_v4 = Ip(row.outer_source).is_v4();
    VxlanBuilder outer =
        FromPeer(PacketBuilder(row.inner_source, inner_v4 ? "10.244.2.9" : "fd00:2::9").Build())
            .Outer(row.outer_source, outer_v4 ? "192.0.2.2" : "2001:db8::2");
    for (const PortKind wire : {PortKind::kWirePacket, PortKind::kWireDatagram}) {
      for (const PeerCheck check : {PeerCheck::kStrict, PeerCheck::kLease, PeerCheck::kOff}) {
        ForwarderConfig config = DefaultConfig();
        config.own_subnets = {Prefix("10.244.2.0/24"), Prefix("10.99.0.0/16"),
                              Prefix("fd00:2::/64")};
        config.wire = wire;
        config.peer_check = check;
        Node node(config, leases);
        Packet packet =
            node.buffers.Make(wire == PortKind::kWirePacket ? outer.Build() : outer.BuildPayload());
        packet.outer_address = Ip(row.outer_source);
        EXPECT_EQ(node.Decapsulate(packet).verdict,
                  check == PeerCheck::kOff ? Verdict::kForward : Verdict::kOwnSource)
            << row.description;
      }
    }
  }
}

// An operator must know before --peer-check=strict which peers send from another address than they
// publish.
TEST(Decapsulate, RecordsPeersThatSendFromAnotherAddress) {
  const ByteVector good = FromPeer().Build();
  const ByteVector elsewhere = FromPeer().Outer("198.51.100.9", "192.0.2.2").Build();
  const ByteVector moved = FromPeer().Outer("198.51.100.10", "192.0.2.2").Build();
  const ByteVector other_mac = FromPeer()
                                   .Outer("198.51.100.9", "192.0.2.2")
                                   .Macs(Mac("02:00:00:00:00:99"), Mac("02:00:00:00:00:02"))
                                   .Build();
  const ByteVector foreign_pod =
      FromPeer(PacketBuilder("172.30.0.1", "10.244.2.9").Build()).Build();
  for (const PeerCheck check : {PeerCheck::kStrict, PeerCheck::kLease, PeerCheck::kOff}) {
    ForwarderConfig config = DefaultConfig();
    config.peer_check = check;
    Node node(config);
    node.Decapsulate(good);
    EXPECT_EQ(node.CountsOf("linux-1").other_source_packets, 0u);
    EXPECT_EQ(node.CountsOf("linux-1").other_source, std::nullopt);
    EXPECT_EQ(node.counters.Read().strict_would_drop, 0u) << "strict drops nothing so far";

    for (const ByteVector& packet : {elsewhere, moved, other_mac, foreign_pod})
      node.Decapsulate(packet);
    const bool off = check == PeerCheck::kOff;
    const PeerCounts counts = node.CountsOf("linux-1");
    EXPECT_EQ(counts.other_source_packets, off ? 0u : 2u);
    if (!off) {
      EXPECT_EQ(counts.other_source, Ip("198.51.100.10"));
    }
    EXPECT_EQ(node.counters.Read().strict_would_drop, check == PeerCheck::kLease ? 3u : 0u)
        << "two by MAC and address, one by a lease's public IP alone";
    EXPECT_EQ(counts.received_packets, check == PeerCheck::kStrict ? 1u : off ? 4u : 3u);
  }
}

// A virtual underlay delivers a Linux peer's superframes uncut; the packets in them are counted.
TEST(Decapsulate, CountsAnUncutSuperframeAsItsSegments) {
  ForwarderConfig config = DefaultConfig();
  config.wire = PortKind::kWireDatagram;
  const auto received = [&](const ByteVector& inner, std::uint16_t segment_size) {
    Node node(config);
    Packet packet = node.buffers.Make(FromPeer(inner).BuildPayload());
    packet.outer_address = Ip("192.0.2.1");
    packet.segment_size = segment_size;
    EXPECT_EQ(node.Decapsulate(packet).verdict, Verdict::kForward);
    return node.CountsOf("linux-1");
  };
  const auto tcp = [](std::size_t payload) {
    return PacketBuilder("10.244.1.7", "10.244.2.9").Tcp(1, 2).Payload(payload);
  };
  const PeerCounts uncut = received(tcp(3000).PartialTransportChecksum().Build(), 0);
  EXPECT_EQ(uncut.received_packets, 3u) << "1410, 1410 and 180 bytes";
  EXPECT_EQ(uncut.received_bytes, 3000u + 3 * 40);
  const PeerCounts udp = received(PacketBuilder("10.244.1.7", "10.244.2.9")
                                      .Udp(1, 2)
                                      .Payload(200)
                                      .PartialTransportChecksum()
                                      .Build(),
                                  18);
  EXPECT_EQ(udp.received_packets, 12u);
  EXPECT_EQ(udp.received_bytes, 200u + 12 * 28);
  EXPECT_EQ(received(tcp(3000).Build(), 0).received_packets, 1u) << "finished: a jumbo packet";
}

// RFC 7348 section 5: "MUST be accepted", and RFC 6935 section 5 allows it for a tunnel's port.
TEST(Decapsulate, TakesOuterIpv6WithoutUdpChecksum) {
  Node node;
  VxlanBuilder outer = FromPeer(PacketBuilder("10.244.6.1", "10.244.2.9").Build());
  outer.Outer("2001:db8::6", "2001:db8::2");
  EXPECT_EQ(node.Decapsulate(outer.Build()).verdict, Verdict::kForward);
  EXPECT_EQ(node.Decapsulate(VxlanBuilder(outer).WrongUdpChecksum().Build()).verdict,
            Verdict::kOuterChecksum);
}

TEST(Decapsulate, DoesNotTouchDroppedPackets) {
  for (const PortKind wire : {PortKind::kWirePacket, PortKind::kWireDatagram}) {
    ForwarderConfig config = DefaultConfig();
    config.wire = wire;
    Node node(config);
    Packet packet = node.buffers.Make(wire == PortKind::kWirePacket ? FromPeer().Build()
                                                                    : FromPeer().BuildPayload());
    packet.outer_address = Ip("192.0.2.1");
    packet.verdict = Verdict::kOwnFrame;
    const ByteVector before = BytesOf(packet);
    const Packet& result = node.Decapsulate(packet);
    EXPECT_EQ(result.verdict, Verdict::kOwnFrame);
    EXPECT_EQ(BytesOf(result), before);
    EXPECT_EQ(node.CountsOf("linux-1").received_packets, 0u);
  }
}

TEST(Decapsulate, CountsByInnerSource) {
  Node node;
  node.Decapsulate(FromPeer(PacketBuilder("10.244.33.1", "10.244.2.9").TotalLength(100).Build())
                       .Outer("192.0.2.3", "192.0.2.2")
                       .Build());
  EXPECT_EQ(node.CountsOf("linux-3b").received_packets, 1u);
  EXPECT_EQ(node.CountsOf("linux-3b").received_bytes, 100u);
  EXPECT_EQ(node.CountsOf("linux-3").received_packets, 0u);
  const Packet& packet =
      node.Decapsulate(FromPeer(PacketBuilder("172.30.0.1", "10.244.2.9").Build()).Build());
  EXPECT_EQ(packet.verdict, Verdict::kForward);
  EXPECT_EQ(node.CountsOf("").received_packets, 1u);
}

TEST(Decapsulate, MergesEcnAsRfc6040Figure4) {
  for (const auto& builder :
       {PacketBuilder("10.244.1.7", "10.244.2.9"), PacketBuilder("fd00:1::7", "fd00:2::9")}) {
    for (const Ecn inner : {Ecn::kNotEct, Ecn::kEct1, Ecn::kEct0, Ecn::kCe}) {
      for (const Ecn outer : {Ecn::kNotEct, Ecn::kEct1, Ecn::kEct0, Ecn::kCe}) {
        Node node;
        const Packet& packet = node.Decapsulate(
            FromPeer(PacketBuilder(builder).Tos(10, inner).Build()).MarkEcn(outer).Build());
        const auto desired = DecapsulationEcn(inner, outer);
        if (!desired) {
          EXPECT_EQ(packet.verdict, Verdict::kEcnIllegal);
          continue;
        }
        ASSERT_EQ(packet.verdict, Verdict::kForward);
        EXPECT_EQ(ShowInner(packet),
                  Show(PacketBuilder(builder).Tos(10, *desired).Build(), FrameStart::kInnerIp))
            << Name(inner) << " in " << Name(outer);
      }
    }
  }
}

TEST(Decapsulate, DoesNotVerifyPartialChecksumsOfThisHost) {
  Node node;
  Packet packet = node.buffers.Make(FromPeer().WrongUdpChecksum().Build());
  packet.checksum = ChecksumState::kPartial;
  EXPECT_EQ(node.Decapsulate(packet).verdict, Verdict::kForward);
}

TEST(Decapsulate, APeerAcceptsEncapsulatedPackets) {
  ForwarderConfig peer_config = DefaultConfig();
  peer_config.local.outer_source = Ip("192.0.2.1");
  peer_config.local.mac = Mac("02:00:00:00:00:01");
  peer_config.own_subnets = {Prefix("10.244.1.0/24"), Prefix("fd00:1::/64")};
  peer_config.peer_check = PeerCheck::kStrict;
  const std::vector us{Lease("us", "10.244.2.0/24", "192.0.2.2", "02:00:00:00:00:02"),
                       Lease("us", "fd00:2::/64", "192.0.2.2", "02:00:00:00:00:02")};
  for (const auto& [from, to] :
       {std::pair{"10.244.2.9", "10.244.1.7"}, std::pair{"fd00:2::9", "fd00:1::7"}}) {
    for (const std::size_t payload : {0u, 1u, 6u, 100u, 1390u}) {
      Node here;
      Node there(peer_config, us);
      const ByteVector inner =
          PacketBuilder(from, to).Udp(9, 10).MarkEcn(Ecn::kEct0).Payload(payload).Build();
      const Packet& packet = there.Decapsulate(here.Encapsulate(inner));
      ASSERT_EQ(packet.verdict, Verdict::kForward);
      EXPECT_EQ(ShowInner(packet), Show(inner, FrameStart::kInnerIp));
    }
  }
}

}  // namespace
}  // namespace weft::dataplane
