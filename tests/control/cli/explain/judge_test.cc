// SPDX-License-Identifier: Apache-2.0
// A good frame and each kind of bad one, in both directions, judged from win-1 of the samples
// (10.244.4.0/24, 192.0.2.4, 00:15:5d:00:00:04).
#include "control/cli/explain/judge.h"

#include "control/cli/explain/frame.h"
#include "gmock/gmock.h"
#include "tests/control/admin/samples.h"
#include "tests/support/packet_builder.h"
#include "vxlan/checksum.h"
#include "vxlan/inner_frame.h"

namespace weft::cli {
namespace {

using dataplane::PeerCheck;
using dataplane::Verdict;
using ::testing::HasSubstr;

const MacAddress kOurs = Mac("00:15:5d:00:00:04");
const MacAddress kLinux1 = Mac("5e:00:00:00:00:01");
const MacAddress kForeign = Mac("02:00:00:00:00:99");

PacketBuilder ToUs() { return {"10.244.1.5", "10.244.4.7"}; }
VxlanBuilder FromLinux1(ByteVector inner) {
  return VxlanBuilder(std::move(inner)).Outer("192.0.2.1", "192.0.2.4").Macs(kLinux1, kOurs);
}

// With a VLAN tag after the MAC addresses.
ByteVector Tagged(ByteVector frame) {
  const ByteVector tag = Hex("8100 0007");
  frame.insert(frame.begin() + 12, tag.begin(), tag.end());
  return frame;
}

struct Row {
  const char* description;
  FrameStart start;
  ByteVector frame;
  Verdict verdict;
  const char* reason;  // part of one of the reasons; empty: the drop's own sentence suffices
};

std::string Joined(const std::vector<std::string>& reasons) {
  std::string text;
  for (const std::string& reason : reasons) text += reason + "\n";
  return text;
}

void Check(const Row& row) {
  SCOPED_TRACE(row.description);
  const auto judgement = Judge(row.frame, row.start, admin::SampleLeases(), {});
  ASSERT_TRUE(judgement.ok()) << judgement.status();
  EXPECT_EQ(Name(judgement->verdict), Name(row.verdict));
  EXPECT_THAT(Joined(judgement->reasons), HasSubstr(row.reason));
  EXPECT_EQ(judgement->reasons.empty(), *row.reason == '\0');
}

TEST(JudgeTest, WireToPod) {
  const ByteVector inner = ToUs().Build();
  const Row rows[] = {
      {"good", FrameStart::kOuterIp, FromLinux1(inner).Build(), Verdict::kForward,
       "outer source 192.0.2.1 is the public IP of linux-1"},
      {"good, with outer Ethernet", FrameStart::kOuterEthernet,
       FromLinux1(inner).BuildFrame(kForeign, kForeign), Verdict::kForward,
       "28 bytes go to the pods"},
      {"good, with outer Ethernet and a VLAN tag", FrameStart::kOuterEthernet,
       Tagged(FromLinux1(inner).BuildFrame(kForeign, kForeign)), Verdict::kForward,
       "28 bytes go to the pods"},
      {"good, from VXLAN on", FrameStart::kVxlan, FromLinux1(inner).BuildPayload(),
       Verdict::kForward, "the frame has no outer source"},
      {"good, from another address of linux-1", FrameStart::kOuterIp,
       FromLinux1(inner).Outer("198.51.100.1", "192.0.2.4").Build(), Verdict::kForward,
       "198.51.100.1 is no lease's public IP"},
      {"outer truncated", FrameStart::kOuterIp, ByteVector(10, std::byte{0x45}),
       Verdict::kOuterMalformed, ""},
      {"outer UDP checksum", FrameStart::kOuterIp, FromLinux1(inner).WrongUdpChecksum().Build(),
       Verdict::kOuterChecksum, ""},
      {"outer fragment", FrameStart::kOuterIp,
       FromLinux1(inner).DontFragment(false).Fragment(0, 32).Build(), Verdict::kOuterFragment, ""},
      {"TCP, its checksum left to the device", FrameStart::kOuterIp,
       PacketBuilder("192.0.2.1", "192.0.2.4").Tcp(1, 2).PartialTransportChecksum().Build(),
       Verdict::kNotVxlan, ""},
      {"another port", FrameStart::kOuterIp, FromLinux1(inner).Ports(50000, 8472).Build(),
       Verdict::kNotVxlan, "UDP destination port 8472; VXLAN is on 4789"},
      {"no I flag", FrameStart::kOuterIp, FromLinux1(inner).Flags(0).Build(), Verdict::kNotVxlan,
       ""},
      {"no I flag, from VXLAN on", FrameStart::kVxlan, FromLinux1(inner).Flags(0).BuildPayload(),
       Verdict::kNotVxlan, ""},
      {"another VNI", FrameStart::kOuterIp, FromLinux1(inner).Network(1).Build(),
       Verdict::kForeignVni, "the frame's VNI is 1; that of win-1 is 4096"},
      {"another MAC", FrameStart::kOuterIp, FromLinux1(inner).Macs(kLinux1, kForeign).Build(),
       Verdict::kForeignMac,
       "inner destination MAC 02:00:00:00:00:99; win-1 publishes 00:15:5d:00:00:04"},
      {"another node's MAC", FrameStart::kOuterIp, FromLinux1(inner).Macs(kLinux1, kLinux1).Build(),
       Verdict::kForeignMac, "(the VTEP MAC of linux-1)"},
      {"another subnet", FrameStart::kOuterIp,
       FromLinux1(PacketBuilder("10.244.1.5", "10.244.5.7").Build()).Build(),
       Verdict::kForeignSubnet,
       "inner destination 10.244.5.7; the lease of win-1 is 10.244.4.0/24"},
      {"our own pods as the source", FrameStart::kOuterIp,
       FromLinux1(PacketBuilder("10.244.4.9", "10.244.4.7").Build()).Build(), Verdict::kOwnSource,
       "inner source 10.244.4.9 lies in 10.244.4.0/24, the lease of win-1 itself"},
      {"an unknown VTEP", FrameStart::kOuterIp,
       FromLinux1(inner).Outer("198.51.100.1", "192.0.2.4").Macs(kForeign, kOurs).Build(),
       Verdict::kUnknownPeer, "198.51.100.1 is no lease's public IP"},
      {"a pod of ours", FrameStart::kOuterIp,
       FromLinux1(inner).Outer("10.244.4.9", "192.0.2.4").Build(), Verdict::kPodSource,
       "outer source 10.244.4.9 is no lease's public IP"},
      {"a node whose lease is not used", FrameStart::kOuterIp,
       FromLinux1(PacketBuilder("10.244.2.5", "10.244.4.7").Build())
           .Outer("192.0.2.2", "192.0.2.4")
           .Build(),
       Verdict::kUnknownPeer, "inner source 10.244.2.5 lies in no lease that is used"},
      {"inner malformed", FrameStart::kOuterIp, FromLinux1(ByteVector(12, std::byte{0x45})).Build(),
       Verdict::kInnerMalformed, ""},
      {"ARP inside", FrameStart::kOuterIp, FromLinux1(inner).InnerEtherType(0x0806).Build(),
       Verdict::kNotIp, ""},
      {"a VLAN tag inside", FrameStart::kOuterIp,
       VxlanBuilder::AroundFrame(ToUs().BuildFrame(kLinux1, kOurs, 7))
           .Outer("192.0.2.1", "192.0.2.4")
           .Build(),
       Verdict::kVlanTagged, ""},
      {"congestion that the pods do not support", FrameStart::kOuterIp,
       FromLinux1(inner).MarkEcn(Ecn::kCe).Build(), Verdict::kEcnIllegal, ""},
  };
  for (const Row& row : rows) Check(row);
}

TEST(JudgeTest, PodToWire) {
  const auto to = [](const char* destination) { return PacketBuilder("10.244.4.7", destination); };
  const Row rows[] = {
      {"good", FrameStart::kInnerIp, to("10.244.1.5").Build(), Verdict::kForward,
       "10.244.1.5 lies in 10.244.1.0/24, the lease of linux-1"},
      {"good: the outer packet is described", FrameStart::kInnerIp, to("10.244.1.5").Build(),
       Verdict::kForward, " bytes, 192.0.2.4 to 192.0.2.1 port 4789, VNI 4096"},
      {"good: the inner MACs are described", FrameStart::kInnerIp, to("10.244.1.5").Build(),
       Verdict::kForward, "inner MAC addresses 00:15:5d:00:00:04 to 5e:00:00:00:00:01"},
      {"good: the room is described", FrameStart::kInnerIp, to("10.244.1.5").Build(),
       Verdict::kForward, "the inner packet has 28 bytes; 1450 fit (outer MTU 1500 less 50 bytes"},
      {"good, with inner Ethernet", FrameStart::kInnerEthernet,
       to("10.244.1.5").BuildFrame(kForeign, kOurs), Verdict::kForward, "the lease of linux-1"},
      {"no lease", FrameStart::kInnerIp, to("10.99.0.1").Build(), Verdict::kNoRoute,
       "10.99.0.1 lies in none of the 2 leases that win-1 uses"},
      {"a lease that is not used", FrameStart::kInnerIp, to("10.244.2.5").Build(),
       Verdict::kNoRoute,
       "10.244.2.5 lies in 10.244.2.0/24, the lease of linux-2, which is missing-mac: "},
      {"own subnet", FrameStart::kInnerIp, to("10.244.4.9").Build(), Verdict::kOwnSubnet,
       "10.244.4.9 lies in 10.244.4.0/24, the lease of win-1 itself"},
      {"multicast", FrameStart::kInnerIp, to("224.0.0.1").Build(), Verdict::kGroupDestination,
       "the destination is 224.0.0.1"},
      {"too big", FrameStart::kInnerIp, to("10.244.1.5").TotalLength(1451).Build(),
       Verdict::kTooBig, "the inner packet has 1451 bytes; 1450 fit"},
      {"too big, and an ICMP error itself", FrameStart::kInnerIp,
       to("10.244.1.5").Icmp(3, 4).TotalLength(1451).Build(), Verdict::kTooBigSilent, "1450 fit"},
      {"TTL", FrameStart::kInnerIp, to("10.244.1.5").PartialTransportChecksum().Ttl(0).Build(),
       Verdict::kTtlExpired, ""},
      {"malformed", FrameStart::kInnerIp, ByteVector(12, std::byte{0x45}), Verdict::kInnerMalformed,
       ""},
      {"nothing", FrameStart::kInnerIp, ByteVector(), Verdict::kInnerMalformed, ""},
      {"not IP", FrameStart::kInnerIp, ByteVector(40, std::byte{0x10}), Verdict::kNotIp, ""},
      {"a VLAN tag", FrameStart::kInnerEthernet, to("10.244.1.5").BuildFrame(kForeign, kOurs, 7),
       Verdict::kVlanTagged, ""},
      {"an Ethernet header cut short", FrameStart::kInnerEthernet, ByteVector(9, std::byte{2}),
       Verdict::kInnerMalformed, ""},
      {"ARP", FrameStart::kInnerEthernet, Hex("ffffffffffff 020000000099 0806 0001"),
       Verdict::kConsumed, ""},
      {"LLDP", FrameStart::kInnerEthernet, Hex("0180c200000e 020000000099 88cc 0207"),
       Verdict::kNotIp, ""},
  };
  for (const Row& row : rows) Check(row);
}

// The outer UDP checksum as the sending host's stack leaves it to a device: the sum of the
// pseudo-header alone.
ByteVector Unfinished(ByteVector outer) {
  const auto ip = ParseInnerIp(outer);
  const std::uint32_t udp = ip->header_length;
  StoreBe16(outer.data() + udp + 6,
            PseudoHeader(ip->source(), ip->destination(), IpProtocol::kUdp, ip->total_length - udp)
                .Fold());
  return outer;
}

TEST(JudgeTest, AnOuterChecksumThatADeviceCompletesIsNotWrong) {
  const ByteVector good = Unfinished(FromLinux1(ToUs().Build()).UdpChecksum().Build());
  ByteVector padded = good;
  padded.resize(padded.size() + 4);
  ByteVector wrong = good;
  wrong[27] ^= std::byte{1};
  const Row rows[] = {
      {"unfinished", FrameStart::kOuterIp, good, Verdict::kForward,
       "the outer UDP checksum is unfinished, as a capture on the sending host shows it"},
      {"unfinished, and padded by Ethernet", FrameStart::kOuterIp, padded, Verdict::kForward,
       "the outer UDP checksum is unfinished"},
      {"wrong", FrameStart::kOuterIp, wrong, Verdict::kOuterChecksum, ""},
      {"unfinished, and dropped for another reason", FrameStart::kOuterIp,
       Unfinished(FromLinux1(ToUs().Build()).UdpChecksum().Network(1).Build()),
       Verdict::kForeignVni, "the frame's VNI is 1"},
  };
  for (const Row& row : rows) Check(row);
}

// Half of every capture on a node is what the node itself sent.
TEST(JudgeTest, WhatThisNodeSentIsJudgedOnItsWayToTheWire) {
  const auto ours = [](const char* destination, const char* outer = "192.0.2.1") {
    return VxlanBuilder(PacketBuilder("10.244.4.7", destination).Build())
        .Outer("192.0.2.4", outer)
        .Macs(kOurs, kLinux1);
  };
  const ByteVector good = ours("10.244.1.5").Build();
  const Row rows[] = {
      {"good", FrameStart::kOuterIp, good, Verdict::kForward, "win-1 sent this frame itself"},
      {"its checksum left to the device", FrameStart::kOuterIp,
       Unfinished(ours("10.244.1.5").UdpChecksum().Build()), Verdict::kForward,
       "10.244.1.5 lies in 10.244.1.0/24, the lease of linux-1"},
      {"from VXLAN on, known by the MAC", FrameStart::kVxlan, ours("10.244.1.5").BuildPayload(),
       Verdict::kForward, "win-1 sent this frame itself"},
      {"from another of our addresses, known by the MAC", FrameStart::kOuterIp,
       ours("10.244.1.5").Outer("198.51.100.9", "192.0.2.1").Build(), Verdict::kForward,
       "win-1 sent this frame itself"},
      {"from another MAC address, known by ours", FrameStart::kOuterIp,
       ours("10.244.1.5").Macs(kForeign, kLinux1).Build(), Verdict::kForward,
       "win-1 sent this frame itself"},
      {"malformed", FrameStart::kOuterIp,
       FromLinux1(ByteVector(12, std::byte{0x45}))
           .Outer("192.0.2.4", "192.0.2.1")
           .Macs(kOurs, kLinux1)
           .Build(),
       Verdict::kInnerMalformed, "win-1 sent this frame itself"},
      {"to where the peer was", FrameStart::kOuterIp, ours("10.244.1.5", "192.0.2.77").Build(),
       Verdict::kForward, "it was sent to 192.0.2.77, which is not the public IP of linux-1 now"},
      {"to a removed peer", FrameStart::kOuterIp, ours("10.99.0.1").Build(), Verdict::kNoRoute,
       "10.99.0.1 lies in none of the 2 leases"},
  };
  for (const Row& row : rows) Check(row);
  const auto judgement = Judge(good, FrameStart::kOuterIp, admin::SampleLeases(), {});
  EXPECT_TRUE(judgement->outbound);
  EXPECT_THAT(Joined(judgement->reasons), ::testing::Not(HasSubstr("it was sent to")));
}

TEST(JudgeTest, WhatCannotBeKnownAsOurFrameIsIncoming) {
  for (const char* const inner : {"5e0000000001 00155d000004 0800",          // and nothing more
                                  "5e0000000001 00155d000004 8100 0000"}) {  // a tag cut short
    const ByteVector frame =
        VxlanBuilder::AroundFrame(Hex(inner)).Outer("192.0.2.4", "192.0.2.1").Build();
    EXPECT_FALSE(Judge(frame, FrameStart::kOuterIp, admin::SampleLeases(), {})->outbound) << inner;
  }
  admin::LeaseList list = admin::SampleLeases();
  list.leases[3].v4->public_ip.reset();
  const ByteVector payload = FromLinux1(ToUs().Build()).Macs(kLinux1, kForeign).BuildPayload();
  EXPECT_FALSE(Judge(payload, FrameStart::kVxlan, list, {})->outbound);
}

// A frame with our address or MAC as its source may be forged: a frame to us is incoming.
TEST(JudgeTest, AFrameToUsWithOurSourceIsIncoming) {
  const ByteVector frame =
      FromLinux1(ToUs().Build()).Outer("192.0.2.4", "192.0.2.4").Macs(kOurs, kOurs).Build();
  const auto judgement = Judge(frame, FrameStart::kOuterIp, admin::SampleLeases(), {});
  ASSERT_TRUE(judgement.ok()) << judgement.status();
  EXPECT_FALSE(judgement->outbound);
}

TEST(JudgeTest, TheLinksMtuAndThePeerCheckAreApplied) {
  const ByteVector jumbo = PacketBuilder("10.244.4.7", "10.244.1.5").TotalLength(8000).Build();
  EXPECT_EQ(Judge(jumbo, FrameStart::kInnerIp, admin::SampleLeases(), {})->verdict,
            Verdict::kTooBig);
  EXPECT_EQ(Judge(jumbo, FrameStart::kInnerIp, admin::SampleLeases(),
                  {.link_mtu = *OuterMtu::From(9000), .peer_check = PeerCheck::kLease})
                ->verdict,
            Verdict::kForward);
  const ByteVector elsewhere =
      FromLinux1(ToUs().Build()).Outer("198.51.100.1", "192.0.2.4").Build();
  EXPECT_EQ(Judge(elsewhere, FrameStart::kOuterIp, admin::SampleLeases(),
                  {.link_mtu = *OuterMtu::From(1500), .peer_check = PeerCheck::kStrict})
                ->verdict,
            Verdict::kUnknownPeer);
}

TEST(JudgeTest, WithoutAVerdictItNamesWhatIsMissing) {
  const ByteVector v6 = PacketBuilder("fd00:244:4::7", "fd00:244:1::5").Build();
  EXPECT_THAT(
      std::string(Judge(v6, FrameStart::kInnerIp, admin::SampleLeases(), {}).status().message()),
      HasSubstr("no IPv6 lease of this node is in kubernetes https://10.96.0.1:443; with "
                "--from, name this node with --node-name"));
  admin::LeaseList list = admin::SampleLeases();
  list.leases[3].v4->vtep_mac.reset();
  const ByteVector v4 = PacketBuilder("10.244.4.7", "10.244.1.5").Build();
  EXPECT_THAT(std::string(Judge(v4, FrameStart::kInnerIp, list, {}).status().message()),
              HasSubstr("win-1 has published no VTEP MAC"));
  const ByteVector arp = Hex("ffffffffffff 020000000099 0806 0001");
  EXPECT_THAT(std::string(Judge(arp, FrameStart::kOuterEthernet, list, {}).status().message()),
              HasSubstr("it never reaches the tunnel"));
  const ByteVector large(70'000, std::byte{0x45});
  EXPECT_THAT(
      std::string(Judge(large, FrameStart::kInnerIp, admin::SampleLeases(), {}).status().message()),
      HasSubstr("the frame has 70000 bytes; no port delivers more than"));
}

TEST(JudgeTest, EachFamilyHasItsOwnTunnel) {
  admin::LeaseList list = admin::SampleLeases();
  list.leases[3].v6 = list.leases[0].v6;
  list.leases[3].v6->state = "self";
  list.leases[3].v6->subnet = *IpPrefix::Parse("fd00:244:4::/64");
  list.leases[3].v6->vtep_mac = kOurs;
  list.leases[3].v6->public_ip = Ip("2001:db8::4");
  const auto out = Judge(PacketBuilder("fd00:244:4::7", "fd00:244:1::5").Build(),
                         FrameStart::kInnerIp, list, {});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->verdict, Verdict::kForward);
  EXPECT_THAT(Joined(out->reasons), HasSubstr("1430 fit (outer MTU 1500 less 70"));
  const auto frame =
      Judge(PacketBuilder("fd00:244:4::7", "fd00:244:1::5").BuildFrame(kForeign, kOurs),
            FrameStart::kInnerEthernet, list, {});
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->verdict, Verdict::kForward);
  const ByteVector back = VxlanBuilder(PacketBuilder("fd00:244:1::5", "fd00:244:4::7").Build())
                              .Outer("2001:db8::1", "2001:db8::4")
                              .Macs(Mac("5e:00:00:00:06:01"), kOurs)
                              .UdpChecksum()
                              .Build();
  EXPECT_EQ(Judge(back, FrameStart::kOuterIp, list, {})->verdict, Verdict::kForward);
}

// In the last byte of the VXLAN header.
ByteVector WithReservedBit(ByteVector payload) {
  payload[7] = std::byte{1};
  return payload;
}

struct GuessRow {
  const char* description;
  ByteVector frame;
  FrameStart start;
};

TEST(FrameStartTest, Guesses) {
  const ByteVector inner = ToUs().Build();
  const GuessRow rows[] = {
      {"outer IP", FromLinux1(inner).Build(), FrameStart::kOuterIp},
      {"outer Ethernet", FromLinux1(inner).BuildFrame(kOurs, kForeign), FrameStart::kOuterEthernet},
      {"port 8472", FromLinux1(inner).Ports(50000, 8472).Build(), FrameStart::kOuterIp},
      {"another port", FromLinux1(inner).Ports(50000, 14789).Build(), FrameStart::kOuterIp},
      {"another port, in Ethernet",
       FromLinux1(inner).Ports(50000, 14789).BuildFrame(kOurs, kForeign),
       FrameStart::kOuterEthernet},
      {"another port without the I flag", FromLinux1(inner).Ports(50000, 53).Flags(0).Build(),
       FrameStart::kInnerIp},
      {"the same in Ethernet",
       FromLinux1(inner).Ports(50000, 53).Flags(0).BuildFrame(kOurs, kForeign),
       FrameStart::kInnerEthernet},
      {"VXLAN", FromLinux1(inner).BuildPayload(), FrameStart::kVxlan},
      {"VXLAN around IPv6", FromLinux1(PacketBuilder("fd00::1", "fd00::2").Build()).BuildPayload(),
       FrameStart::kVxlan},
      {"VXLAN around a VLAN tag",
       VxlanBuilder::AroundFrame(ToUs().BuildFrame(kLinux1, kOurs, 7)).BuildPayload(),
       FrameStart::kVxlan},
      {"VXLAN around ARP", FromLinux1(inner).InnerEtherType(0x0806).BuildPayload(),
       FrameStart::kVxlan},
      {"VXLAN around LLDP", FromLinux1(inner).InnerEtherType(0x88cc).BuildPayload(),
       FrameStart::kInnerEthernet},
      {"VXLAN without the I flag", FromLinux1(inner).Flags(0).BuildPayload(),
       FrameStart::kInnerEthernet},
      {"VXLAN with a reserved bit", WithReservedBit(FromLinux1(inner).BuildPayload()),
       FrameStart::kInnerEthernet},
      {"inner IP", inner, FrameStart::kInnerIp},
      {"inner IPv6", PacketBuilder("fd00::1", "fd00::2").Build(), FrameStart::kInnerIp},
      {"inner Ethernet", ToUs().BuildFrame(kOurs, kForeign), FrameStart::kInnerEthernet},
      {"ARP", Hex("ffffffffffff 020000000099 0806 0001"), FrameStart::kInnerEthernet},
      {"IP cut short", Hex("4500 0054 0000"), FrameStart::kInnerIp},
      {"IPv6 cut short", Hex("6000 0000 0014"), FrameStart::kInnerIp},
      {"a MAC address that begins with 4", Hex("450000000001 020000000099 0806 0001"),
       FrameStart::kInnerEthernet},
      {"nothing known", Hex("00"), FrameStart::kInnerEthernet},
      {"nothing", {}, FrameStart::kInnerEthernet},
  };
  for (const GuessRow& row : rows) {
    EXPECT_EQ(Name(GuessFrameStart(row.frame)), Name(row.start)) << row.description;
  }
  const ByteVector header = Hex("08000000 00000000");
  for (std::size_t size = 0; size <= header.size(); ++size)
    EXPECT_EQ(GuessFrameStart(Bytes(header).first(size)), FrameStart::kInnerEthernet) << size;
}

TEST(FrameStartTest, NamesAreReadBack) {
  for (const char* name : {"outer-ethernet", "outer-ip", "vxlan", "inner-ethernet", "inner-ip"}) {
    ASSERT_TRUE(ParseFrameStart(name).has_value()) << name;
    EXPECT_EQ(Name(*ParseFrameStart(name)), name);
  }
  EXPECT_FALSE(ParseFrameStart("guess").has_value());
}

}  // namespace
}  // namespace weft::cli
