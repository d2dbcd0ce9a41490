// SPDX-License-Identifier: Apache-2.0
// Superframes sent whole: the headers' bytes, and what leaves the host in a separate network
// namespace, compared with what the same superframe becomes when it is cut here.
#include "dataplane/ports/tunnel_gso_linux.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <source_location>
#include <sstream>
#include <string>
#include <vector>

#include "dataplane/offload.h"
#include "dataplane/ports/udp_port.h"
#include "tests/dataplane/ports/packet_socket.h"
#include "tests/support/netns.h"
#include "tests/support/packet_builder.h"
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
  const auto port = OpenPort(Ip("10.0.0.1"));
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
  packet.segment_size = 1500 - 50 - 40 + 1;
  EXPECT_FALSE(port->Takes(packet, {})) << "larger than the device's MTU";
  --packet.segment_size;
  EXPECT_TRUE(port->Takes(packet, {}));
  EXPECT_EQ(RunIp("link set near0 mtu 1400"), "");
  gso_->RoutesChanged();
  EXPECT_FALSE(port->Takes(packet, {})) << "larger than the device's new MTU";
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

TEST_F(TunnelGsoTest, TheNameMustBeFree) {
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
  EXPECT_THAT(gso_->Obstacle(), HasSubstr(kCpus)) << "another namespace's sysfs, so not known";
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
