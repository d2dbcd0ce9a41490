// SPDX-License-Identifier: Apache-2.0
// Superframes sent whole: the headers' bytes, and what leaves the host in a separate network
// namespace, compared with what the same superframe becomes when it is cut here.
#include "dataplane/ports/tunnel_gso_linux.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <linux/ethtool.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <source_location>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/offload.h"
#include "dataplane/ports/udp_paths_linux.h"
#include "dataplane/ports/udp_port.h"
#include "tests/dataplane/ports/packet_socket.h"
#include "tests/support/netns.h"
#include "tests/support/packet_builder.h"
#include "tests/support/test_path.h"
#include "tests/support/wait.h"
#include "vxlan/encapsulation.h"
#include "vxlan/outer_packet.h"

namespace weft::dataplane {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kBefore = EncapsulationTemplate::kPayloadSize;
constexpr std::uint16_t kSegment = 1300;

// As Forwarder::Encapsulate leaves one for a datagram wire.
Packet Superframe(PacketSlab& slab, const ByteVector& inner, IpProtocol protocol,
                  const IpAddress& destination) {
  Packet packet = slab.Lend(0);
  std::copy(inner.begin(), inner.end(), packet.data);
  packet.length = static_cast<std::uint32_t>(inner.size());
  packet.tailroom = kMaxPacket - packet.length;
  packet.segmentation = protocol == IpProtocol::kTcp ? Segmentation::kTcp : Segmentation::kUdp;
  packet.segment_size = kSegment;
  packet.checksum = ChecksumState::kPartial;
  packet.checksum_offset = protocol == IpProtocol::kTcp ? 16 : 6;
  const bool v4 = Load8(packet.data) >> 4 == 4;
  EncapsulationSpec spec;
  spec.outer_source = destination.is_v4() ? Ip("10.0.0.1") : Ip("fd00::1");
  spec.outer_destination = destination;
  spec.inner_source = Mac("02:00:00:00:01:01");
  spec.inner_destination = Mac("02:00:00:00:01:02");
  EncapsulationTemplate(spec).StampPayload(packet.Push(kBefore),
                                           v4 ? EtherType::kIpv4 : EtherType::kIpv6);
  packet.inner_offset = kBefore;
  packet.checksum_start = static_cast<std::uint16_t>(kBefore + (v4 ? 20 : 40));
  packet.outer_address = destination;
  packet.outer_port = 50'000;
  packet.outer_ecn = 2;
  return packet;
}

ByteVector Tcp(std::string_view from, std::string_view to, std::uint16_t flags = TcpHeader::kAck) {
  return PacketBuilder(from, to)
      .Tcp(40000, 80, flags)
      .TotalLength(9000)
      .PartialTransportChecksum()
      .Build();
}
ByteVector Udp(std::string_view from, std::string_view to) {
  return PacketBuilder(from, to)
      .Udp(40000, 80)
      .TotalLength(9000)
      .PartialTransportChecksum()
      .Build();
}

TEST(TunnelGsoHeaders, OverIpv4) {
  PacketSlab slab(1);
  const Packet packet = Superframe(slab, Tcp("10.244.1.2", "10.244.2.3", TcpHeader::kCwr),
                                   IpProtocol::kTcp, Ip("10.0.0.2"));
  ASSERT_TRUE(TunnelGso::Fits(packet, IpFamily::kV4));
  const std::byte* at = WriteTunnelGsoHeaders(packet, {.source = Ip("10.0.0.1"),
                                                       .destination = Ip("10.0.0.2"),
                                                       .source_port = 50'000,
                                                       .destination_port = 4789});
  ASSERT_EQ(packet.data - at, 24 + 14 + 20 + 8);
  const ByteVector header(at, at + 24);
  // <linux/virtio_net.h>, struct virtio_net_hdr_v1_hash_tunnel; little-endian.
  EXPECT_EQ(header, (ByteVector{std::byte{0x09},  // needs checksum, tunnel checksum
                                std::byte{0xa1},  // TCPv4, ECN, tunnel over IPv4
                                std::byte{14 + 50 + 40},
                                std::byte{0},  // header length
                                std::byte{0x14},
                                std::byte{0x05},  // 1300
                                std::byte{14 + 50 + 20},
                                std::byte{0},  // checksum start
                                std::byte{16},
                                std::byte{0},  // and offset
                                std::byte{0},
                                std::byte{0},
                                std::byte{0},
                                std::byte{0},
                                std::byte{0},
                                std::byte{0},
                                std::byte{0},
                                std::byte{0},
                                std::byte{0},
                                std::byte{0},
                                std::byte{14 + 20},
                                std::byte{0},  // outer transport header
                                std::byte{14 + 50},
                                std::byte{0}}));  // inner network header
  const std::byte* ip = at + 24 + 14;
  EXPECT_EQ(LoadBe16(ip - 2), 0x0800);
  EXPECT_EQ(LoadBe16(ip), 0x4502);
  EXPECT_EQ(LoadBe16(ip + 2), packet.length + 28);
  EXPECT_EQ(LoadBe32(ip + 4), 0x4000u);
  EXPECT_EQ(LoadBe16(ip + 8), 64 << 8 | 17);
  EXPECT_TRUE(Sum(Bytes(ip, 20)).IsRight());
  EXPECT_EQ(LoadBe32(ip + 12), 0x0a00'0001u);
  EXPECT_EQ(LoadBe32(ip + 16), 0x0a00'0002u);
  EXPECT_EQ(LoadBe32(ip + 20), 50'000u << 16 | 4789);
  EXPECT_EQ(LoadBe16(ip + 24), packet.length + 8);
  EXPECT_EQ(LoadBe16(ip + 26),
            PseudoHeaderV4(0x0a00'0001, 0x0a00'0002, IpProtocol::kUdp, packet.length + 8).Fold());
}

TEST(TunnelGsoHeaders, WithoutChecksum) {
  PacketSlab slab(1);
  const Packet packet =
      Superframe(slab, Udp("fd01::1", "fd02::1"), IpProtocol::kUdp, Ip("10.0.0.2"));
  const std::byte* at = WriteTunnelGsoHeaders(packet, {.source = Ip("10.0.0.1"),
                                                       .destination = Ip("10.0.0.2"),
                                                       .source_port = 50'000,
                                                       .destination_port = 4789,
                                                       .udp_checksum = false});
  EXPECT_EQ(Load8(at), 0x01);
  EXPECT_EQ(Load8(at + 1), 0x25);  // UDP, tunnel over IPv4
  EXPECT_EQ(LoadBe16(at + 24 + 14 + 26), 0);
}

TEST(TunnelGsoHeaders, OverIpv6TheChecksumIsKept) {
  PacketSlab slab(1);
  const Packet packet =
      Superframe(slab, Tcp("fd01::1", "fd02::1"), IpProtocol::kTcp, Ip("fd00::2"));
  ASSERT_TRUE(TunnelGso::Fits(packet, IpFamily::kV6));
  const std::byte* at = WriteTunnelGsoHeaders(packet, {.source = Ip("fd00::1"),
                                                       .destination = Ip("fd00::2"),
                                                       .source_port = 50'000,
                                                       .destination_port = 4789,
                                                       .udp_checksum = false});
  ASSERT_EQ(packet.data - at, 24 + 14 + 40 + 8);
  EXPECT_EQ(Load8(at), 0x09);
  EXPECT_EQ(Load8(at + 1), 0x44);
  EXPECT_EQ(LoadBe32(at + 24 + 14), 0x6020'0000u);
  EXPECT_EQ(LoadBe16(at + 24 + 12), 0x86dd);
  EXPECT_NE(LoadBe16(at + 24 + 14 + 46), 0);
}

TEST(TunnelGsoHeaders, WhatDoesNotFit) {
  PacketSlab slab(1);
  Packet packet =
      Superframe(slab, Tcp("10.244.1.2", "10.244.2.3"), IpProtocol::kTcp, Ip("10.0.0.2"));
  packet.length = 65'535 - 28;
  EXPECT_TRUE(TunnelGso::Fits(packet, IpFamily::kV4));
  ++packet.length;
  EXPECT_FALSE(TunnelGso::Fits(packet, IpFamily::kV4));
  packet.length = 9000;
  packet.headroom = 24 + 14 + 20 + 8;
  EXPECT_TRUE(TunnelGso::Fits(packet, IpFamily::kV4));
  EXPECT_FALSE(TunnelGso::Fits(packet, IpFamily::kV6));
  packet.checksum = ChecksumState::kOnWire;
  EXPECT_FALSE(TunnelGso::Fits(packet, IpFamily::kV4));
}

// Its checksums are complete, as on a wire.
void CompleteChecksumsOf(const char* device) {
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM, 0));
  ethtool_value off{ETHTOOL_STXCSUM, 0};
  ifreq request{};
  std::strncpy(request.ifr_name, device, IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&off);
  EXPECT_EQ(::ioctl(socket.get(), SIOCETHTOOL, &request), 0);
}

// For this thread alone: /sys has the devices of its network namespace.
void ShowDevicesInSysfs() {
  ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
  ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
  ASSERT_EQ(::mount("sysfs", "/sys", "sysfs", 0, nullptr), 0);
}

// "near0" has 10.0.0.1 and fd00::1; what leaves it is read from "far0".
class TunnelGsoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(EnterPrivateNetns(), "");
    EXPECT_TRUE(SetNetSysctl("ipv6/conf/default/accept_dad", "0"));
    EXPECT_EQ(RunIp("link add dev near0 mtu 1500 address 02:00:00:00:00:01 "
                    "type veth peer name far0"),
              "");
    CompleteChecksumsOf("near0");
    // The kernel cuts what is larger, as for a card without tunnel GSO.
    EXPECT_EQ(RunIp("link set dev near0 gso_max_size 2000"), "");
    for (const char* link : {"near0", "far0"})
      EXPECT_EQ(RunIp(std::string("link set up dev ") + link), "");
    EXPECT_EQ(RunIp("addr add 10.0.0.1/24 dev near0"), "");
    EXPECT_EQ(AddIp6("fd00::1/64", "near0"), "");
    EXPECT_EQ(RunIp("neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev near0"), "");
    EXPECT_EQ(RunIp("neigh add fd00::2 lladdr 02:00:00:00:00:02 dev near0"), "");
    far_ = std::make_unique<PacketSocket>("far0");
    auto gso = TunnelGso::Open({.name = "weft4.1", .egress_index = ::if_nametoindex("near0")});
    if (absl::IsUnimplemented(gso.status())) GTEST_SKIP() << gso.status();
    ASSERT_TRUE(gso.ok()) << gso.status();
    gso_ = *std::move(gso);
    gso_->Permit(true);
  }

  std::unique_ptr<UdpPort> OpenPort(const IpAddress& bind, bool checksum = true) {
    auto port = UdpPort::Open({.family = bind.family(),
                               .bind_address = bind,
                               .port = 4789,
                               .udp_checksum = checksum,
                               .tunnel_gso = gso_});
    EXPECT_TRUE(port.ok()) << port.status();
    return port.ok() ? *std::move(port) : nullptr;
  }

  // Outer packets with the fields as zero in which whole and cut superframes may differ: IPv4's
  // identification, and its checksum.
  std::vector<ByteVector> Sent(std::size_t count,
                               std::source_location where = std::source_location::current()) {
    std::vector<ByteVector> packets;
    EXPECT_TRUE(testing::Await({std::chrono::seconds(10), where}, [&] {
      for (const ByteVector& frame : far_->Receive()) {
        ByteVector packet(frame.begin() + 14, frame.end());
        const bool v4 = Load8(packet.data()) >> 4 == 4;
        if (Load8(packet.data() + (v4 ? 9 : 6)) != 17) continue;
        const Parsed<OuterPacket> outer = ParseOuterPacket(packet);
        EXPECT_TRUE(outer) << "malformed";
        if (v4) StoreBe16(packet.data() + 4, 0), StoreBe16(packet.data() + 10, 0);
        packets.push_back(std::move(packet));
      }
      return packets.size() >= count;
    }));
    return packets;
  }

  // A small packet of the superframe's flow, sent by its socket.
  void Track(UdpPort& port, const Packet& superframe, Timestamp now = {}) {
    PacketSlab small(1);
    Packet packet = small.Lend(0);
    packet.length = 100;
    packet.outer_address = superframe.outer_address;
    packet.outer_port = superframe.outer_port;
    batch_.clear();
    batch_.now = now;
    batch_.Add(packet);
    port.Send(batch_);
    batch_.clear();
  }

  void ExpectTheSameWholeAndCut(UdpPort& port, const Packet& superframe) {
    batch_.clear();
    PacketSlab cut(8);
    std::size_t used = 0;
    SuperframeCutter cutter(superframe, port.kind(), port.features());
    while (!cutter.done()) cutter.Cut(cut.Lend(used++), batch_);
    port.Send(batch_);
    const std::vector<ByteVector> expected = Sent(WirePackets(superframe));
    EXPECT_EQ(expected.size(), WirePackets(superframe));
    ASSERT_TRUE(port.Takes(superframe, {}));
    batch_.clear();
    batch_.Add(superframe);
    port.Send(batch_);
    EXPECT_EQ(batch_[0].verdict, Verdict::kForward);
    const std::vector<ByteVector> sent = Sent(expected.size());
    ASSERT_EQ(sent.size(), expected.size());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      const auto [here, there] =
          std::mismatch(sent[i].begin(), sent[i].end(), expected[i].begin(), expected[i].end());
      EXPECT_TRUE(here == sent[i].end() && there == expected[i].end())
          << "packet " << i << " differs at byte " << here - sent[i].begin();
    }
  }

  PacketSlab slab_{1};
  Batch batch_;
  std::unique_ptr<PacketSocket> far_;
  std::shared_ptr<TunnelGso> gso_;
};

TEST_F(TunnelGsoTest, WholeAndCutSuperframesAreTheSameOnTheWire) {
  for (const bool checksum : {true, false}) {
    for (const char* own : {"10.0.0.1", "fd00::1", "0.0.0.0"}) {
      const auto port = OpenPort(Ip(own), checksum);
      ASSERT_TRUE(port);
      const IpAddress peer = Ip(own).is_v4() ? Ip("10.0.0.2") : Ip("fd00::2");
      for (const auto& [from, to] :
           {std::pair("10.244.1.2", "10.244.2.3"), std::pair("fd01::1", "fd02::1")}) {
        SCOPED_TRACE(std::string(own) + " " + from + (checksum ? "" : " without checksum"));
        ExpectTheSameWholeAndCut(*port, Superframe(slab_, Tcp(from, to), IpProtocol::kTcp, peer));
        ExpectTheSameWholeAndCut(*port, Superframe(slab_,
                                                   Tcp(from, to,
                                                       TcpHeader::kAck | TcpHeader::kCwr |
                                                           TcpHeader::kPsh | TcpHeader::kFin),
                                                   IpProtocol::kTcp, peer));
        ExpectTheSameWholeAndCut(*port, Superframe(slab_, Udp(from, to), IpProtocol::kUdp, peer));
      }
    }
  }
}

TEST_F(TunnelGsoTest, TakesOnlyWhatMayGoThatWay) {
  const auto port = OpenPort(Ip("10.0.0.1"), /*checksum=*/false);
  ASSERT_TRUE(port);
  const ByteVector inner = Tcp("10.244.1.2", "10.244.2.3");
  Packet packet = Superframe(slab_, inner, IpProtocol::kTcp, Ip("10.0.0.2"));
  Track(*port, packet);
  EXPECT_TRUE(port->Takes(packet, {}));
  gso_->Permit(false);
  EXPECT_FALSE(port->Takes(packet, {})) << "not permitted";
  gso_->Permit(true);
  packet.may_fragment = true;
  EXPECT_FALSE(port->Takes(packet, {})) << "may be fragmented";
  packet.may_fragment = false;
  packet.segment_size = 0;
  EXPECT_FALSE(port->Takes(packet, {})) << "is cut nowhere";
  packet.segment_size = kSegment;
  packet.checksum = ChecksumState::kOnWire;
  EXPECT_FALSE(port->Takes(packet, {})) << "has its checksum";
  packet.checksum = ChecksumState::kPartial;
  std::byte& header_length = packet.data[packet.checksum_start + 12];
  const std::byte former = std::exchange(header_length, std::byte{0});
  EXPECT_FALSE(port->Takes(packet, {})) << "has no TCP header";
  header_length = former;
  packet.segmentation = Segmentation::kDatagrams;
  EXPECT_FALSE(port->Takes(packet, {})) << "is no superframe";
  packet.segmentation = Segmentation::kTcp;
  packet.segment_size = 1500 - 50 - 40 + 1;
  EXPECT_FALSE(port->Takes(packet, {})) << "larger than the device's MTU";
  --packet.segment_size;
  EXPECT_TRUE(port->Takes(packet, {}));
  EXPECT_EQ(RunIp("link set near0 mtu 1400"), "");
  gso_->RoutesChanged();
  EXPECT_FALSE(port->Takes(packet, {})) << "larger than the device's new MTU";
}

// The destinations that are asked for at once are few.
TEST_F(TunnelGsoTest, TakesNothingByARouteThatIsOutOfDate) {
  const auto port = OpenPort(Ip("10.0.0.1"));
  ASSERT_TRUE(port);
  Packet packet =
      Superframe(slab_, Tcp("10.244.1.2", "10.244.2.3"), IpProtocol::kTcp, Ip("10.0.0.2"));
  Track(*port, packet);
  EXPECT_TRUE(port->Takes(packet, {}));
  gso_->RoutesChanged();
  for (std::uint32_t i = 0; i < 100; ++i) {
    packet.outer_address = IpAddress::V4(0x0a00'0010 + i);
    port->Takes(packet, {});
  }
  packet.outer_address = Ip("10.0.0.2");
  EXPECT_FALSE(port->Takes(packet, {}));
  EXPECT_TRUE(port->Takes(packet, std::chrono::seconds(1)));
}

TEST_F(TunnelGsoTest, WhatTheKernelRefusesIsCutForAWhile) {
  const auto port = OpenPort(Ip("10.0.0.1"));
  ASSERT_TRUE(port);
  Packet packet =
      Superframe(slab_, Tcp("10.244.1.2", "10.244.2.3"), IpProtocol::kTcp, Ip("10.0.0.2"));
  Packet wrong = packet;
  wrong.checksum_offset = 6;  // the kernel knows where it is
  batch_.Add(wrong);
  port->Send(batch_);
  EXPECT_EQ(batch_[0].verdict, Verdict::kWireError);
  std::uint64_t refused = 0;
  for (const NamedCount& count : port->Counts())
    refused += count.name == "superframe-refused" ? count.value : 0;
  EXPECT_EQ(refused, 1u);
  for (const auto& [second, taken] : {std::pair(9, false), std::pair(10, true)}) {
    const Timestamp now = std::chrono::seconds(second);
    Track(*port, packet, now);
    EXPECT_EQ(port->Takes(packet, now), taken) << second;
  }
}

TEST_F(TunnelGsoTest, ASuperframeBetweenPacketsOfItsFlowIsSentByItself) {
  const auto port = OpenPort(Ip("10.0.0.1"));
  ASSERT_TRUE(port);
  const Packet packet =
      Superframe(slab_, Tcp("10.244.1.2", "10.244.2.3"), IpProtocol::kTcp, Ip("10.0.0.2"));
  PacketSlab small(2);
  for (std::size_t i = 0; i < 2; ++i) {
    Packet& plain = batch_.Add(small.Lend(i));
    plain.length = 100;
    plain.outer_address = packet.outer_address;
    plain.outer_port = packet.outer_port;
    if (i == 0) batch_.Add(packet);
  }
  port->Send(batch_);
  for (const Packet& each : batch_) EXPECT_EQ(each.verdict, Verdict::kForward);
  EXPECT_EQ(gso_->sent(), 1u);
}

// Conntrack knows only flows of which it has lately seen a packet, and a firewall may drop ICMP
// errors for others: without them a path MTU is never learnt.
TEST_F(TunnelGsoTest, EveryFlowAlsoSendsBySocket) {
  const auto port = OpenPort(Ip("10.0.0.1"));
  ASSERT_TRUE(port);
  Packet packet =
      Superframe(slab_, Tcp("10.244.1.2", "10.244.2.3"), IpProtocol::kTcp, Ip("10.0.0.2"));
  const Timestamp begin = std::chrono::seconds(100);
  EXPECT_FALSE(port->Takes(packet, begin));
  Track(*port, packet, begin);
  for (const int second : {0, 2, 4}) {
    batch_.now = begin + std::chrono::seconds(second);
    EXPECT_TRUE(port->Takes(packet, batch_.now)) << second;
    batch_.clear();
    batch_.Add(packet);
    port->Send(batch_);
    EXPECT_EQ(batch_[0].verdict, Verdict::kForward);
  }
  EXPECT_FALSE(port->Takes(packet, begin + std::chrono::seconds(6)));
  packet.outer_port = 60'000;
  EXPECT_FALSE(port->Takes(packet, begin)) << "another flow";
}

TEST_F(TunnelGsoTest, OtherRoutesAreLeftToSockets) {
  const auto port = OpenPort(Ip("10.0.0.1"));
  ASSERT_TRUE(port);
  EXPECT_EQ(RunIp("link add other type veth peer name other-far"), "");
  EXPECT_EQ(RunIp("link set other up"), "");
  EXPECT_EQ(RunIp("link set other-far up"), "");
  const Packet packet =
      Superframe(slab_, Tcp("10.244.1.2", "10.244.2.3"), IpProtocol::kTcp, Ip("10.9.0.2"));
  for (const auto& [route, taken] : std::vector<std::pair<std::string, bool>>{
           {"10.9.0.2 via 10.0.0.2 dev near0", true},
           {"10.9.0.2 dev other", false},
           {"blackhole 10.9.0.2", false},
           {"10.9.0.2 encap ip id 7 dst 10.0.0.3 dev near0", false},
           {"10.9.0.2 nexthop dev near0 nexthop dev other", false},
           {"10.9.0.2 nexthop via 10.0.0.2 nexthop via 10.0.0.3", false},
           {"10.9.0.2 mtu 1349 via 10.0.0.2", false},
           {"10.9.0.2 mtu 1390 via 10.0.0.2", true}}) {
    (void)RunIp("route del 10.9.0.2");
    EXPECT_EQ(RunIp("route replace " + route), "");
    gso_->RoutesChanged();
    Track(*port, packet);
    EXPECT_EQ(port->Takes(packet, {}), taken) << route;
  }
}

// After the first that is lost, the others of the flow are cut.
TEST_F(TunnelGsoTest, ADeviceThatIsDownOrDeletedTakesNothing) {
  ShowDevicesInSysfs();
  const auto port = OpenPort(Ip("10.0.0.1"));
  ASSERT_TRUE(port);
  const Packet packet =
      Superframe(slab_, Tcp("10.244.1.2", "10.244.2.3"), IpProtocol::kTcp, Ip("10.0.0.2"));
  for (const auto& [change, obstacle] : {std::pair("link set weft4.1 down", "weft4.1 is down"),
                                         std::pair("link del weft4.1", "weft4.1 was deleted")}) {
    Track(*port, packet);
    EXPECT_EQ(gso_->Obstacle(), "");
    EXPECT_TRUE(port->Takes(packet, {}));
    EXPECT_EQ(RunIp(change), "");
    EXPECT_THAT(gso_->Obstacle(), HasSubstr(obstacle));
    batch_.Add(packet);
    port->Send(batch_);
    EXPECT_EQ(batch_[0].verdict, Verdict::kWireError);
    EXPECT_FALSE(port->Takes(packet, {})) << change;
    (void)RunIp("link set weft4.1 up");
    gso_->Permit(true);
  }
}

// An rtattr.
ByteVector Attribute(std::uint16_t type, const ByteVector& value, std::uint16_t length = 0) {
  const rtattr header{length != 0 ? length : static_cast<std::uint16_t>(4 + value.size()), type};
  ByteVector bytes(4);
  std::memcpy(bytes.data(), &header, 4);
  bytes.insert(bytes.end(), value.begin(), value.end());
  bytes.resize(RTA_ALIGN(bytes.size()));
  return bytes;
}

// The kernel's answer to the route query `number`.
ByteVector RouteAnswer(std::uint32_t number, const std::vector<ByteVector>& attributes = {},
                       unsigned char kind = RTN_UNICAST, std::uint16_t type = RTM_NEWROUTE) {
  nlmsghdr header{};
  rtmsg route{};
  route.rtm_type = kind;
  ByteVector bytes(NLMSG_LENGTH(sizeof route));
  for (const ByteVector& each : attributes) bytes.insert(bytes.end(), each.begin(), each.end());
  header.nlmsg_len = static_cast<std::uint32_t>(bytes.size());
  header.nlmsg_type = type;
  header.nlmsg_seq = number;
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + NLMSG_HDRLEN, &route, sizeof route);
  return bytes;
}

void Deliver(int descriptor, const ByteVector& bytes) {
  sockaddr_nl to{};
  to.nl_family = AF_NETLINK;
  (void)::bind(descriptor, reinterpret_cast<const sockaddr*>(&to), sizeof to);  // gives an address
  socklen_t size = sizeof to;
  ASSERT_EQ(::getsockname(descriptor, reinterpret_cast<sockaddr*>(&to), &size), 0);
  const FileDescriptor sender(::socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
  ASSERT_EQ(::sendto(sender.get(), bytes.data(), bytes.size(), 0,
                     reinterpret_cast<const sockaddr*>(&to), size),
            static_cast<ssize_t>(bytes.size()))
      << std::strerror(errno);
}

// Of two answers: whether ICMP has given the route's MTU, and the route itself.
TEST_F(TunnelGsoTest, OnlyAPlainRouteByTheDeviceIsUsed) {
  const auto number = [](std::uint32_t value, std::size_t size = 4) {
    ByteVector bytes(4);
    std::memcpy(bytes.data(), &value, 4);
    bytes.resize(size);
    return bytes;
  };
  const std::uint32_t near = gso_->egress_index();
  const ByteVector out = Attribute(RTA_OIF, number(near)), ones(32, std::byte{0xff});
  const ByteVector plain = RouteAnswer(1, {out}), whole = RouteAnswer(2, {out});
  const ByteVector cut_off(whole.begin(), whole.begin() + NLMSG_HDRLEN);
  const ByteVector refused = RouteAnswer(2, {}, 0, NLMSG_ERROR);
  struct Row {
    const char* what;
    std::vector<ByteVector> answers;
    std::uint32_t route_mtu, whole_limit;
  };
  const Row rows[] = {
      {"plain", {plain, whole}, 1500, 1500},
      {"too short", {plain, cut_off, whole}, 1500, 1500},
      {"another's", {plain, RouteAnswer(99), whole}, 1500, 1500},
      {"none", {plain, refused}, 1500, 0},
      {"none about its MTU", {RouteAnswer(1, {}, 0, NLMSG_ERROR), whole}, 0, 1500},
      {"learnt", {RouteAnswer(1, {Attribute(RTA_CACHEINFO, ones)}), whole}, 0, 1500},
      {"half of it",
       {RouteAnswer(1, {Attribute(RTA_CACHEINFO, number(1)), Attribute(50, ones)}), whole},
       1500,
       1500},
      {"other numbers", {RouteAnswer(1, {Attribute(RTA_METRICS, ones)}), whole}, 1500, 1500},
      {"an attribute of no length",
       {plain, RouteAnswer(2, {out, Attribute(50, ones, 2)})},
       1500,
       1500},
      {"one beyond the end", {plain, RouteAnswer(2, {out, Attribute(50, ones, 100)})}, 1500, 1500},
      {"half a device", {plain, RouteAnswer(2, {Attribute(RTA_OIF, number(near, 2))})}, 1500, 0},
      {"no unicast", {plain, RouteAnswer(2, {out}, RTN_BLACKHOLE)}, 1500, 0},
      {"several", {plain, RouteAnswer(2, {out, Attribute(RTA_MULTIPATH, number(0))})}, 1500, 0},
      {"a tunnel", {plain, RouteAnswer(2, {out, Attribute(RTA_ENCAP, number(0))})}, 1500, 0},
      {"a tunnel's kind",
       {plain, RouteAnswer(2, {out, Attribute(RTA_ENCAP_TYPE, number(0))})},
       1500,
       0},
  };
  const int next = ::dup(STDIN_FILENO);
  ::close(next);
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    UdpPaths paths(4789);
    ASSERT_TRUE(paths.Open({.bind_address = Ip("10.0.0.1"), .tunnel_gso = gso_}).ok());
    for (const ByteVector& answer : row.answers) Deliver(next + 1, answer);
    const UdpPaths::Path& path = paths.To(Ip("10.0.0.2"), {});
    EXPECT_EQ(path.route_mtu, row.route_mtu);
    EXPECT_EQ(path.whole_limit, row.whole_limit);
  }
  {
    UdpPaths paths(4789);
    ASSERT_TRUE(paths.Open({.tunnel_gso = gso_}).ok());
    Deliver(next + 1, plain);
    EXPECT_EQ(paths.To(Ip("203.0.113.1"), {}).whole_limit, 0u) << "without a source";
  }
  UdpPaths paths(4789);
  const UdpOptions v6{.family = IpFamily::kV6, .bind_address = Ip("fd00::1"), .tunnel_gso = gso_};
  ASSERT_TRUE(paths.Open(v6).ok());
  EXPECT_EQ(paths.To(Ip("fd00::2"), {}).route_mtu, 1500u);
  Deliver(next + 1, RouteAnswer(3, {out}));
  EXPECT_EQ(paths.To(Ip("2001:db8::1"), {}).route_mtu, 0u) << "not the former one's";
  EXPECT_EQ(RunIp("link del near0"), "");
  Deliver(next + 1, RouteAnswer(4, {out}));
  EXPECT_EQ(paths.To(Ip("2001:db8::2"), {}).whole_limit, 0u) << "the device is gone";
}

TEST_F(TunnelGsoTest, EachDescriptorThatIsMissingIsNamed) {
  const TunnelGsoOptions options{.name = "weft4.2", .egress_index = gso_->egress_index()};
  ASSERT_TRUE(TunnelGso::Open(options).ok());  // UBSan opens a pipe for each new type
  std::vector<FileDescriptor> gaps;            // between the numbers in use
  for (int i = 0; i < 8; ++i) gaps.emplace_back(::dup(STDIN_FILENO));
  const int next = ::dup(STDIN_FILENO);
  ::close(next);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const auto with = [&](int more, const std::function<std::string()>& call) {
    const rlimit few{.rlim_cur = static_cast<rlim_t>(next + more), .rlim_max = before.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    std::string result = call();
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    return result;
  };
  int more = 0;
  for (const char* what :
       {"/dev/net/tun", "cannot read its index", "the kernel refuses its BPF program",
        "the kernel refuses a TCX link (Linux 6.6)", "cannot bring it up"}) {
    EXPECT_EQ(
        with(more++, [&] { return std::string(TunnelGso::Open(options).status().message()); }),
        std::string("TAP device weft4.2: ") + what + ": Too many open files");
  }
  EXPECT_EQ(with(0, [&] { return gso_->Obstacle(); }), "the device weft4.1: Too many open files");
}

TEST_F(TunnelGsoTest, WhatTheKernelRefusesIsNamed) {
  const struct {
    Refusal refusal;
    const char* text;
  } rows[] = {
      {{.call = SYS_ioctl, .error = EINVAL, .second = TUNSETVNETHDRSZ}, "no tunnel GSO"},
      {{.call = SYS_ioctl, .error = EINVAL, .second = TUNSETVNETLE}, "no tunnel GSO"},
      {{.call = SYS_ioctl, .error = EINVAL, .second = TUNATTACHFILTER}, "cannot attach a filter"},
      {{.call = SYS_ioctl, .error = EINVAL, .second = SIOCGIFINDEX}, "cannot read its index"},
      {{.call = SYS_bpf, .error = EACCES}, "grant flanneld CAP_BPF"},
  };
  for (const auto& row : rows) {
    WhereRefused({row.refusal}, [&] {
      const auto refused =
          TunnelGso::Open({.name = "weft4.2", .egress_index = gso_->egress_index()});
      EXPECT_THAT(std::string(refused.status().message()), HasSubstr(row.text));
    });
  }
  WhereRefused({{.call = SYS_ioctl, .error = ENODEV, .second = SIOCGIFFLAGS}},
               [&] { EXPECT_EQ(gso_->Obstacle(), "the device weft4.1: No such device"); });
}

TEST_F(TunnelGsoTest, TheNameMustBeFreeAndFitADevice) {
  for (const char* name : {"", "sixteen-bytes-xx"})
    EXPECT_TRUE(absl::IsInvalidArgument(TunnelGso::Open({.name = name}).status())) << name;
  const auto second =
      TunnelGso::Open({.name = "weft4.1", .egress_index = ::if_nametoindex("near0")});
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("weft4.1"));
}

TEST_F(TunnelGsoTest, AnOldKernelIsRecognized) {
  const auto old = TunnelGso::Open(
      {.name = "weft4.2", .egress_index = ::if_nametoindex("near0"), .more_offloads = 0x4000'0000});
  EXPECT_TRUE(absl::IsUnimplemented(old.status())) << old.status();
  EXPECT_THAT(std::string(old.status().message()), HasSubstr("Linux 6.17"));
  EXPECT_EQ(::if_nametoindex("weft4.2"), 0u);
}

TEST_F(TunnelGsoTest, NotWhereItsPacketsWouldChangeTheCpu) {
  const char kCpus[] = "/sys/class/net/weft4.1/queues/rx-0/rps_cpus";
  EXPECT_THAT(gso_->Obstacle(),
              HasSubstr(std::string("whether packets keep their order: ") + kCpus))
      << "another namespace's sysfs, so not known";
  ShowDevicesInSysfs();
  EXPECT_EQ(gso_->Obstacle(), "");
  std::ofstream(kCpus) << "1";
  EXPECT_THAT(gso_->Obstacle(), HasSubstr(kCpus));
  std::ofstream(kCpus) << "0";
  EXPECT_EQ(gso_->Obstacle(), "");
  ASSERT_TRUE(SetNetSysctl("core/rps_default_mask", "1"));
  const auto later =
      TunnelGso::Open({.name = "weft4.2", .egress_index = ::if_nametoindex("near0")});
  ASSERT_TRUE(later.ok()) << later.status();
  EXPECT_THAT((*later)->Obstacle(), HasSubstr("weft4.2/queues/rx-0/rps_cpus"));
  const std::string many = weft::testing::TestPath().string();  // as of 64 CPUs
  std::ofstream(many) << "00000000,00000000\n" << std::flush;
  ASSERT_EQ(::mount(many.c_str(), kCpus, nullptr, MS_BIND, nullptr), 0);
  EXPECT_EQ(gso_->Obstacle(), "");
  std::filesystem::remove(many);
}

// A router solicitation and the like must not fill its queue.
TEST_F(TunnelGsoTest, WhatTheHostSendsToItIsDropped) {
  EXPECT_EQ(RunIp("addr add 10.7.0.1/24 dev weft4.1"), "");
  EXPECT_EQ(RunIp("neigh add 10.7.0.2 lladdr 02:00:00:00:00:07 dev weft4.1"), "");
  const auto port = UdpPort::Open({.port = 4790});
  ASSERT_TRUE(port.ok());
  Packet packet = slab_.Lend(0);
  packet.length = 100;
  packet.outer_address = Ip("10.7.0.2");
  batch_.Add(packet);
  (*port)->Send(batch_);
  std::string statistics;
  std::ifstream in("/proc/self/net/dev");
  for (std::string line; std::getline(in, line);) {
    if (line.find("weft4.1") != std::string::npos) statistics = line;
  }
  std::istringstream columns(statistics.substr(statistics.find(':') + 1));
  std::vector<std::uint64_t> values{std::istream_iterator<std::uint64_t>(columns), {}};
  ASSERT_EQ(values.size(), 16u) << statistics;
  EXPECT_EQ(values[9], 0u) << "packets in the queue: " << statistics;
  EXPECT_GT(values[11], 0u) << "dropped: " << statistics;
}

TEST_F(TunnelGsoTest, NothingIsLeftOfIt) {
  gso_.reset();
  EXPECT_EQ(::if_nametoindex("weft4.1"), 0u);
}

// As in a container without CAP_BPF.
TEST_F(TunnelGsoTest, WithoutTheCapabilityItSaysWhichIsMissing) {
  const auto open = [] {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> data{};
    data[0].effective = data[0].permitted = 1u << CAP_NET_ADMIN;
    ::syscall(SYS_capset, &header, data.data());
    const auto gso =
        TunnelGso::Open({.name = "weft4.2", .egress_index = ::if_nametoindex("near0")});
    std::fprintf(stderr, "%s\n", std::string(gso.status().message()).c_str());
    ::_exit(gso.ok() ? 1 : 0);
  };
  EXPECT_EXIT(open(), ::testing::ExitedWithCode(0), "CAP_BPF");
}

}  // namespace
}  // namespace weft::dataplane
