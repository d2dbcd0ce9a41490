// SPDX-License-Identifier: Apache-2.0
// The UDP port against the real kernel, in a separate network namespace:
//
//   10.0.0.1, fd00::1  near0 ---- veth, MTU 1500 ---- far0
//   127.0.0.1 .. 127.0.0.9, ::1, fd01::2  lo
//
// Routes to 10.0.0.2 and fd00::2 lead into the pair; no interface has these addresses. Packet
// sockets observe and send.
#include "dataplane/ports/udp_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sock_diag.h>
#include <netinet/udp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/ports/udp_errors_linux.h"
#include "dataplane/ports/udp_paths_linux.h"
#include "dataplane/ports/udp_receiver_linux.h"
#include "dataplane/ports/udp_socket_linux.h"
#include "dataplane/wait_set.h"
#include "tests/dataplane/ports/packet_socket.h"
#include "tests/dataplane/ports/port_harnesses.h"
#include "tests/support/netns.h"
#include "tests/support/packet_builder.h"
#include "tests/support/wait.h"
#include "vxlan/ethernet.h"
#include "vxlan/flow_hash.h"
#include "vxlan/ipv4.h"
#include "vxlan/ipv6.h"
#include "vxlan/transport_checksum.h"
#include "vxlan/udp.h"

namespace weft::dataplane {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::seconds kLimit{10};

std::uint64_t Count(const PacketPort& port, std::string_view name) {
  for (const NamedCount& count : port.Counts()) {
    if (count.name == name) return count.value;
  }
  ADD_FAILURE() << "no count " << name;
  return 0;
}

struct Family {
  std::string name;
  IpAddress near;         // on lo
  IpAddress far;          // on lo
  IpAddress route;        // after the veth pair
  std::uint32_t headers;  // IP and UDP, bytes
};

void PrintTo(const Family& family, std::ostream* out) { *out << family.name; }

class UdpPortTest : public ::testing::TestWithParam<Family> {
 protected:
  void SetUp() override {
    ASSERT_EQ(EnterPrivateNetns(), "");
    EXPECT_TRUE(SetNetSysctl("ipv6/conf/default/accept_dad", "0"));
    EXPECT_EQ(RunIp("link add dev near0 mtu 1500 address 02:00:00:00:00:01 "
                    "type veth peer name far0"),
              "");
    for (const char* link : {"near0", "far0"})
      EXPECT_EQ(RunIp(std::string("link set up dev ") + link), "");
    EXPECT_EQ(RunIp("addr add 10.0.0.1/24 dev near0"), "");
    EXPECT_EQ(AddIp6("fd00::1/64", "near0"), "");
    EXPECT_EQ(AddIp6("fd01::2/128", "lo"), "");
    EXPECT_EQ(RunIp("neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev near0"), "");
    EXPECT_EQ(RunIp("neigh add fd00::2 lladdr 02:00:00:00:00:02 dev near0"), "");
  }

  static std::unique_ptr<UdpPort> Open(UdpOptions options) {
    options.family = options.bind_address.family();
    auto port = UdpPort::Open(options);
    EXPECT_TRUE(port.ok()) << port.status();
    return port.ok() ? *std::move(port) : nullptr;
  }
  // Two ports on lo.
  void OpenPair(bool checksum = true, int sockets = 256) {
    near_ = Open({.bind_address = GetParam().near,
                  .port = 0,
                  .udp_checksum = checksum,
                  .sending_sockets = sockets});
    ASSERT_NE(near_, nullptr);
    far_ = Open({.bind_address = GetParam().far, .port = near_->port(), .sending_sockets = 1});
    ASSERT_NE(far_, nullptr);
  }

  Packet& Add(Batch& batch, std::uint32_t number, std::size_t size, const IpAddress& destination) {
    const ByteVector bytes = MakePacket(PortKind::kWireDatagram, number, size);
    Packet packet = slab_.Lend(batch.size());
    std::copy(bytes.begin(), bytes.end(), packet.data);
    packet.length = static_cast<std::uint32_t>(size);
    packet.outer_address = destination;
    return batch.Add(packet);
  }
  // `count` datagrams of `size` bytes, the last of `last`.
  Packet& AddAggregate(Batch& batch, std::uint32_t count, std::uint16_t size, std::uint16_t last,
                       const IpAddress& destination) {
    Packet packet = slab_.Lend(batch.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint16_t length = i + 1 == count ? last : size;
      const ByteVector bytes = MakePacket(PortKind::kWireDatagram, i, length);
      std::copy(bytes.begin(), bytes.end(), packet.data + packet.length);
      packet.length += length;
    }
    packet.outer_address = destination;
    packet.segmentation = Segmentation::kDatagrams;
    packet.segment_size = size;
    return batch.Add(packet);
  }

  static bool IsReadable(PacketPort& port,
                         std::chrono::milliseconds timeout = std::chrono::milliseconds(10)) {
    auto set = WaitSet::Make(port.wait_handles());
    EXPECT_TRUE(set.ok()) << set.status();
    return set.ok() && (*set)->Wait(timeout);
  }
  static ::testing::AssertionResult Wait(
      PacketPort& port, std::source_location where = std::source_location::current()) {
    return testing::Await({kLimit, where}, [&] { return IsReadable(port); });
  }
  // Datagrams, aggregates taken apart. `seen` gets each packet as received.
  static std::vector<ByteVector> Receive(
      PacketPort& port, std::size_t count, const std::function<void(const Packet&)>& seen = {},
      std::source_location where = std::source_location::current()) {
    static Batch batch;
    std::vector<ByteVector> result;
    const auto receive = [&] {
      if (!IsReadable(port)) return;
      port.Receive(batch);
      for (const Packet& packet : batch) {
        if (seen) seen(packet);
        const bool aggregate = packet.segmentation == Segmentation::kDatagrams;
        const std::uint32_t size = aggregate ? packet.segment_size : packet.length;
        for (std::uint32_t at = 0; at < packet.length; at += size) {
          result.emplace_back(packet.data + at, packet.data + std::min(at + size, packet.length));
        }
      }
    };
    EXPECT_TRUE(testing::Await(
        {kLimit, where}, [&] { return result.size() >= count; }, receive));
    return result;
  }
  static std::vector<PathMtuNotice> Notices(PacketPort& port) {
    std::array<PathMtuNotice, 8> notices;
    const std::size_t count = port.DrainPathMtuNotices(notices);
    return {notices.begin(), notices.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  std::unique_ptr<UdpPort> near_;
  std::unique_ptr<UdpPort> far_;
  PacketSlab slab_;
  Batch out_;
};

TEST_P(UdpPortTest, AnAggregateCrossesWithOneCallAndArrivesAsOne) {
  OpenPair();
  AddAggregate(out_, 40, 1400, 333, GetParam().far);
  near_->Send(out_);
  ASSERT_EQ(out_[0].verdict, Verdict::kForward);
  std::vector<std::uint32_t> lengths;
  const std::vector<ByteVector> got = Receive(*far_, 40, [&](const Packet& packet) {
    lengths.push_back(packet.length);
    EXPECT_EQ(packet.segmentation, Segmentation::kDatagrams);
    EXPECT_EQ(packet.segment_size, 1400);
    EXPECT_EQ(packet.outer_address, GetParam().near);
    EXPECT_GE(packet.outer_port, 49152);
  });
  ASSERT_EQ(got.size(), 40u);
  for (std::uint32_t i = 0; i < 40; ++i) {
    EXPECT_EQ(got[i], MakePacket(PortKind::kWireDatagram, i, i == 39 ? 333 : 1400)) << i;
  }
  EXPECT_EQ(lengths, std::vector<std::uint32_t>{39 * 1400 + 333}) << "GRO gives back what GSO sent";
}

TEST_P(UdpPortTest, RunsOfOneFlowLeaveTogetherAndKeepTheirOrder) {
  OpenPair();
  // Sizes: a run that a shorter packet ends, then a longer one, then another
  // flow between two of one.
  const std::vector<std::size_t> sizes = {500, 500, 500, 200, 500, 600, 600, 600};
  for (std::uint32_t i = 0; i < sizes.size(); ++i) {
    Add(out_, i, sizes[i], GetParam().far).outer_port =
        static_cast<std::uint16_t>(i == 6 ? 65'535 : 49'152);
  }
  near_->Send(out_);
  std::map<std::uint16_t, std::vector<std::uint32_t>> numbers;
  Receive(*far_, sizes.size(), [&](const Packet& packet) {
    const std::uint32_t size =
        packet.segmentation == Segmentation::kDatagrams ? packet.segment_size : packet.length;
    for (std::uint32_t at = 0; at < packet.length; at += size) {
      numbers[packet.outer_port].push_back(LoadBe32(packet.data + at));
    }
  });
  ASSERT_EQ(numbers.size(), 2u) << "two flows";
  EXPECT_EQ(numbers.begin()->second, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 7}));
  EXPECT_EQ(numbers.rbegin()->second, (std::vector<std::uint32_t>{6}));
}

TEST_P(UdpPortTest, AnAggregateIsNoPartOfARun) {
  OpenPair();
  Add(out_, 7, 1000, GetParam().far);
  AddAggregate(out_, 2, 400, 400, GetParam().far);
  near_->Send(out_);
  EXPECT_EQ(Receive(*far_, 3),
            (std::vector<ByteVector>{MakePacket(PortKind::kWireDatagram, 7, 1000),
                                     MakePacket(PortKind::kWireDatagram, 0, 400),
                                     MakePacket(PortKind::kWireDatagram, 1, 400)}));
}

TEST_P(UdpPortTest, ARunHasAtMost64PacketsAnd65000Bytes) {
  OpenPair();
  const struct {
    std::uint32_t count;
    std::size_t size;
    std::vector<std::uint32_t> lengths;
  } rows[] = {{128, 100, {6400, 6400}}, {64, 1400, {46 * 1400, 18 * 1400}}};
  for (const auto& row : rows) {
    out_.clear();
    for (std::uint32_t i = 0; i < row.count; ++i) Add(out_, i, row.size, GetParam().far);
    near_->Send(out_);
    std::vector<std::uint32_t> lengths;
    Receive(*far_, row.count, [&](const Packet& packet) { lengths.push_back(packet.length); });
    EXPECT_EQ(lengths, row.lengths);
  }
}

TEST_P(UdpPortTest, OnlyASinglePacketIsTooLongForUdp) {
  OpenPair(true, 1);
  Add(out_, 1, kMaxPacket, GetParam().name == "v4" ? Ip("203.0.113.1") : Ip("2001:db8::1"));
  AddAggregate(out_, 47, 1394, 1394, GetParam().far);
  near_->Send(out_);
  EXPECT_EQ(out_[0].verdict, Verdict::kTooBigSilent) << Name(out_[0].verdict);
  EXPECT_EQ(out_[1].verdict, Verdict::kForward) << Name(out_[1].verdict);
  EXPECT_EQ(Receive(*far_, 47).size(), 47u);
}

TEST_P(UdpPortTest, SixtyFourFlowsHaveManySourcePortsAndEachKeepsItsOwn) {
  OpenPair();
  std::map<std::uint32_t, std::set<std::uint16_t>> ports_of_flow;
  std::set<std::uint16_t> ports;
  for (int round = 0; round < 3; ++round) {
    out_.clear();
    for (std::uint32_t flow = 0; flow < 64; ++flow) {
      Packet& packet = Add(out_, flow, 100, GetParam().far);
      packet.outer_port = OuterSourcePort(FlowHash{flow * 0x9e37'79b1});
    }
    near_->Send(out_);
    Receive(*far_, 64, [&](const Packet& packet) {
      ports_of_flow[LoadBe32(packet.data)].insert(packet.outer_port);
      ports.insert(packet.outer_port);
    });
  }
  EXPECT_EQ(ports_of_flow.size(), 64u);
  for (const auto& [flow, own] : ports_of_flow) EXPECT_EQ(own.size(), 1u) << "flow " << flow;
  // Of 256 sockets 64 flows would take 57 at random, and fewer than 32 in 1 of 10^20 cases.
  EXPECT_GE(ports.size(), 32u);
  EXPECT_GE(*ports.begin(), 49152);
}

TEST_P(UdpPortTest, APortBelowTheRangeTakesTheFirstSocket) {
  OpenPair();
  for (const std::uint16_t port : std::to_array<std::uint16_t>({0, 4789, 49'151, 49'152}))
    Add(out_, port, 100, GetParam().far).outer_port = port;
  near_->Send(out_);
  std::set<std::uint16_t> ports;
  Receive(*far_, 4, [&](const Packet& packet) { ports.insert(packet.outer_port); });
  EXPECT_EQ(ports.size(), 1u);
}

TEST_P(UdpPortTest, CarriesEcn) {
  OpenPair();
  for (std::uint8_t ecn = 0; ecn < 4; ++ecn) Add(out_, ecn, 100, GetParam().far).outer_ecn = ecn;
  AddAggregate(out_, 3, 1000, 1000, GetParam().far).outer_ecn = 3;
  near_->Send(out_);
  std::vector<int> got;
  Receive(*far_, 7, [&](const Packet& packet) { got.push_back(packet.outer_ecn); });
  EXPECT_EQ(got, (std::vector<int>{0, 1, 2, 3, 3}));
}

// The kernel's result, read on the wire.
TEST_P(UdpPortTest, OuterHeadersAreAsTheyShouldBe) {
  const Family& family = GetParam();
  for (const bool checksum : {true, false}) {
    const auto port = Open({.bind_address = family.name == "v4" ? Ip("10.0.0.1") : Ip("fd00::1"),
                            .udp_checksum = checksum});
    ASSERT_NE(port, nullptr);
    EXPECT_EQ(port->port(), 4789);
    PacketSocket wire("near0");
    out_.clear();
    Add(out_, 1, 100, family.route).outer_ecn = 2;
    port->Send(out_);
    ASSERT_EQ(out_[0].verdict, Verdict::kForward);
    std::vector<ByteVector> frames;
    EXPECT_TRUE(testing::Await(kLimit, [&] {
      for (ByteVector& frame : wire.ReceiveOutgoing()) {
        if (frame.size() == EthernetHeader::kSize + family.headers + 100) frames.push_back(frame);
      }
      return !frames.empty();
    }));
    ASSERT_EQ(frames.size(), 1u);
    const Bytes packet = Bytes(frames[0]).subspan(EthernetHeader::kSize);
    if (family.name == "v4") {
      const auto ip = Ipv4Header::Parse(packet);
      ASSERT_TRUE(ip.ok());
      EXPECT_TRUE(ip->dont_fragment);
      EXPECT_EQ(ip->ttl, 64);
      EXPECT_EQ(ip->ecn, Ecn::kEct0);
      EXPECT_EQ(IpAddress::V4(ip->source), Ip("10.0.0.1"));
    } else {
      const auto ip = Ipv6Header::Parse(packet);
      ASSERT_TRUE(ip.ok());
      EXPECT_EQ(ip->hop_limit, 64);
      EXPECT_EQ(ip->ecn, Ecn::kEct0);
      EXPECT_EQ(ip->source, Ip("fd00::1"));
    }
    const auto udp = UdpHeader::Parse(packet.subspan(family.headers - UdpHeader::kSize));
    ASSERT_TRUE(udp.ok());
    EXPECT_EQ(udp->destination_port, 4789);
    EXPECT_GE(udp->source_port, 49152);
    if (checksum || family.name == "v6") {
      EXPECT_NE(udp->checksum, 0);
      // The pair's device leaves the checksum to hardware, which does not exist.
      EXPECT_TRUE(FindUnfinishedChecksum(packet) ||
                  VerifyTransportChecksum(packet) == TransportChecksum::kRight);
    } else {
      EXPECT_EQ(udp->checksum, 0);
    }
  }
}

TEST_P(UdpPortTest, ASmallerRouteMtuIsReportedForItsPeerOnly) {
  const Family& family = GetParam();
  OpenPair();
  const auto port =
      Open({.bind_address = family.name == "v4" ? Ip("0.0.0.0") : Ip("::"), .sending_sockets = 1});
  ASSERT_NE(port, nullptr);
  const std::string narrow = family.name == "v4" ? "10.0.0.2/32" : "fd00::2/128";
  ASSERT_EQ(RunIp("route replace " + narrow + " dev near0 mtu 1300"), "");
  const std::uint32_t fits = 1300 - family.headers;

  Add(out_, 1, fits, family.route);
  Add(out_, 2, fits + 1, family.route);
  Add(out_, 3, 100, family.near);  // another destination, the same socket
  port->Send(out_);
  EXPECT_EQ(out_[0].verdict, Verdict::kForward) << Name(out_[0].verdict);
  EXPECT_EQ(out_[1].verdict, Verdict::kTooBigSilent) << Name(out_[1].verdict);
  EXPECT_EQ(out_[2].verdict, Verdict::kForward) << Name(out_[2].verdict);
  auto notices = Notices(*port);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].destination, family.route);
  EXPECT_EQ(notices[0].outer_mtu, 1300u);

  // The kernel refuses segments without reporting the MTU; the port determines it.
  out_.clear();
  AddAggregate(out_, 5, static_cast<std::uint16_t>(fits + 1), 50, family.route);
  Add(out_, 6, 100, family.near);
  port->Send(out_);
  EXPECT_EQ(out_[0].verdict, Verdict::kTooBigSilent) << Name(out_[0].verdict);
  EXPECT_EQ(out_[1].verdict, Verdict::kForward) << Name(out_[1].verdict);
  notices = Notices(*port);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].outer_mtu, 1300u);

  // The same for single packets that the port had joined.
  out_.clear();
  for (std::uint32_t i = 0; i < 3; ++i) Add(out_, i, fits + 1, family.route);
  port->Send(out_);
  for (const Packet& packet : out_) EXPECT_EQ(packet.verdict, Verdict::kTooBigSilent);
  EXPECT_EQ(Notices(*port).size(), 1u);
  EXPECT_TRUE(Notices(*port).empty()) << "each is reported once";

  out_.clear();
  AddAggregate(out_, 5, static_cast<std::uint16_t>(fits), 50, family.route);
  port->Send(out_);
  EXPECT_EQ(out_[0].verdict, Verdict::kForward) << Name(out_[0].verdict);
  EXPECT_EQ(Count(*port, "send-error"), 0u);
  EXPECT_EQ(RunIp("route del " + narrow + " dev near0 mtu 1300"), "");
}

// Frames that left through near0 and are of `size` bytes of IP; waits for the first.
std::vector<ByteVector> PacketsOnTheWire(
    PacketSocket& wire, const std::function<bool(Bytes)>& desired,
    std::source_location where = std::source_location::current()) {
  std::vector<ByteVector> packets;
  EXPECT_TRUE(testing::Await({kLimit, where}, [&] {
    for (const ByteVector& frame : wire.ReceiveOutgoing()) {
      const Bytes packet = Bytes(frame).subspan(EthernetHeader::kSize);
      if (desired(packet)) packets.emplace_back(packet.begin(), packet.end());
    }
    return !packets.empty();
  }));
  return packets;
}

// Where another address is published: translated on the way, or another device's.
TEST_P(UdpPortTest, ReceivesOnEveryAddressAndSendsFromOne) {
  const Family& family = GetParam();
  const bool v4 = family.name == "v4";
  const IpAddress own = v4 ? Ip("10.0.0.9") : Ip("fd00::9");
  EXPECT_EQ(v4 ? RunIp("addr add 10.0.0.9/24 dev near0") : AddIp6("fd00::9/64", "near0"), "");
  near_ = Open({.bind_address = own, .receive_on_all = true, .port = 0, .sending_sockets = 1});
  ASSERT_NE(near_, nullptr);
  const FileDescriptor foreign(::socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM, 0));
  const SocketAddress to = SocketAddress::From(family.near, near_->port());
  ASSERT_EQ(
      ::sendto(foreign.get(), "x", 1, 0, reinterpret_cast<const sockaddr*>(&to.storage), to.length),
      1);
  EXPECT_EQ(Receive(*near_, 1).size(), 1u);
  PacketSocket wire("near0");
  Add(out_, 1, 100, family.route);
  near_->Send(out_);
  const auto sent =
      PacketsOnTheWire(wire, [&](Bytes packet) { return packet.size() == family.headers + 100; });
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(IpAddress::FromBytes(own.family(), sent[0].data() + (v4 ? 12 : 8)), own);
}

// Off-path forgers know addresses and try all ports; what they quote must have been sent.
TEST_P(UdpPortTest, AnIcmpErrorCountsOnlyAsTheAnswerToARecentPacket) {
  const Family& family = GetParam();
  const bool v4 = family.name == "v4";
  const IpAddress us = v4 ? Ip("10.0.0.1") : Ip("fd00::1");
  const IpAddress other = v4 ? Ip("10.0.0.3") : Ip("fd00::3");
  const auto port = Open({.bind_address = us, .sending_sockets = 1});
  ASSERT_NE(port, nullptr);
  PacketSocket wire("near0");
  PacketSocket router("far0");
  out_.now = std::chrono::seconds(100);
  Add(out_, 1, 100, family.route);
  port->Send(out_);
  const auto sent =
      PacketsOnTheWire(wire, [&](Bytes packet) { return packet.size() == family.headers + 100; });
  ASSERT_EQ(sent.size(), 1u);
  const std::uint16_t source_port = LoadBe16(sent[0].data() + family.headers - 8);

  static Batch batch;
  const auto forge = [&](const IpAddress& quoted, std::uint16_t quoted_port,
                         std::uint16_t quoted_destination_port, std::uint32_t mtu,
                         std::chrono::seconds at) {
    const ByteVector offending = PacketBuilder(us.ToString(), quoted.ToString())
                                     .Udp(quoted_port, quoted_destination_port)
                                     .Payload(100)
                                     .Build();
    PacketBuilder error(v4 ? "10.0.0.77" : "fd00::77", us.ToString());
    v4 ? error.Icmp(3, 4, mtu) : error.Icmp(2, 0, mtu);
    EXPECT_EQ(router.Send(error.Payload(offending).BuildFrame(Mac("02:00:00:00:00:02"),
                                                              Mac("02:00:00:00:00:01"))),
              "");
    EXPECT_TRUE(Wait(*port));
    batch.now = at;
    EXPECT_GE(port->Receive(batch), 1u) << "what is consumed is work";
    return Notices(*port);
  };
  const std::chrono::seconds soon{101};
  EXPECT_TRUE(forge(other, source_port, 4789, 1300, soon).empty()) << "to another peer";
  EXPECT_TRUE(forge(family.route, source_port, 53, 1300, soon).empty()) << "to another service";
  EXPECT_TRUE(forge(family.route, source_port, 4789, 1300, std::chrono::seconds(104)).empty())
      << "to one of long ago";
  EXPECT_EQ(Count(*port, "icmp-unexpected"), 3u);
  const auto notices = forge(family.route, source_port, 4789, 1290, soon);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].destination, family.route);
  EXPECT_EQ(notices[0].outer_mtu, 1290u);
  EXPECT_EQ(Count(*port, "icmp-unexpected"), 3u);
  const std::vector<IcmpErrors> errors = port->Errors();
  ASSERT_EQ(errors.size(), 1u) << "the forged ones are no peer's";
  EXPECT_EQ(errors[0].destination, family.route);
  EXPECT_EQ(errors[0].from, v4 ? Ip("10.0.0.77") : Ip("fd00::77"));
  EXPECT_EQ(errors[0].type, v4 ? 3 : 2);
  EXPECT_EQ(errors[0].at, soon);

  // The kernel has believed every one of them; what it keeps of that must not stop our packets.
  out_.clear();
  out_.now = std::chrono::seconds(120);
  Add(out_, 2, 1500 - family.headers, family.route);
  Add(out_, 3, 1500 - family.headers, other);
  port->Send(out_);
  EXPECT_EQ(out_[0].verdict, Verdict::kForward) << Name(out_[0].verdict);
  EXPECT_EQ(out_[1].verdict, Verdict::kForward) << Name(out_[1].verdict);
  EXPECT_TRUE(Notices(*port).empty());
  out_.clear();
  Add(out_, 4, 1501 - family.headers, family.route);
  port->Send(out_);
  EXPECT_EQ(out_[0].verdict, Verdict::kTooBigSilent) << "as the device's MTU says";
}

// Where pods cannot follow the path's MTU: without DF, for routers to cut; IPv6 routers do not.
TEST_P(UdpPortTest, APacketThatMayBeFragmentedLeavesWithoutDf) {
  const Family& family = GetParam();
  const bool v4 = family.name == "v4";
  const auto port =
      Open({.bind_address = v4 ? Ip("10.0.0.1") : Ip("fd00::1"), .sending_sockets = 1});
  ASSERT_NE(port, nullptr);
  const std::string narrow = v4 ? "10.0.0.2/32" : "fd00::2/128";
  ASSERT_EQ(RunIp("route replace " + narrow + " dev near0 mtu 1280"), "");
  PacketSocket wire("near0");
  const std::uint32_t size = 1350 - family.headers;
  Add(out_, 1, size, family.route).may_fragment = true;
  AddAggregate(out_, 3, static_cast<std::uint16_t>(size), 50, family.route).may_fragment = true;
  Add(out_, 4, 100, family.route).may_fragment = true;
  Add(out_, 5, 100, family.route);
  port->Send(out_);
  for (const Packet& packet : out_)
    EXPECT_EQ(packet.verdict, Verdict::kForward) << Name(packet.verdict);
  std::vector<std::uint16_t> flags;  // IPv4: DF and offset of each packet
  std::size_t fragments = 0;         // IPv6
  std::size_t last = 0;
  EXPECT_TRUE(testing::Await(kLimit, [&] {
    for (const ByteVector& frame : wire.ReceiveOutgoing()) {
      const Bytes packet = Bytes(frame).subspan(EthernetHeader::kSize);
      last += packet.size() == family.headers + 100 ? 1 : 0;
      if (v4 && Load8(packet.data()) == 0x45 && LoadBe16(packet.data() + 22) == 4789)
        flags.push_back(LoadBe16(packet.data() + 6));
      fragments += !v4 && Load8(packet.data() + 6) == 44 ? 1 : 0;
    }
    return last >= 2;
  }));
  EXPECT_EQ(last, 2u);
  if (v4) {
    ASSERT_GE(flags.size(), 3u) << "segments may pass the device as one";
    for (std::size_t i = 0; i + 1 < flags.size(); ++i) EXPECT_EQ(flags[i], 0) << i;
    EXPECT_EQ(flags.back(), 0x4000) << "and the next one with DF again";
  } else {
    EXPECT_EQ(fragments, 3u * 2) << "two of each that does not fit";
  }
  EXPECT_EQ(RunIp("route del " + narrow + " dev near0 mtu 1280"), "");
}

// This process's socket with that port; -1: none.
int SocketWithPort(std::uint16_t port) {
  for (int socket = 0; socket < 1024; ++socket) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
        PortOf(address) == port)
      return socket;
  }
  return -1;
}

// Bytes that wait at the socket, errors too.
std::uint32_t Waiting(int socket) {
  std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
  socklen_t length = sizeof memory;
  EXPECT_EQ(::getsockopt(socket, SOL_SOCKET, SO_MEMINFO, memory.data(), &length), 0);
  return memory[SK_MEMINFO_RMEM_ALLOC];
}

// More than are read at a time cost no packet; more than are read for one packet cost that one, not
// all that follow.
TEST_P(UdpPortTest, ForgedErrorsStopNoPeer) {
  const bool v4 = GetParam().name == "v4";
  const IpAddress us = v4 ? Ip("10.0.0.1") : Ip("fd00::1");
  const auto port = Open({.bind_address = us, .sending_sockets = 1});
  ASSERT_NE(port, nullptr);
  PacketSocket wire("near0");
  PacketSocket router("far0");
  Add(out_, 1, 100, GetParam().route);
  port->Send(out_);
  const auto sent = PacketsOnTheWire(
      wire, [&](Bytes packet) { return packet.size() == GetParam().headers + 100; });
  ASSERT_EQ(sent.size(), 1u);
  const std::uint16_t source_port = LoadBe16(sent[0].data() + GetParam().headers - 8);
  const ByteVector offending = PacketBuilder(us.ToString(), GetParam().route.ToString())
                                   .Udp(source_port, kVxlanPort)
                                   .Payload(100)
                                   .Build();
  PacketBuilder error(v4 ? "10.0.0.77" : "fd00::77", us.ToString());
  v4 ? error.Icmp(3, 1, 0) : error.Icmp(1, 3, 0);  // host, address unreachable
  const ByteVector forged =
      error.Payload(offending).BuildFrame(Mac("02:00:00:00:00:02"), Mac("02:00:00:00:00:01"));
  const int socket = SocketWithPort(source_port);
  ASSERT_GE(socket, 0);
  const int room = 16 << 20;
  ASSERT_EQ(::setsockopt(socket, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room), 0);
  const auto arrive = [&](std::uint32_t bytes,
                          std::source_location where = std::source_location::current()) {
    return testing::Await({kLimit, where}, [&] { return Waiting(socket) >= bytes; });
  };
  static Batch batch;
  struct Row {
    std::uint32_t errors;
    std::ptrdiff_t lost;
  };
  for (const Row& row : {Row{300, 0}, Row{900, 1}}) {
    EXPECT_EQ(router.Send(forged), "");
    ASSERT_TRUE(arrive(1));
    const std::uint32_t one = Waiting(socket);
    for (std::uint32_t i = 1; i < row.errors; ++i) EXPECT_EQ(router.Send(forged), "");
    ASSERT_TRUE(arrive(row.errors * one));
    out_.clear();
    // Of increasing sizes: each is a separate message.
    for (std::uint32_t i = 0; i < 32; ++i) Add(out_, i, 100 + i, GetParam().route);
    port->Send(out_);
    EXPECT_EQ(std::count_if(out_.begin(), out_.end(),
                            [](const Packet& each) { return each.verdict != Verdict::kForward; }),
              row.lost)
        << "of 32, " << row.errors << " forged errors";
    while (port->Receive(batch) != 0) {
    }
  }
  EXPECT_GT(Count(*port, "icmp-unreachable") + Count(*port, "icmp-unexpected"), 0u);
}

// An outage of one peer must not delay packets to other peers.
TEST_P(UdpPortTest, AnUnreachablePeerIsTriedOnceABatch) {
  OpenPair(true, 1);
  const bool v4 = GetParam().name == "v4";
  const auto tries = [&] {
    return v4 ? NetCounter("Ip", "OutNoRoutes") : NetCounter("", "Ip6OutNoRoutes");
  };
  const IpAddress unreachable = v4 ? Ip("203.0.113.1") : Ip("2001:db8::1");
  const std::uint64_t before = tries();
  for (std::uint32_t i = 0; i < 200; ++i)
    Add(out_, i, 100 + i, i % 2 == 0 ? unreachable : GetParam().near);
  near_->Send(out_);
  for (std::uint32_t i = 0; i < 200; ++i)
    EXPECT_EQ(out_[i].verdict, i % 2 == 0 ? Verdict::kWireError : Verdict::kForward) << i;
  EXPECT_EQ(Count(*near_, "send-error"), 100u) << "each is counted";
  EXPECT_LE(tries() - before, 5u) << "but not tried";
}

// Segments that were one message, each of which would be counted by itself.
TEST_P(UdpPortTest, AnErrorOfThePeerOrAFirewallConcernsAllSegmentsOfAMessage) {
  OpenPair(true, 1);
  for (std::uint32_t i = 0; i < 5; ++i) Add(out_, i, 500, GetParam().far);
  std::uint64_t count = 0;
  for (const int error : {ENETUNREACH, EHOSTUNREACH, ENETDOWN, EPERM}) {
    for (Packet& packet : out_) packet.verdict = Verdict::kForward;
    WhereRefused({{.call = SYS_sendmmsg, .error = error}, {.call = SYS_sendmsg, .error = error}},
                 [&] { near_->Send(out_); });
    for (const Packet& packet : out_) EXPECT_EQ(packet.verdict, Verdict::kWireError) << error;
    EXPECT_EQ(Count(*near_, "send-error"), ++count) << error;
  }
}

TEST_P(UdpPortTest, ARefusalToSegmentIsRememberedForAWhile) {
  OpenPair(true, 1);
  for (std::uint32_t i = 0; i < 5; ++i) Add(out_, i, 500, GetParam().far);
  for (const auto& [second, refusals] :
       {std::pair(100, 1u), std::pair(109, 1u), std::pair(110, 2u)}) {
    for (Packet& packet : out_) packet.verdict = Verdict::kForward;
    out_.now = std::chrono::seconds(second);
    WhereRefused({{.call = SYS_sendmmsg, .error = EIO}, {.call = SYS_sendmsg, .error = EIO}},
                 [&] { near_->Send(out_); });
    EXPECT_EQ(Count(*near_, "segmentation-refused"), refusals) << second;
  }
}

TEST_P(UdpPortTest, AMessageThatTheQueueHasNoRoomForIsDroppedWholeAndNoOther) {
  const Family& family = GetParam();
  const auto port = Open(
      {.bind_address = family.name == "v4" ? Ip("10.0.0.1") : Ip("fd00::1"), .sending_sockets = 1});
  ASSERT_NE(port, nullptr);
  ASSERT_EQ(RunTc("qdisc add dev near0 root bfifo limit 1500"), "");
  AddAggregate(out_, 5, 1000, 1000, family.route);
  Add(out_, 1, 100, family.route);
  port->Send(out_);
  EXPECT_EQ(RunTc("qdisc del dev near0 root"), "");
  EXPECT_EQ(out_[0].verdict, Verdict::kWireFull) << Name(out_[0].verdict);
  EXPECT_EQ(out_[1].verdict, Verdict::kForward) << Name(out_[1].verdict);
}

// When a full queue stops an aggregate half-way, a part was sent.
TEST_P(UdpPortTest, PacketsSentBeforeAnErrorAreKnown) {
  const Family& family = GetParam();
  const bool v4 = family.name == "v4";
  const auto port = Open({.bind_address = v4 ? Ip("10.0.0.1") : Ip("fd00::1"),
                          .udp_checksum = false,
                          .sending_sockets = 1});
  ASSERT_NE(port, nullptr);
  // One packet at once, one in the queue, and the next ones after minutes. Either has room for the
  // kernel's own small packets (MLD), which come at any time, and none for a second one.
  ASSERT_EQ(RunIp("link set near0 txqueuelen 1000"), "");
  ASSERT_EQ(RunTc("qdisc add dev near0 root tbf rate 100bit burst 2000 limit 2000"), "");
  // Over IPv6 there is always a checksum, but packets that may be fragmented are sent singly.
  AddAggregate(out_, 5, 1000, 1000, family.route).may_fragment = !v4;
  port->Send(out_);
  EXPECT_EQ(RunTc("qdisc del dev near0 root"), "");
  EXPECT_EQ(out_[0].verdict, Verdict::kWireFull) << Name(out_[0].verdict);
  EXPECT_EQ(out_[0].left, 2) << "one sent, one queued";
}

TEST_P(UdpPortTest, AnIcmpErrorWakesIsCountedAndSpoilsNoSend) {
  OpenPair(true, 1);
  const bool v4 = GetParam().name == "v4";
  const IpAddress unreachable = v4 ? Ip("127.0.0.9") : Ip("fd01::2");
  if (!v4) far_.reset();  // its address, without it
  const int on = 1;       // the error is not the only control message
  ASSERT_EQ(::setsockopt(SocketWithPort(49'152), v4 ? IPPROTO_IP : IPPROTO_IPV6,
                         v4 ? IP_RECVTTL : IPV6_RECVHOPLIMIT, &on, sizeof on),
            0);
  Add(out_, 1, 100, unreachable);
  near_->Send(out_);
  EXPECT_EQ(out_[0].verdict, Verdict::kForward);
  EXPECT_TRUE(Wait(*near_)) << "the port-unreachable message";
  static Batch batch;
  EXPECT_GE(near_->Receive(batch), 1u) << "it is consumed";
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(Count(*near_, "icmp-refused"), 1u);
  const std::vector<IcmpErrors> errors = near_->Errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].destination, unreachable);
  EXPECT_EQ(errors[0].from, unreachable);
  EXPECT_EQ(errors[0].type, v4 ? 3 : 1) << "destination unreachable";
  EXPECT_EQ(errors[0].code, v4 ? 3 : 4) << "port unreachable";
  EXPECT_EQ(errors[0].count, 1u);
  EXPECT_FALSE(IsReadable(*near_, std::chrono::milliseconds(0))) << "an idle worker may sleep";

  // Not drained before the next send, which would return it.
  out_.clear();
  Add(out_, 2, 100, unreachable);
  near_->Send(out_);
  EXPECT_TRUE(Wait(*near_));
  out_.clear();
  Add(out_, 3, 100, GetParam().near);
  near_->Send(out_);
  EXPECT_EQ(out_[0].verdict, Verdict::kForward) << Name(out_[0].verdict);
  EXPECT_EQ(Receive(*near_, 1).size(), 1u);
  near_->Receive(batch);
  EXPECT_EQ(Count(*near_, "icmp-refused"), 2u);
  EXPECT_EQ(near_->Errors()[0].count, 2u);
  EXPECT_EQ(Count(*near_, "send-error"), 0u);
}

TEST_P(UdpPortTest, ABusyWorkerReadsErrorsNowAndThen) {
  OpenPair(true, 1);
  EXPECT_EQ(AddIp6("fd01::3/128", "lo"), "");
  Add(out_, 1, 100, GetParam().name == "v4" ? Ip("127.0.0.9") : Ip("fd01::3"));
  near_->Send(out_);
  EXPECT_TRUE(Wait(*near_));
  static Batch batch;
  for (int round = 0; round < 64; ++round) {
    EXPECT_EQ(Count(*near_, "icmp-refused"), 0u);
    SendBytes(*far_, MakePacket(PortKind::kWireDatagram, 1, 100), GetParam().near);
    EXPECT_GE(near_->Receive(batch), 1u);
  }
  EXPECT_EQ(Count(*near_, "icmp-refused"), 1u);
}

// One of `near_`, which also receives, and one of `far_`, in turn: of one size and from one socket,
// so that only the destination distinguishes them.
TEST_P(UdpPortTest, EachPeerOfOneBatchGetsItsOwn) {
  OpenPair(true, 1);
  constexpr std::uint32_t kEach = 20;
  std::vector<ByteVector> for_near, for_far;
  for (std::uint32_t i = 0; i < 2 * kEach; ++i) {
    const bool far = i % 2 == 1;
    Add(out_, i, 500, far ? GetParam().far : GetParam().near);
    (far ? for_far : for_near).push_back(MakePacket(PortKind::kWireDatagram, i, 500));
  }
  // And in runs, one directly after the other.
  for (std::uint32_t i = 2 * kEach; i < 4 * kEach; ++i) {
    const bool far = i < 3 * kEach;
    Add(out_, i, 500, far ? GetParam().far : GetParam().near);
    (far ? for_far : for_near).push_back(MakePacket(PortKind::kWireDatagram, i, 500));
  }
  near_->Send(out_);
  for (const Packet& packet : out_)
    EXPECT_EQ(packet.verdict, Verdict::kForward) << Name(packet.verdict);
  EXPECT_EQ(Receive(*near_, for_near.size()), for_near);
  EXPECT_EQ(Receive(*far_, for_far.size()), for_far);
}

TEST_P(UdpPortTest, WithoutChecksumsAggregatesAreSplit) {
  OpenPair(false);
  EXPECT_EQ(near_->features().datagram_aggregation, GetParam().name == "v6")
      << "over IPv6 there is always a checksum";
  EXPECT_TRUE(far_->features().datagram_aggregation);
  Add(out_, 8, 100, GetParam().far);
  AddAggregate(out_, 4, 900, 77, GetParam().far);
  Add(out_, 9, 100, GetParam().far);
  near_->Send(out_);
  EXPECT_EQ(out_[1].verdict, Verdict::kForward) << Name(out_[1].verdict);
  const std::vector<ByteVector> got = Receive(*far_, 6);
  ASSERT_EQ(got.size(), 6u);
  EXPECT_EQ(got[4], MakePacket(PortKind::kWireDatagram, 3, 77));
  EXPECT_EQ(got[5], MakePacket(PortKind::kWireDatagram, 9, 100));
}

// Zero is accepted over IPv6 too: RFC 7348 section 5 says "MUST be accepted", and RFC 6935 section
// 5 allows it for a tunnel's port. (Linux' vxlan device drops it unless made with udp6zerocsumrx.)
TEST_P(UdpPortTest, TheKernelDropsWrongChecksumsAndCountsThemAndTakesZero) {
  const bool v4 = GetParam().name == "v4";
  const auto port = Open({.bind_address = v4 ? Ip("10.0.0.1") : Ip("fd00::1")});
  ASSERT_NE(port, nullptr);
  const auto errors = [&] {
    return v4 ? NetCounter("Udp", "InCsumErrors") : NetCounter("", "Udp6InCsumErrors");
  };
  const std::uint64_t before = errors();
  // Sent out of far0, received at near0: as from the wire.
  PacketSocket peer("far0");
  VxlanBuilder zero(PacketBuilder("10.244.1.2", "10.244.2.3").Payload(10).Build());
  zero.Outer(GetParam().route, v4 ? Ip("10.0.0.1") : Ip("fd00::1"));
  const auto send = [&](VxlanBuilder builder) {
    EXPECT_EQ(peer.Send(builder.BuildFrame(Mac("02:00:00:00:00:02"), Mac("02:00:00:00:00:01"))),
              "");
  };
  send(VxlanBuilder(zero).WrongUdpChecksum());
  send(VxlanBuilder(zero).Ports(50'001).UdpChecksum());
  send(VxlanBuilder(zero).Ports(50'002));
  std::vector<std::uint16_t> from;
  Receive(*port, 2, [&](const Packet& packet) { from.push_back(packet.outer_port); });
  EXPECT_THAT(from, ::testing::ElementsAre(50'001, 50'002));
  EXPECT_EQ(errors(), before + 1);
  EXPECT_EQ(Count(*port, "socket-overflow"), 0u) << "that is another count";
}

TEST_P(UdpPortTest, AFullSocketIsCounted) {
  near_ = Open(
      {.bind_address = GetParam().near, .port = 0, .sending_sockets = 1, .receive_buffer = 4096});
  ASSERT_NE(near_, nullptr);
  for (std::uint32_t i = 0; i < 100; ++i) Add(out_, i, 1000 + i, GetParam().near);
  near_->Send(out_);
  const std::uint64_t lost = Count(*near_, "socket-overflow");
  EXPECT_GT(lost, 0u);
  EXPECT_LT(lost, 100u);
}

// Errors that a test cannot make the kernel return.
TEST(IsFull, ErrorsThatMayPass) {
  for (const int error : {EAGAIN, ENOBUFS, ENOMEM}) EXPECT_TRUE(IsFull(error)) << error;
  for (const int error : {0, EMSGSIZE, EIO, EPERM, ENETUNREACH})
    EXPECT_FALSE(IsFull(error)) << error;
}

TEST_P(UdpPortTest, AnEmptyDatagramIsNoPacket) {
  OpenPair();
  const bool v4 = GetParam().name == "v4";
  const FileDescriptor foreign(::socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM, 0));
  const SocketAddress to = SocketAddress::From(GetParam().far, far_->port());
  ASSERT_EQ(::sendto(foreign.get(), nullptr, 0, 0, reinterpret_cast<const sockaddr*>(&to.storage),
                     to.length),
            0);
  Add(out_, 1, 100, GetParam().far);
  near_->Send(out_);
  std::vector<std::uint32_t> lengths;
  Receive(*far_, 1, [&](const Packet& packet) { lengths.push_back(packet.length); });
  EXPECT_EQ(lengths, std::vector<std::uint32_t>{100});
  EXPECT_EQ(Count(*far_, "empty-datagram"), 1u);
}

// No packet that a sender can send may look like "no packets".
TEST_P(UdpPortTest, AnEmptyDatagramIsTakenAndCounted) {
  OpenPair();
  const bool v4 = GetParam().name == "v4";
  const FileDescriptor foreign(::socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM, 0));
  const SocketAddress to = SocketAddress::From(GetParam().far, far_->port());
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(::sendto(foreign.get(), nullptr, 0, 0, reinterpret_cast<const sockaddr*>(&to.storage),
                       to.length),
              0);
  }
  ASSERT_TRUE(Wait(*far_));
  static Batch batch;
  EXPECT_EQ(far_->Receive(batch), 3u);
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(far_->Receive(batch), 0u);
  EXPECT_EQ(Count(*far_, "empty-datagram"), 3u);
}

TEST(MaxUdpSegments, AreWhatThisKernelTakesAtOnce) {
  ASSERT_EQ(EnterPrivateNetns(), "");
  const std::uint32_t most = MaxUdpSegments();
  EXPECT_GE(most, 64u);
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM, 0));
  const int size = 18;
  ASSERT_EQ(::setsockopt(socket.get(), IPPROTO_UDP, UDP_SEGMENT, &size, sizeof size), 0);
  const SocketAddress to = SocketAddress::From(Ip("127.0.0.1"), 9);
  const ByteVector bytes(std::size_t{size} * (most + 1));
  const auto send = [&](std::size_t count) {
    return ::sendto(socket.get(), bytes.data(), count * size, 0,
                    reinterpret_cast<const sockaddr*>(&to.storage), to.length) >= 0;
  };
  EXPECT_TRUE(send(most));
  EXPECT_FALSE(send(most + 1));
}

// The batch size after a call with small datagrams only: 64 aggregates would be 4 MB at once.
TEST_P(UdpPortTest, ABatchStaysSmallAfterACallWithSmallDatagrams) {
  OpenPair();
  for (std::uint32_t i = 0; i < 40; ++i) AddAggregate(out_, 60, 1000, 1000, GetParam().far);
  near_->Send(out_);
  static Batch batch;
  ASSERT_TRUE(Wait(*far_));
  far_->Receive(batch);  // aggregates have been seen
  while (IsReadable(*far_, std::chrono::milliseconds(0))) far_->Receive(batch);
  out_.clear();
  Add(out_, 1, 100, GetParam().far);
  near_->Send(out_);
  ASSERT_TRUE(Wait(*far_));
  far_->Receive(batch);
  ASSERT_EQ(batch.size(), 1u) << "a call with a small one only";
  out_.clear();
  for (std::uint32_t i = 0; i < 40; ++i) AddAggregate(out_, 60, 1000, 1000, GetParam().far);
  near_->Send(out_);
  ASSERT_TRUE(Wait(*far_));
  far_->Receive(batch);
  std::size_t bytes = 0;
  for (const Packet& packet : batch) bytes += packet.length;
  EXPECT_LE(bytes, 2 * 256u * 1024) << "and then aggregates again";
}

// No route of this kernel refuses segments (EIO: IPsec, or a device without checksums before Linux
// 6.11), so only the stored result can be tested.
TEST(UdpPaths, ASegmentationErrorIsRememberedForItsDestinationForAWhile) {
  ASSERT_EQ(EnterPrivateNetns(), "");
  using std::chrono::seconds;
  UdpPaths paths(kVxlanPort);
  ASSERT_TRUE(paths.Open({.bind_address = Ip("127.0.0.1")}).ok());
  const Timestamp now = seconds(100);
  paths.RefuseSegments(Ip("127.0.0.2"), now);
  EXPECT_GT(paths.To(Ip("127.0.0.2"), now).segments_again, now);
  EXPECT_LE(paths.To(Ip("127.0.0.2"), now).segments_again, now + seconds(10));
  EXPECT_LE(paths.To(Ip("127.0.0.3"), now).segments_again, now)
      << "other destinations are not concerned";
}

TEST(UdpPaths, WhatWasSentWholeIsAnsweredButTracksNoFlow) {
  using std::chrono::seconds;
  UdpPaths paths(kVxlanPort);
  const IpAddress there = Ip("127.0.0.2");
  EXPECT_FALSE(paths.IsTracked(3, there, seconds(1)));
  EXPECT_FALSE(paths.WasSentLately(3, there, seconds(1)));
  paths.NoteSentWhole(3, there, seconds(1));
  EXPECT_FALSE(paths.IsTracked(3, there, seconds(1)));
  EXPECT_TRUE(paths.WasSentLately(3, there, seconds(4)));
  EXPECT_FALSE(paths.WasSentLately(3, there, seconds(5)));
  paths.NoteSent(3, there, seconds(1));
  EXPECT_TRUE(paths.IsTracked(3, there, seconds(6)));
  EXPECT_FALSE(paths.IsTracked(3, there, seconds(7)));
}

// The former source would remain.
TEST(UdpPaths, ASocketThatStaysConnectedKnowsNoRoute) {
  ASSERT_EQ(EnterPrivateNetns(), "");
  UdpPaths paths(kVxlanPort);
  ASSERT_TRUE(paths.Open({.family = IpFamily::kV6, .bind_address = Ip("::")}).ok());
  // An address of IPv6 is longer than the one that disconnects.
  WhereRefused({{.call = SYS_connect, .error = EINVAL, .third = sizeof(sockaddr)}},
               [&] { EXPECT_EQ(paths.To(Ip("::1"), {}).route_mtu, 0u); });
}

TEST(UdpPaths, TheRouteIsReadPeriodically) {
  ASSERT_EQ(EnterPrivateNetns(), "");
  using std::chrono::seconds;
  UdpPaths paths(kVxlanPort);
  ASSERT_TRUE(paths.Open({.bind_address = Ip("127.0.0.1")}).ok());
  const IpAddress there = Ip("127.0.0.77");
  EXPECT_EQ(paths.To(there, seconds(100)).route_mtu, 65'535u) << "the loopback device's";
  ASSERT_EQ(RunIp("route add local 127.0.0.77 dev lo table local mtu 1300"), "");
  EXPECT_EQ(paths.To(there, seconds(109)).route_mtu, 65'535u);
  EXPECT_EQ(paths.To(there, seconds(110)).route_mtu, 1300u);
  EXPECT_EQ(RunIp("route del local 127.0.0.77 dev lo table local"), "");
  for (std::uint32_t i = 0; i < 200; ++i) paths.To(IpAddress::V4(0x7f00'0100 + i), seconds(200));
  EXPECT_EQ(paths.To(IpAddress::V4(0x7f00'0200), seconds(200)).route_mtu, 0u)
      << "many destinations at once are read in time";
  EXPECT_EQ(paths.To(IpAddress::V4(0x7f00'0200), seconds(201)).route_mtu, 65'535u);
}

// Reading the route to one destination binds the socket to an address, which must not affect the
// next read.
TEST(UdpPaths, TheRouteIsReadWithoutTheFormerSource) {
  ASSERT_EQ(EnterPrivateNetns(), "");
  for (const char* command :
       {"route add 10.77.0.0/16 dev lo mtu 1400", "route add 10.77.0.0/16 dev lo mtu 1300 table 99",
        "rule add from 127.0.0.1 to 10.77.0.0/16 table 99 pref 10"})
    ASSERT_EQ(RunIp(command), "") << command;
  UdpPaths paths(kVxlanPort);
  ASSERT_TRUE(paths.Open({.bind_address = Ip("0.0.0.0")}).ok());
  EXPECT_EQ(paths.To(Ip("127.0.0.2"), std::chrono::seconds(100)).route_mtu, 65'535u);
  EXPECT_EQ(paths.To(Ip("10.77.0.1"), std::chrono::seconds(100)).route_mtu, 1400u);
  EXPECT_EQ(RunIp("rule del pref 10"), "");
  EXPECT_EQ(RunIp("route del 10.77.0.0/16 dev lo"), "");
}

// Errors of this host itself, of two sockets.
TEST(UdpErrors, SomeAreReadAtATime) {
  ASSERT_EQ(EnterPrivateNetns(), "");
  ASSERT_EQ(RunIp("link set lo mtu 1500"), "");
  const UdpPaths paths(kVxlanPort);
  UdpErrors errors(paths, kVxlanPort);
  ASSERT_TRUE(errors.Open().ok());
  const SocketAddress to = SocketAddress::From(Ip("127.0.0.1"), 9);
  const ByteVector bytes(2000);
  std::vector<FileDescriptor> sockets;
  for (int i = 0; i < 2; ++i) {
    const int fd = sockets.emplace_back(::socket(AF_INET, SOCK_DGRAM, 0)).get();
    const int on = 1, probe = IP_PMTUDISC_PROBE, room = 16 << 20;
    ASSERT_EQ(::setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof on), 0);
    ASSERT_EQ(::setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &probe, sizeof probe), 0);
    ASSERT_EQ(::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room), 0);
    ASSERT_TRUE(errors.Watch(fd).ok());
    for (int sent = 0; sent < 300; ++sent) {
      EXPECT_LT(::sendto(fd, bytes.data(), bytes.size(), 0,
                         reinterpret_cast<const sockaddr*>(&to.storage), to.length),
                0);
    }
  }
  EXPECT_EQ(errors.DrainAll({}), 256u);
  std::array<PathMtuNotice, 2> notices;
  ASSERT_EQ(errors.TakeNotices(notices), 1u);
  EXPECT_EQ(notices[0].outer_mtu, 1500u);
}

TEST(UdpErrors, OfSeveralPathMtusTheLeastIsKeptUntilItIsTaken) {
  const UdpPaths paths(kVxlanPort);
  UdpErrors errors(paths, kVxlanPort);
  for (const std::uint32_t mtu : {1400u, 1300u, 1350u}) errors.Note({Ip("10.0.0.2"), mtu});
  errors.Note({Ip("10.0.0.3"), 0});
  std::array<PathMtuNotice, 2> notices;
  ASSERT_EQ(errors.TakeNotices(notices), 1u);
  EXPECT_EQ(notices[0].outer_mtu, 1300u);
  errors.Note({Ip("10.0.0.2"), 1400});
  ASSERT_EQ(errors.TakeNotices(notices), 1u);
  EXPECT_EQ(notices[0].outer_mtu, 1400u);
}

TEST(UdpErrors, TheLatestDestinationsAreKept) {
  const UdpPaths paths(kVxlanPort);
  UdpErrors errors(paths, kVxlanPort);
  const auto record = [&](std::uint32_t host, std::uint8_t code, int at) {
    errors.Record({IpAddress::V4(host), 1, 3, code, Ip("10.0.0.1"), std::chrono::seconds(at)});
  };
  for (std::uint32_t host = 1; host <= 64; ++host) record(host, 1, static_cast<int>(host));
  record(1, 3, 100);
  const auto of = [&](std::uint32_t host) {
    const auto all = errors.Errors();
    const auto found = std::ranges::find(all, IpAddress::V4(host), &IcmpErrors::destination);
    return found == all.end() ? IcmpErrors() : *found;
  };
  EXPECT_EQ(of(1).count, 2u);
  EXPECT_EQ(of(1).code, 3) << "of the last one";
  EXPECT_EQ(of(1).at, std::chrono::seconds(100));
  record(65, 1, 101);
  EXPECT_EQ(errors.Errors().size(), 64u);
  EXPECT_EQ(of(65).count, 1u);
  EXPECT_EQ(of(2).count, 0u) << "the oldest made room";
  EXPECT_EQ(of(1).count, 2u);
}

TEST(UdpReceiver, A32BitCountIsExtended) {
  EXPECT_EQ(Widen(0, 5), 5u);
  EXPECT_EQ(Widen(5, 5), 5u);
  EXPECT_EQ(Widen(0xffff'fffe, 3), 0x1'0000'0003u);
  EXPECT_EQ(Widen(0x7'0000'0003, 4), 0x7'0000'0004u);
}

TEST(UdpReceiver, ADatagramThatIsCutOffIsAnError) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  const FileDescriptor sender(ends[0]);
  const auto receiver = std::make_unique<UdpReceiver>(FileDescriptor(ends[1]));
  const int room = 1 << 20;
  ASSERT_EQ(::setsockopt(sender.get(), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room), 0);
  const ByteVector bytes(kMaxPacket + 1);
  ASSERT_EQ(::send(sender.get(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  static Batch batch;
  EXPECT_EQ(receiver->Receive(batch), 1u);
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(receiver->errors(), 1u);
}

TEST_P(UdpPortTest, ATtlIsNoEcn) {
  const bool v4 = GetParam().name == "v4";
  FileDescriptor socket(::socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM, 0));
  const SocketAddress any = SocketAddress::From(GetParam().near, 0);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&any.storage), any.length), 0);
  const SocketAddress self = SocketAddress::From(GetParam().near, BoundPort(socket));
  const int on = 1, ttl = 65, level = v4 ? IPPROTO_IP : IPPROTO_IPV6;
  ASSERT_EQ(::setsockopt(socket.get(), level, v4 ? IP_RECVTTL : IPV6_RECVHOPLIMIT, &on, sizeof on),
            0);
  ASSERT_EQ(::setsockopt(socket.get(), level, v4 ? IP_TTL : IPV6_UNICAST_HOPS, &ttl, sizeof ttl),
            0);
  ASSERT_EQ(::sendto(socket.get(), "x", 1, 0, reinterpret_cast<const sockaddr*>(&self.storage),
                     self.length),
            1);
  const auto receiver = std::make_unique<UdpReceiver>(std::move(socket));
  static Batch batch;
  ASSERT_EQ(receiver->Receive(batch), 1u);
  EXPECT_EQ(batch[0].outer_ecn, 0);
}

TEST_P(UdpPortTest, RefusesTheOtherFamily) {
  OpenPair();
  Add(out_, 1, 100, GetParam().name == "v4" ? Ip("fd00::2") : Ip("10.0.0.2"));
  near_->Send(out_);
  EXPECT_EQ(out_[0].verdict, Verdict::kWireError);
}

TEST_P(UdpPortTest, RefusesDescriptorsItCannotSend) {
  OpenPair();
  Add(out_, 0, 100, GetParam().far).checksum = ChecksumState::kPartial;
  AddAggregate(out_, 2, 100, 100, GetParam().far).segment_size = 0;
  Add(out_, 2, 100, GetParam().far).length = 0;
  Add(out_, 3, 100, GetParam().far);
  Packet& superframe = Add(out_, 4, 100, GetParam().far);
  superframe.segmentation = Segmentation::kTcp;
  superframe.segment_size = 50;
  Packet& partial = Add(out_, 5, 100, GetParam().far);
  partial = superframe;
  partial.checksum = ChecksumState::kPartial;
  EXPECT_TRUE(near_->Takes(out_[3], {}));
  EXPECT_FALSE(near_->Takes(partial, {}));
  near_->Send(out_);
  for (std::size_t i = 0; i < out_.size(); ++i)
    EXPECT_EQ(out_[i].verdict, i == 3 ? Verdict::kForward : Verdict::kWireError) << i;
  EXPECT_EQ(Receive(*far_, 1),
            std::vector<ByteVector>{MakePacket(PortKind::kWireDatagram, 3, 100)});
}

TEST_P(UdpPortTest, UnreachableIsAnErrorOfThatPacketOnly) {
  OpenPair(true, 1);
  Add(out_, 1, 100, GetParam().name == "v4" ? Ip("203.0.113.1") : Ip("2001:db8::1"));
  Add(out_, 2, 100, GetParam().near);
  near_->Send(out_);
  EXPECT_EQ(out_[0].verdict, Verdict::kWireError) << Name(out_[0].verdict);
  EXPECT_EQ(out_[1].verdict, Verdict::kForward);
  EXPECT_EQ(Count(*near_, "send-error"), 1u);
}

TEST_P(UdpPortTest, OpenNamesTheErrorAndTheNextStep) {
  OpenPair();
  UdpOptions options;
  options.family = GetParam().near.family();
  options.bind_address = GetParam().near;
  options.port = near_->port();
  const auto taken = UdpPort::Open(options);
  EXPECT_EQ(taken.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(taken.status().ToString(), HasSubstr(GetParam().near.ToString()));
  EXPECT_THAT(taken.status().ToString(), HasSubstr("ss -ulnp"));

  options.bind_address = GetParam().name == "v4" ? Ip("192.0.2.77") : Ip("2001:db8::77");
  EXPECT_THAT(UdpPort::Open(options).status().ToString(),
              HasSubstr("no interface has this address"));

  options.bind_address = GetParam().name == "v4" ? Ip("fd00::1") : Ip("10.0.0.1");
  EXPECT_EQ(UdpPort::Open(options).status().code(), absl::StatusCode::kInvalidArgument);

  options.bind_address = GetParam().near;
  options.port = 0;
  options.sending_sockets = 5000;
  EXPECT_THAT(UdpPort::Open(options).status().ToString(), HasSubstr("choose 1 to 4096"));
  options.sending_sockets = 1;
  options.bind_address = IpAddress();
  EXPECT_TRUE(UdpPort::Open(options).ok()) << "any address is of both families";
  options.sending_sockets = 0;
  EXPECT_THAT(UdpPort::Open(options).status().ToString(), HasSubstr("choose 1 to 4096"));
}

TEST_P(UdpPortTest, SeveralWorkersDivideTheFlows) {
  far_ = Open({.bind_address = GetParam().far, .port = 0, .sending_sockets = 64});
  ASSERT_NE(far_, nullptr);
  UdpOptions options;
  options.family = GetParam().near.family();
  options.bind_address = GetParam().near;
  options.port = far_->port();
  options.sending_sockets = 64;
  auto ports = UdpPort::OpenAll(options, 4);
  ASSERT_TRUE(ports.ok()) << ports.status();
  ASSERT_EQ(ports->size(), 4u);
  std::map<std::uint32_t, std::set<std::size_t>> workers_of_flow;
  std::set<std::size_t> busy;
  for (int round = 0; round < 3; ++round) {
    out_.clear();
    for (std::uint32_t flow = 0; flow < 64; ++flow)
      Add(out_, flow, 100, GetParam().near).outer_port =
          OuterSourcePort(FlowHash{flow * 0x9e37'79b1});
    far_->Send(out_);
    std::size_t received = 0;
    for (std::size_t worker = 0; worker < ports->size(); ++worker) {
      Batch batch;
      while ((*ports)[worker]->Receive(batch) != 0) {
        for (const Packet& packet : batch) {
          ++received;
          workers_of_flow[LoadBe32(packet.data)].insert(worker);
          busy.insert(worker);
        }
      }
    }
    EXPECT_EQ(received, 64u);
  }
  EXPECT_EQ(busy.size(), 4u);
  for (const auto& [flow, workers] : workers_of_flow) EXPECT_EQ(workers.size(), 1u) << flow;

  for (auto& port : *ports) {
    EXPECT_EQ(port->port(), far_->port());
    out_.clear();
    Add(out_, 1, 100, GetParam().far);
    port->Send(out_);
    EXPECT_EQ(out_[0].verdict, Verdict::kForward);
  }
  EXPECT_EQ(Receive(*far_, 4).size(), 4u);
  // Another daemon does not become one of them.
  EXPECT_TRUE(absl::IsAlreadyExists(UdpPort::Open(options).status()));
  EXPECT_TRUE(absl::IsAlreadyExists(UdpPort::OpenAll(options, 2).status()));
}

// The receiving socket, the error queue, two for routes, the sending socket.
TEST_P(UdpPortTest, EachDescriptorThatIsMissingIsNamed) {
  UdpOptions options;
  options.family = GetParam().near.family();
  options.bind_address = GetParam().near;
  options.port = 0;
  options.sending_sockets = 1;
  ASSERT_TRUE(UdpPort::Open(options).ok());  // UBSan opens a pipe for each new type
  const int next = ::dup(STDIN_FILENO);
  ::close(next);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlim_t count = static_cast<rlim_t>(next);
  for (const char* text :
       {":0: too many open files", "UDP error queue: epoll_create1", ":0: too many open files",
        "netlink socket for route MTUs", ":49152: too many open files"}) {
    const rlimit few{.rlim_cur = count++, .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    const absl::Status status = UdpPort::Open(options).status();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }
}

TEST_P(UdpPortTest, WhatTheKernelRefusesOfASocketIsAnError) {
  UdpOptions options;
  options.family = GetParam().near.family();
  options.bind_address = GetParam().near;
  options.port = 0;
  options.udp_checksum = false;
  options.sending_sockets = 1;
  using Options = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  constexpr std::uint32_t kAutoFlowLabel = 70;  // IPV6_AUTOFLOWLABEL
  const Options refused =
      GetParam().name == "v4"
          ? Options{{SOL_SOCKET, SO_ATTACH_FILTER},
                    {IPPROTO_IP, IP_MTU_DISCOVER},
                    {IPPROTO_IP, IP_RECVERR},
                    {IPPROTO_IP, IP_TTL},
                    {SOL_SOCKET, SO_NO_CHECK}}
          : Options{{SOL_SOCKET, SO_ATTACH_FILTER},    {IPPROTO_IPV6, IPV6_MTU_DISCOVER},
                    {IPPROTO_IPV6, IPV6_DONTFRAG},     {IPPROTO_IPV6, IPV6_RECVERR},
                    {IPPROTO_IPV6, IPV6_UNICAST_HOPS}, {IPPROTO_IPV6, kAutoFlowLabel}};
  const auto message = [](const absl::StatusOr<FileDescriptor>& socket) {
    return std::string(socket.status().message());
  };
  for (const auto& each : refused) {
    const Refusal refusal{
        .call = SYS_setsockopt, .error = EOPNOTSUPP, .second = each.first, .third = each.second};
    WhereRefused({refusal}, [&] {
      EXPECT_THAT(message(OpenSendingSocket(options, 50'000, 50'001)),
                  HasSubstr(":50000: the kernel refused it"))
          << each.first << " " << each.second;
      if (each.second != SO_ATTACH_FILTER) return;
      EXPECT_THAT(message(OpenRouteSocket(options)), HasSubstr("the kernel refused it"));
      EXPECT_EQ(MaxUdpSegments(), 64u);
    });
  }
  WhereRefused({{.call = SYS_epoll_ctl, .error = ENOSPC, .second = EPOLL_CTL_ADD}}, [&] {
    EXPECT_THAT(std::string(UdpPort::Open(options).status().message()),
                HasSubstr("raise fs.epoll.max_user_watches"));
  });
  options.bind_address = GetParam().name == "v4" ? Ip("192.0.2.77") : Ip("2001:db8::77");
  EXPECT_THAT(message(OpenSendingSocket(options, 50'000, 50'001)),
              HasSubstr("no interface has this address"));
  EXPECT_THAT(message(OpenRouteSocket(options)), HasSubstr("no interface has this address"));
}

TEST(SocketAddress, OfAnotherFamilyHasNoPort) {
  sockaddr_storage storage;
  std::memset(&storage, 0xff, sizeof storage);
  storage.ss_family = AF_UNIX;
  EXPECT_EQ(PortOf(storage), 0);
}

TEST_P(UdpPortTest, TooFewDescriptorsAreNamed) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit few{.rlim_cur = 10, .rlim_max = 10};
    if (::setrlimit(RLIMIT_NOFILE, &few) != 0) ::_exit(2);
    UdpOptions options;
    options.family = GetParam().near.family();
    options.bind_address = GetParam().near;
    options.port = 0;
    options.sending_sockets = 64;
    const absl::Status status = UdpPort::Open(options).status();
    const bool named =
        absl::IsResourceExhausted(status) && status.message().find("UDP socket ") == 0 &&
        status.message().find("too many open files; raise the limit (LimitNOFILE=, ulimit -n)") !=
            std::string_view::npos;
    ::_exit(named ? 0 : 1);
  }
  int result = -1;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  ASSERT_TRUE(WIFEXITED(result));
  EXPECT_EQ(WEXITSTATUS(result), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Families, UdpPortTest,
    ::testing::Values(Family{"v4", Ip("127.0.0.1"), Ip("127.0.0.2"), Ip("10.0.0.2"), 28},
                      Family{"v6", Ip("::1"), Ip("fd01::2"), Ip("fd00::2"), 48}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace weft::dataplane
