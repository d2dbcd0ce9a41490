// SPDX-License-Identifier: Apache-2.0
#include "vxlan/describe.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/packet_builder.h"
#include "vxlan/checksum.h"

namespace weft {
namespace {

const MacAddress kA = Mac("02:00:00:00:00:0a");
const MacAddress kB = Mac("02:00:00:00:00:0b");

TEST(Describe, AWholeFrameLayerByLayer) {
  const ByteVector inner = PacketBuilder("10.244.1.2", "10.244.2.3")
                               .Tcp(40000, 443, TcpHeader::kSyn, 7, 0)
                               .DontFragment()
                               .Build();
  const ByteVector frame = VxlanBuilder(inner).MarkEcn(Ecn::kCe).BuildFrame(kA, kB);
  EXPECT_EQ(
      Describe(frame, FrameStart::kOuterEthernet),
      "Ethernet II, Src: 02:00:00:00:00:0a, Dst: 02:00:00:00:00:0b, Type: IPv4 (0x0800)\n"
      "Internet Protocol Version 4, Src: 192.0.2.1, Dst: 192.0.2.2, Len: 90, ID: 0x0000, DF, "
      "TTL: 64, ECN: CE, Protocol: UDP (17)\n"
      "User Datagram Protocol, Src Port: 50000, Dst Port: 4789, Len: 70, Checksum: none\n"
      "Virtual eXtensible Local Area Network, VNI: 4096\n"
      "Ethernet II, Src: 02:00:00:00:00:01, Dst: 02:00:00:00:00:02, Type: IPv4 (0x0800)\n"
      "Internet Protocol Version 4, Src: 10.244.1.2, Dst: 10.244.2.3, Len: 40, ID: 0x0000, DF, "
      "TTL: 64, Protocol: TCP (6)\n"
      "Transmission Control Protocol, Src Port: 40000, Dst Port: 443, Seq: 7, Ack: 0, "
      "Flags: [SYN], Win: 1024, Len: 0, Checksum: correct\n");
}

TEST(Describe, EachStartBeginsAtItsLayer) {
  const ByteVector inner = PacketBuilder("2001:db8::1", "2001:db8::2").Ping(0x1234, 5).Build();
  const VxlanBuilder outer(inner);
  const std::string ip =
      "Internet Protocol Version 6, Src: 2001:db8::1, Dst: 2001:db8::2, Payload Len: 8, "
      "Flow Label: 0x00000, Hop Limit: 64, Next Header: ICMPv6 (58)\n"
      "Internet Control Message Protocol v6, Type: Echo (ping) request (128), Code: 0, id=0x1234, "
      "seq=5, Checksum: correct\n";
  const std::string ethernet =
      "Ethernet II, Src: 02:00:00:00:00:01, Dst: 02:00:00:00:00:02, Type: IPv6 (0x86dd)\n" + ip;
  const std::string vxlan = "Virtual eXtensible Local Area Network, VNI: 4096\n" + ethernet;
  EXPECT_EQ(Describe(inner, FrameStart::kInnerIp), ip);
  EXPECT_EQ(Describe(Bytes(outer.BuildPayload()).subspan(8), FrameStart::kInnerEthernet), ethernet);
  EXPECT_EQ(Describe(outer.BuildPayload(), FrameStart::kVxlan), vxlan);
  EXPECT_TRUE(Describe(outer.Build(), FrameStart::kOuterIp).ends_with(vxlan));
  EXPECT_TRUE(Describe(outer.BuildFrame(kA, kB), FrameStart::kOuterEthernet).ends_with(vxlan));
}

struct LineRow {
  const char* description;
  ByteVector packet;
  FrameStart start;
  const char* line;  // somewhere in the description
};

TEST(Describe, Lines) {
  constexpr FrameStart kIp = FrameStart::kInnerIp;
  constexpr FrameStart kEthernet = FrameStart::kInnerEthernet;
  const ByteVector arp =
      Hex("ffffffffffff 020000000001 0806"
          "0001 0800 0604 0001 020000000001 0af40102 000000000000 0af40101");
  ByteVector reply = arp;
  StoreBe16(reply.data() + 20, 2);
  ByteVector rarp = arp;
  StoreBe16(rarp.data() + 20, 3);
  ByteVector odd_arp = arp;
  StoreBe16(odd_arp.data() + 14, 6);
  // The payload makes the pseudo-header's sum the right checksum.
  ByteVector right = PodsV4().Payload(2).PartialTransportChecksum().Build();
  StoreBe16(right.data() + 28, 0);
  const PartialSum pseudo_header =
      PseudoHeader(Ip("10.244.1.2"), Ip("10.244.2.3"), IpProtocol::kUdp, 10);
  StoreBe16(right.data() + 28, (pseudo_header + Sum(Bytes(right).subspan(20))).Checksum());
  const LineRow kRows[] = {
      {"UDP and data", PodsV4().Payload(7).Build(), kIp, "Data (7 bytes)\n"},
      {"a UDP checksum that is left to a device", PodsV4().PartialTransportChecksum().Build(), kIp,
       "Checksum: unfinished, left to a device\n"},
      {"a right one with the value of an unfinished one", right, kIp, "Checksum: correct\n"},
      {"wrong UDP checksum", PodsV4().WrongTransportChecksum().Build(), kIp,
       "Checksum: INCORRECT\n"},
      {"wrong header checksum", PodsV4().WrongHeaderChecksum().Build(), kIp,
       "header checksum INCORRECT\n"},
      {"TOS", PodsV4().Tos(46, Ecn::kEct1).Build(), kIp, ", DSCP: 46, ECN: ECT(1), "},
      {"first fragment", PodsV4().Payload(99).Fragment(0, 48).Build(), kIp,
       ", ID: 0x0000, MF, TTL"},
      {"its UDP header", PodsV4().Payload(99).Fragment(0, 48).Build(), kIp,
       "User Datagram Protocol, Src Port: 1000, Dst Port: 2000, Len: 107, Checksum: unverified\n"},
      {"half of its UDP header",
       PodsV4().Raw(IpProtocol::kUdp).Payload(Hex("0001000200ff0000")).Fragment(0, 6).Build(), kIp,
       "[Malformed UDP at offset 20: truncated. "},
      {"a first fragment longer than its datagram",
       PodsV4()
           .Raw(IpProtocol::kUdp)
           .Payload(Hex("0001000200090000 7700000000000000 00"))
           .Fragment(0, 16)
           .Build(),
       kIp, "Len: 9, Checksum: unverified\nData (1 bytes)\n"},
      {"later fragment", PodsV4().Payload(99).Fragment(48, 999).Build(), kIp,
       ", Frag Offset: 48, TTL: 64, Protocol: UDP (17)\nData (59 bytes)\n"},
      {"IPv6 fragment", PodsV6().Payload(99).Fragment(48, 999).Build(), kIp,
       "IPv6 extension headers, 8 bytes, then: UDP (17), later fragment\nData (59 bytes)\n"},
      {"IPv4 options are no extension headers", PodsV4().Ipv4Options(40).Build(), kIp,
       "Protocol: UDP (17)\nUser Datagram Protocol, "},
      {"ping", PodsV4().Ping(1, 2).Build(), kIp,
       "Internet Control Message Protocol, Type: Echo (ping) request (8), Code: 0, id=0x0001, "
       "seq=2, Checksum: correct\n"},
      {"ping's reply", PodsV4().Icmp(0, 0, 0x1234'0005).Build(), kIp, "id=0x1234, seq=5, "},
      {"IPv6 ping's reply", PodsV6().Icmp(129, 0, 0x1234'0005).Build(), kIp, "id=0x1234, seq=5, "},
      {"host unreachable", PodsV4().Icmp(3, 1, 1450).Build(), kIp, "Code: 1, Checksum"},
      {"another type's code 4", PodsV4().Icmp(12, 4, 1450).Build(), kIp, "Code: 4, Checksum"},
      {"fragmentation needed", PodsV4().Icmp(3, 4, 1450).Build(), kIp, "MTU of next hop: 1450"},
      {"packet too big", PodsV6().Icmp(2, 0, 1280).Build(), kIp, "MTU of next hop: 1280"},
      {"unknown ICMP type", PodsV4().Icmp(200, 1).Build(), kIp, "Type: 200, Code: 1"},
      {"unknown protocol", PodsV4().Raw(IpProtocol{200}).Payload(3).Build(), kIp,
       "Protocol: 200\nData (3 bytes)\n"},
      {"VLAN", PodsV4().BuildFrame(kA, kB, 100), kEthernet,
       "802.1Q Virtual LAN, PRI: 0, DEI: 0, ID: 100, Type: IPv4 (0x0800)\n"},
      {"ARP request", arp, kEthernet,
       "Address Resolution Protocol, request: Who has 10.244.1.1? Tell 10.244.1.2 "
       "(02:00:00:00:00:01)\n"},
      {"ARP reply", reply, kEthernet, "reply: 10.244.1.2 is at 02:00:00:00:00:01\n"},
      {"RARP's opcode", rarp, kEthernet,
       "Address Resolution Protocol, opcode 3, 10.244.1.2 to 10.244.1.1\n"},
      {"LLDP is data", Hex("0180c200000e 020000000099 88cc 0207"), kEthernet,
       "Type: 0x88cc\nData (2 bytes)\n"},
      {"a provider's tag", Hex("020000000001 020000000099 88a8 e065 0806"), kEthernet,
       "Type: 802.1ad Provider Bridge (0x88a8)\n"
       "802.1Q Virtual LAN, PRI: 7, DEI: 0, ID: 101, Type: ARP (0x0806)\n"},
      {"SCTP is named", PodsV4().Raw(IpProtocol::kSctp).Payload(4).Build(), kIp,
       "Protocol: SCTP (132)\nData (4 bytes)\n"},
      {"ICMPv6's number inside IPv4", PodsV4().Raw(IpProtocol::kIcmpV6).Payload(8).Build(), kIp,
       "Internet Control Message Protocol v6, Type: 0, Code: 1, Checksum: unverified\n"},
      {"a UDP length that not even the first fragment has",
       PodsV4()
           .Raw(IpProtocol::kUdp)
           .Payload(Hex("0001000200070000 00000000 00000000"))
           .Fragment(0, 8)
           .Build(),
       kIp, "[Malformed UDP at offset 20: bad_udp_length. "},
      {"neither IPv4 nor IPv6", Hex("10"), kIp, "[Malformed IP at offset 0: bad_version. "},
      {"nothing", {}, kIp, "[Malformed IP at offset 0: truncated. "},
      {"ARP for other hardware", odd_arp, kEthernet,
       "[Malformed ARP at offset 14: not_ethernet_ipv4_arp. "},
      {"reserved VXLAN bits", VxlanBuilder(PodsV4().Build()).ReservedBitsSet().BuildPayload(),
       FrameStart::kVxlan, "VNI: 4096, Flags: 0xff, reserved bits set\n"},
      {"reserved flags", VxlanBuilder(PodsV4().Build()).Flags(0x88).BuildPayload(),
       FrameStart::kVxlan, "VNI: 4096, Flags: 0x88, reserved bits set\n"},
      {"the last reserved byte", Hex("0800000000100001"), FrameStart::kVxlan,
       "VNI: 4096, Flags: 0x08, reserved bits set\n"},
      {"no I flag", VxlanBuilder(PodsV4().Build()).Flags(0).BuildPayload(), FrameStart::kVxlan,
       "[Malformed VXLAN at offset 0: no_vni_flag. "},
      {"no I flag in a whole packet", VxlanBuilder(PodsV4().Build()).Flags(0).Build(),
       FrameStart::kOuterIp, "[Malformed VXLAN at offset 28: no_vni_flag. "},
      {"Linux's port", VxlanBuilder(PodsV4().Build()).Ports(50000, 8472).Build(),
       FrameStart::kOuterIp, "VNI: 4096"},
      {"another port, by its content", VxlanBuilder(PodsV4().Build()).Ports(50000, 9999).Build(),
       FrameStart::kOuterIp, "VNI: 4096"},
      {"Linux's port without the I flag",
       VxlanBuilder(PodsV4().Build()).Ports(50000, 8472).Flags(0).Build(), FrameStart::kOuterIp,
       "[Malformed VXLAN at offset 28: no_vni_flag. "},
      {"first fragment of VXLAN",
       VxlanBuilder(PodsV4().Payload(99).Build()).Fragment(0, 48).Build(), FrameStart::kOuterIp,
       "Checksum: unverified\nData (40 bytes)\n"},
      {"another port, no I flag", PodsV4().Payload(ByteVector(30)).Build(), FrameStart::kOuterIp,
       "\nData (30 bytes)\n"},
      {"another port, too short", PodsV4().Payload(Hex("0800000000100000")).Build(),
       FrameStart::kOuterIp, "\nData (8 bytes)\n"},
      {"another port, reserved bits",
       PodsV4().Payload(Concatenate(Hex("0800000000100001"), ByteVector(22))).Build(),
       FrameStart::kOuterIp, "\nData (30 bytes)\n"},
      {"inner packet cut off", Cut(VxlanBuilder(PodsV4().Build()).BuildPayload(), 30),
       FrameStart::kVxlan, "[Malformed IPv4 at offset 22: truncated. "},
      {"EtherType and version",
       VxlanBuilder(PodsV4().Build()).InnerEtherType(0x86dd).BuildPayload(), FrameStart::kVxlan,
       "[Malformed IP at offset 22: ether_type_mismatch. "},
      {"TCP cut off", PodsV4().Raw(IpProtocol::kTcp).Payload(19).Build(), kIp,
       "[Malformed TCP at offset 20: truncated. "},
      {"UDP length", PodsV4().Raw(IpProtocol::kUdp).Payload(Hex("0001000200090000")).Build(), kIp,
       "[Malformed UDP at offset 20: bad_udp_length. "},
      {"ICMP cut off", PodsV4().Raw(IpProtocol::kIcmp).Payload(3).Build(), kIp,
       "[Malformed ICMP at offset 20: truncated. "},
      {"IPv6 extension cut off", PodsV6().Raw(IpProtocol::kHopByHop).Payload(4).Build(), kIp,
       "[Malformed IPv6 extension headers at offset 0: truncated. "},
  };
  for (const LineRow& row : kRows) {
    const std::string text = Describe(row.packet, row.start);
    EXPECT_NE(text.find(row.line), std::string::npos) << row.description << "\n" << text;
    EXPECT_EQ(text.find("[Malformed"), text.rfind("[Malformed")) << "refused once\n" << text;
  }
}

TEST(Describe, VxlanInsideVxlanIsData) {
  const ByteVector once = VxlanBuilder(PacketBuilder("10.0.0.1", "10.0.0.2").Build()).Build();
  const std::string text = Describe(VxlanBuilder(once).Build(), FrameStart::kOuterIp);
  EXPECT_EQ(text.find("VNI"), text.rfind("VNI")) << text;
}

constexpr FrameStart kStarts[] = {FrameStart::kOuterEthernet, FrameStart::kOuterIp,
                                  FrameStart::kVxlan, FrameStart::kInnerEthernet,
                                  FrameStart::kInnerIp};

TEST(Describe, EveryTruncationOfEveryStartIsDescribed) {
  const ByteVector inner = PacketBuilder("10.244.1.2", "10.244.2.3").Tcp(1, 2).Build();
  const ByteVector frame = VxlanBuilder(inner).BuildFrame(kA, kB);
  for (std::size_t size = 0; size <= frame.size(); ++size) {
    // A separate copy: the sanitizer detects a read past the end.
    const ByteVector cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
    for (const FrameStart start : kStarts) {
      const std::string text = Describe(cut, start);
      ASSERT_TRUE(text.ends_with('\n')) << size;
    }
  }
}

TEST(Describe, GarbageIsDescribed) {
  constexpr unsigned kSeed = 4789;
  std::mt19937 random(kSeed);
  SCOPED_TRACE(kSeed);
  const ByteVector inner = PacketBuilder("2001:db8::1", "2001:db8::2").Tcp(1, 2).Build();
  const ByteVector frame = VxlanBuilder(inner).BuildFrame(kA, kB);
  for (int round = 0; round < 5000; ++round) {
    ByteVector changed = frame;
    for (int change = 0; change < 3; ++change) {
      changed[random() % changed.size()] = static_cast<std::byte>(random() & 0xff);
    }
    for (const FrameStart start : kStarts) ASSERT_TRUE(Describe(changed, start).ends_with('\n'));
  }
}

}  // namespace
}  // namespace weft
