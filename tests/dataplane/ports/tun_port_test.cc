// SPDX-License-Identifier: Apache-2.0
// TUN and TAP against the real kernel, in a separate network namespace: superframes, names, errors.
#include "dataplane/ports/tun_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_tun.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <source_location>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "dataplane/file_descriptor_linux.h"
#include "dataplane/offload.h"
#include "dataplane/ports/udp_port.h"
#include "dataplane/ports/udp_socket_linux.h"
#include "dataplane/wait_set.h"
#include "tests/dataplane/ports/packet_socket.h"
#include "tests/dataplane/ports/port_harnesses.h"
#include "tests/support/netns.h"
#include "tests/support/packet_builder.h"
#include "tests/support/wait.h"
#include "vxlan/inner_frame.h"
#include "vxlan/transport_checksum.h"
#include "vxlan/udp.h"

namespace weft::dataplane {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::seconds kLimit{10};

class TunPortTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(EnterPrivateNetns(), ""); }

  static std::unique_ptr<TunPort> OpenTun(const std::string& name, bool offloads = true) {
    auto port = TunPort::Open({.name = name, .offloads = offloads});
    EXPECT_TRUE(port.ok()) << port.status();
    if (!port.ok()) return nullptr;
    EXPECT_EQ(RunIp("link set " + name + " mtu 1450 up"), "");
    EXPECT_EQ(RunIp("addr add 10.9.0.1/24 dev " + name), "");
    EXPECT_EQ(AddIp6("fd09::1/64", name), "");
    return *std::move(port);
  }

  // The first packet of `protocol` that the kernel sends out of the device; batch_ keeps its
  // bytes.
  const Packet* ReceiveFirst(PacketPort& port, IpProtocol protocol,
                             std::source_location where = std::source_location::current()) {
    const Packet* first = nullptr;
    EXPECT_TRUE(testing::Await({kLimit, where}, [&] {
      port.Receive(batch_);
      for (const Packet& packet : batch_) {
        const auto inner = ParseInnerIp(packet.bytes());
        if (!first && inner && inner->protocol == protocol) first = &packet;
      }
      return first != nullptr;
    }));
    return first;
  }

  Packet& Add(const ByteVector& bytes) {
    Packet packet = slab_.Lend(out_.size());
    std::copy(bytes.begin(), bytes.end(), packet.data);
    packet.length = static_cast<std::uint32_t>(bytes.size());
    return out_.Add(packet);
  }

  PacketSlab slab_;
  Batch batch_;
  Batch out_;
};

TEST_F(TunPortTest, TheKernelGivesSuperframes) {
  const auto port = OpenTun("t0");
  ASSERT_NE(port, nullptr);
  EXPECT_EQ(port->kind(), PortKind::kPodL3);
  EXPECT_EQ(port->name(), "t0");
  EXPECT_TRUE(port->features().tcp_segmentation);
  EXPECT_TRUE(port->features().partial_checksum);
  EXPECT_FALSE(port->features().datagram_aggregation);
  // Linux 6.2 and later; this project's machines run 6.18.
  EXPECT_TRUE(port->features().udp_segmentation);
}

// A UDP socket of this host sends segments into the device: they arrive as one superframe, and cut
// in software they are right.
TEST_F(TunPortTest, AUdpSuperframeFromTheKernelCanBeCut) {
  const auto port = OpenTun("t0");
  ASSERT_NE(port, nullptr);
  for (const bool v4 : {true, false}) {
    auto sender =
        UdpPort::Open({.family = v4 ? IpFamily::kV4 : IpFamily::kV6, .sending_sockets = 1});
    ASSERT_TRUE(sender.ok()) << sender.status();
    ByteVector payload(10 * 1000 + 10);
    for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(i / 1000);
    Packet& aggregate = Add(payload);
    aggregate.segmentation = Segmentation::kDatagrams;
    aggregate.segment_size = 1000;
    aggregate.outer_address = v4 ? Ip("10.9.0.2") : Ip("fd09::2");
    (*sender)->Send(out_);
    ASSERT_EQ(out_[0].verdict, Verdict::kForward) << Name(out_[0].verdict);
    out_.clear();

    const Packet* superframe = ReceiveFirst(*port, IpProtocol::kUdp);
    ASSERT_NE(superframe, nullptr);
    const std::uint32_t header = (v4 ? 20u : 40u) + UdpHeader::kSize;
    EXPECT_EQ(superframe->segmentation, Segmentation::kUdp);
    EXPECT_EQ(superframe->checksum, ChecksumState::kPartial);
    EXPECT_EQ(superframe->segment_size, 1000);
    EXPECT_EQ(superframe->checksum_start, header - UdpHeader::kSize);
    EXPECT_EQ(superframe->checksum_offset, 6);
    EXPECT_EQ(superframe->length, header + payload.size());

    SuperframeCutter cutter(*superframe, PortKind::kWireDatagram, PortFeatures{});
    Batch segments;
    std::size_t buffer = 0;
    while (!cutter.done()) cutter.Cut(slab_.Lend(buffer++), segments);
    ASSERT_EQ(segments.size(), 11u);
    for (const Packet& segment : segments) {
      EXPECT_EQ(VerifyTransportChecksum(segment.bytes()), TransportChecksum::kRight);
    }
    EXPECT_EQ(segments[10].length, header + 10);
  }
}

TEST_F(TunPortTest, WithoutOffloadsPacketsComeSinglyAndComplete) {
  const auto port = OpenTun("t0", false);
  ASSERT_NE(port, nullptr);
  EXPECT_FALSE(port->features().tcp_segmentation);
  EXPECT_FALSE(port->features().udp_segmentation);
  auto sender = UdpPort::Open({.sending_sockets = 1});
  ASSERT_TRUE(sender.ok()) << sender.status();
  Packet& aggregate = Add(ByteVector(3000));
  aggregate.segmentation = Segmentation::kDatagrams;
  aggregate.segment_size = 1000;
  aggregate.outer_address = Ip("10.9.0.2");
  (*sender)->Send(out_);
  const Packet* packet = ReceiveFirst(*port, IpProtocol::kUdp);
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(packet->length, 1028u);
  EXPECT_EQ(packet->segmentation, Segmentation::kNone);
  EXPECT_EQ(packet->checksum, ChecksumState::kOnWire);
  EXPECT_EQ(VerifyTransportChecksum(packet->bytes()), TransportChecksum::kRight);
}

// The kernel accepts superframes and partial checksums from us as from a network card.
TEST_F(TunPortTest, TheKernelTakesSuperframesAndPartialChecksums) {
  const auto port = OpenTun("t0");
  ASSERT_NE(port, nullptr);
  auto receiver = UdpPort::Open({.bind_address = Ip("10.9.0.1"), .sending_sockets = 1});
  ASSERT_TRUE(receiver.ok()) << receiver.status();

  Packet& superframe = Add(PacketBuilder("10.9.0.2", "10.9.0.1")
                               .Udp(50000, 4789)
                               .Payload(2500)
                               .PartialTransportChecksum()
                               .Build());
  superframe.segmentation = Segmentation::kUdp;
  superframe.segment_size = 1000;
  superframe.checksum = ChecksumState::kPartial;
  superframe.checksum_start = 20;
  superframe.checksum_offset = 6;
  Packet& partial = Add(PacketBuilder("10.9.0.3", "10.9.0.1")
                            .Udp(50000, 4789)
                            .Payload(77)
                            .PartialTransportChecksum()
                            .Build());
  partial.checksum = ChecksumState::kPartial;
  partial.checksum_start = 20;
  partial.checksum_offset = 6;
  port->Send(out_);
  ASSERT_EQ(out_[0].verdict, Verdict::kForward) << Name(out_[0].verdict);
  ASSERT_EQ(out_[1].verdict, Verdict::kForward) << Name(out_[1].verdict);

  std::size_t bytes = 0;
  EXPECT_TRUE(testing::Await(kLimit, [&] {
    (*receiver)->Receive(batch_);
    for (const Packet& packet : batch_) bytes += packet.length;
    return bytes >= 2577;
  }));
  EXPECT_EQ(bytes, 2577u);
}

TEST_F(TunPortTest, ATcpSuperframeReachesTheKernelWhole) {
  const auto port = OpenTun("t0");
  ASSERT_NE(port, nullptr);
  PacketSocket kernel("t0");
  for (const bool v4 : {true, false}) {
    out_.clear();
    const std::uint32_t ip = v4 ? 20 : 40;
    // No headroom: the virtio-net header is written separately.
    for (const std::uint32_t headroom : {kHeadroom, 0u}) {
      Packet& packet = Add(PacketBuilder(v4 ? "10.9.0.2" : "fd09::2", v4 ? "10.9.0.1" : "fd09::1")
                               .Tcp(4000, 80, TcpHeader::kAck | TcpHeader::kCwr)
                               .Payload(40'000)
                               .PartialTransportChecksum()
                               .Build());
      packet.headroom = headroom;
      packet.segmentation = Segmentation::kTcp;
      packet.segment_size = 1400;
      packet.checksum = ChecksumState::kPartial;
      packet.checksum_start = static_cast<std::uint16_t>(ip);
      packet.checksum_offset = 16;
    }
    port->Send(out_);
    ASSERT_EQ(out_[0].verdict, Verdict::kForward) << Name(out_[0].verdict);
    ASSERT_EQ(out_[1].verdict, Verdict::kForward) << Name(out_[1].verdict);
    std::size_t whole = 0;
    EXPECT_TRUE(testing::Await(kLimit, [&] {
      for (const ByteVector& packet : kernel.Receive())
        whole += packet.size() == ip + 20 + 40'000 ? 1 : 0;
      return whole >= 2;
    }));
    EXPECT_EQ(whole, 2u);
  }
}

// The kernel refuses a superframe whose kind is not of the frame's family.
TEST_F(TunPortTest, ATapTakesSuperframesOfBothFamilies) {
  const auto port = TapPort::Open({.name = "t0"});
  ASSERT_TRUE(port.ok()) << port.status();
  ASSERT_EQ(RunIp("link set t0 up"), "");
  for (const bool v4 : {true, false}) {
    Packet& packet = Add(PacketBuilder(v4 ? "10.9.0.2" : "fd09::2", v4 ? "10.9.0.1" : "fd09::1")
                             .Tcp(4000, 80)
                             .Payload(4000)
                             .PartialTransportChecksum()
                             .BuildFrame(Mac("02:00:00:00:00:02"), Mac("02:00:00:00:00:01")));
    packet.segmentation = Segmentation::kTcp;
    packet.segment_size = 1400;
    packet.checksum = ChecksumState::kPartial;
    packet.checksum_start = v4 ? 34 : 54;
    packet.checksum_offset = 16;
  }
  errno = EINTR;  // of an earlier call
  (*port)->Send(out_);
  EXPECT_EQ(out_[0].verdict, Verdict::kForward) << Name(out_[0].verdict);
  EXPECT_EQ(out_[1].verdict, Verdict::kForward) << Name(out_[1].verdict);
  EXPECT_FALSE((*port)->steers_by_source()) << "a frame begins with no IP header";
}

TEST_F(TunPortTest, RefusesDescriptorsThatContradictTheirPacket) {
  const auto port = OpenTun("t0");
  ASSERT_NE(port, nullptr);
  const ByteVector tcp = PacketBuilder("10.9.0.2", "10.9.0.1").Tcp(4000, 80).Payload(100).Build();
  const auto verdict = [&](Segmentation segmentation, std::uint16_t start, std::uint16_t offset,
                           std::uint16_t size) {
    out_.clear();
    Packet& packet = Add(tcp);
    packet.segmentation = segmentation;
    packet.segment_size = size;
    packet.checksum = ChecksumState::kPartial;
    packet.checksum_start = start;
    packet.checksum_offset = offset;
    port->Send(out_);
    return out_[0].verdict;
  };
  EXPECT_EQ(verdict(Segmentation::kTcp, 20, 16, 50), Verdict::kForward);
  EXPECT_EQ(verdict(Segmentation::kTcp, 20, 16, 0), Verdict::kPodError) << "no segment size";
  EXPECT_EQ(verdict(Segmentation::kTcp, 130, 4, 50), Verdict::kPodError) << "no room for TCP";
  EXPECT_EQ(verdict(Segmentation::kTcp, 20, 6, 50), Verdict::kPodError)
      << "the kernel knows where it is";
  EXPECT_EQ(verdict(Segmentation::kNone, 140, 16, 0), Verdict::kPodError) << "beyond the end";
  EXPECT_EQ(verdict(Segmentation::kTcp, 150, 16, 50), Verdict::kPodError) << "beyond the end";
  EXPECT_EQ(verdict(Segmentation::kUdp, 134, 2, 50), Verdict::kPodError) << "no room for UDP";
  EXPECT_EQ(verdict(Segmentation::kDatagrams, 0, 0, 50), Verdict::kPodError);
  out_.clear();
  Packet& superframe = Add(tcp);
  superframe.segmentation = Segmentation::kTcp;
  superframe.segment_size = 50;
  superframe.checksum_start = 130;
  superframe.checksum_offset = 4;
  port->Send(out_);
  EXPECT_EQ(superframe.verdict, Verdict::kPodError) << "its checksum is partial by nature";
}

// The packet of a socket of this host out of the device, `times` times.
void Flood(const char* source, const char* destination, int times) {
  const bool v4 = Ip(source).is_v4();
  const FileDescriptor socket(::socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM, 0));
  const SocketAddress from = SocketAddress::From(Ip(source), 0);
  const SocketAddress to = SocketAddress::From(Ip(destination), 9);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&from.storage), from.length), 0);
  for (int i = 0; i < times; ++i) {
    (void)::sendto(socket.get(), "x", 1, 0, reinterpret_cast<const sockaddr*>(&to.storage),
                   to.length);
  }
}

// Its queue is replaced by a socket of ours: the kernel makes no such headers.
TEST_F(TunPortTest, FramesThatContradictTheirHeaderAreCountedAndNotDelivered) {
  const int first = ::dup(STDIN_FILENO);
  ::close(first);  // the number that the first queue gets
  const auto port = OpenTun("t0");
  ASSERT_NE(port, nullptr);
  ASSERT_TRUE(port->steers_by_source());
  while (port->Receive(batch_) != 0) {
  }
  Flood("10.9.0.1", "10.9.0.2", 64);
  ASSERT_EQ(port->Receive(batch_), 64u);  // it is read again, as it may have more
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  const FileDescriptor ours(ends[0]), theirs(ends[1]);
  const int room = 1 << 20;
  ASSERT_EQ(::setsockopt(ours.get(), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room), 0);
  ASSERT_EQ(::dup2(theirs.get(), first + 1), first + 1);
  const ByteVector packet = PacketBuilder("10.9.0.1", "10.9.0.2").Tcp(1, 2).Build();
  const auto give = [&](const ByteVector& header, const ByteVector& bytes) {
    const ByteVector frame = Concatenate(header, bytes);
    ASSERT_EQ(::send(ours.get(), frame.data(), frame.size(), 0),
              static_cast<ssize_t>(frame.size()));
  };
  // Little-endian: flags, kind, header length, segment size, checksum's start and place.
  const ByteVector plain = Hex("00000000000000000000");
  for (int i = 0; i < 16; ++i) give(Hex("01000000000014001400"), packet);  // beyond its end
  give(Hex("00010000640000000000"), packet);  // a superframe whose checksum is complete
  give(Hex("01010000000014001000"), packet);  // one that is cut nowhere
  give(Hex("00070000000000000000"), packet);  // of no known kind
  give(plain, {});
  give(plain, ByteVector(kMaxPacket, std::byte{0x45}));  // perhaps cut off
  give(plain, packet);
  batch_.now += std::chrono::milliseconds(2);  // a turn without a packet names no source
  EXPECT_EQ(port->Receive(batch_), 22u);
  ASSERT_EQ(batch_.size(), 1u);
  EXPECT_EQ(ByteVector(batch_[0].data, batch_[0].data + batch_[0].length), packet);
  EXPECT_EQ(port->Counts()[0].value, 0u);
  EXPECT_EQ(port->Counts()[1].name, "device-oversize");
  EXPECT_EQ(port->Counts()[1].value, 20u);
}

// A device drops packets for a full queue. One sender fills one queue, and packets of other senders
// are received in turn, among the first.
TEST_F(TunPortTest, AFloodLeavesOtherPodsTheirQueues) {
  const auto port = OpenTun("t0");
  ASSERT_NE(port, nullptr);
  ASSERT_TRUE(port->steers_by_source());
  for (const bool v4 : {true, false}) {
    ASSERT_EQ(v4 ? RunIp("addr add 10.9.0.3/24 dev t0") : AddIp6("fd09::3/64", "t0"), "");
    // Many flows, so that only the source distinguishes them.
    for (int flow = 0; flow < 200; ++flow)
      Flood(v4 ? "10.9.0.1" : "fd09::1", v4 ? "10.9.0.2" : "fd09::2", 10);
    Flood(v4 ? "10.9.0.3" : "fd09::3", v4 ? "10.9.0.2" : "fd09::2", 5);
    std::size_t taken = 0;
    std::size_t others = 0;
    for (bool first = true; port->Receive(batch_) != 0; first = false) {
      for (const Packet& packet : batch_) {
        const auto inner = ParseInnerIp(packet.bytes());
        if (!inner || inner->protocol != IpProtocol::kUdp) continue;
        ++taken;
        others += inner->source() == (v4 ? Ip("10.9.0.3") : Ip("fd09::3")) ? 1 : 0;
      }
      if (first) {
        EXPECT_EQ(others, 5u) << "in the first batch, though it was sent last";
      }
    }
    EXPECT_EQ(others, 5u);
    EXPECT_LT(taken, 1000u) << "the flood was dropped, or this test tests nothing";
  }
}

// Addresses that are equal modulo 8 share a queue until one of them fills it.
class SharedQueueTest : public TunPortTest {
 protected:
  void SetUp() override {
    TunPortTest::SetUp();
    port_ = OpenTun("t0");
    ASSERT_NE(port_, nullptr);
    ASSERT_TRUE(port_->steers_by_source());
    for (int i = 1; i <= 11; ++i) ASSERT_EQ(RunIp("addr add " + Address(i) + "/24 dev t0"), "");
    Drain();
  }

  static std::string Address(int i) { return absl::StrCat("10.9.0.", 100 + 8 * i); }

  // The share of the waiting packets that comes from `source`.
  std::size_t Drain(const std::string& source = "10.9.0.9") {
    std::size_t found = 0;
    while (port_->Receive(batch_) != 0) {
      for (const Packet& packet : batch_) {
        const auto inner = ParseInnerIp(packet.bytes());
        found += inner && inner->source() == Ip(source) ? 1 : 0;
      }
    }
    return found;
  }

  // Its queue is not empty for so long.
  void BeLoud(int i, std::chrono::milliseconds time = std::chrono::milliseconds(2)) {
    Flood(Address(i).c_str(), "10.9.0.2", 200);
    (void)port_->Receive(batch_);
    batch_.now += time;
    Drain();
  }

  // Of five packets of 10, sent while the queue of `loud` is full.
  std::size_t ArriveNextTo(int loud) {
    Flood(Address(loud).c_str(), "10.9.0.2", 1000);
    Flood(Address(10).c_str(), "10.9.0.2", 5);
    return Drain(Address(10));
  }

  std::unique_ptr<TunPort> port_;
};

TEST_F(SharedQueueTest, ASourceWithABacklogGetsItsOwnQueue) {
  BeLoud(1, std::chrono::milliseconds(1));
  EXPECT_EQ(ArriveNextTo(1), 0u);
  batch_.now += std::chrono::milliseconds(1);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ArriveNextTo(1), 0u) << "it was empty in between";
  BeLoud(1);
  EXPECT_EQ(ArriveNextTo(1), 5u);
}

TEST_F(SharedQueueTest, AnIdleOwnQueueIsReassignedAfterASecond) {
  Flood(Address(1).c_str(), "10.9.0.2", 400);
  while (port_->Receive(batch_) != 0) batch_.now += std::chrono::milliseconds(2);
  // It has one now, not one for each round.
  for (int i = 2; i <= 9; ++i) BeLoud(i);
  for (int i = 1; i <= 8; ++i) EXPECT_EQ(ArriveNextTo(i), 5u) << i;
  EXPECT_EQ(ArriveNextTo(9), 0u) << "there are eight";
  batch_.now += std::chrono::milliseconds(600);
  for (int i = 2; i <= 8; ++i) BeLoud(i);
  batch_.now += std::chrono::milliseconds(600);
  BeLoud(9);
  EXPECT_EQ(ArriveNextTo(9), 5u);
  for (int i = 2; i <= 8; ++i) EXPECT_EQ(ArriveNextTo(i), 5u) << i;
  EXPECT_EQ(ArriveNextTo(1), 0u) << "its queue is another's";
  BeLoud(11);
  EXPECT_EQ(ArriveNextTo(11), 0u) << "all have carried something";
}

TEST_F(SharedQueueTest, AQueueThatHasPacketsIsNotReassigned) {
  for (int i = 1; i <= 8; ++i) BeLoud(i);
  Flood(Address(9).c_str(), "10.9.0.2", 200);
  (void)port_->Receive(batch_);
  for (int i = 1; i <= 8; ++i) Flood(Address(i).c_str(), "10.9.0.2", 100);
  batch_.now += std::chrono::seconds(2);
  (void)port_->Receive(batch_);  // of the eight it reads a few
  Drain();
  EXPECT_EQ(ArriveNextTo(9), 0u);
  for (int i = 1; i <= 8; ++i) EXPECT_EQ(ArriveNextTo(i), 5u) << i;
}

// They fill the places of packets that had a source.
TEST_F(SharedQueueTest, PacketsTooShortForASourceAreOfSourceZero) {
  for (const char* address : {"10.9.16.0/32", "10.9.0.8/32"})
    ASSERT_EQ(RunIp(absl::StrCat("addr add ", address, " dev t0")), "");
  Flood(Address(1).c_str(), "10.9.0.2", 200);
  Drain();
  PacketSocket kernel("t0");
  for (int i = 0; i < 200; ++i) ASSERT_EQ(kernel.Send(Hex("4500")), "");
  (void)port_->Receive(batch_);
  batch_.now += std::chrono::milliseconds(2);
  Drain();
  Flood("10.9.16.0", "10.9.0.2", 1000);  // the last 12 bits are zero
  Flood("10.9.0.8", "10.9.0.2", 5);
  EXPECT_EQ(Drain("10.9.0.8"), 5u) << "zero has its own queue";
}

// Numbered datagrams: what a source sends before and after it gets its own queue.
class OwnQueueOrderTest : public SharedQueueTest {
 protected:
  void SetUp() override {
    SharedQueueTest::SetUp();
    socket_ = FileDescriptor(::socket(AF_INET, SOCK_DGRAM, 0));
    const SocketAddress from = SocketAddress::From(Ip(Address(1)), 0);
    const SocketAddress to = SocketAddress::From(Ip("10.9.0.2"), 9);
    ASSERT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&from.storage), from.length),
              0);
    ASSERT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to.storage), to.length),
              0);
  }

  void Send(std::uint32_t count) {
    for (const std::uint32_t end = next_ + count; next_ < end; ++next_)
      (void)::send(socket_.get(), &next_, sizeof next_, 0);
  }

  // One Receive. Returns the number of packets of other sources.
  std::size_t Receive() {
    std::size_t others = 0;
    port_->Receive(batch_);
    for (const Packet& packet : batch_) {
      const auto inner = ParseInnerIp(packet.bytes());
      if (!inner || inner->source() != Ip(Address(1))) {
        ++others;
        continue;
      }
      std::uint32_t number = 0;
      std::memcpy(&number, packet.data + 20 + UdpHeader::kSize, sizeof number);
      received_.push_back(number);
    }
    return others;
  }

  FileDescriptor socket_;
  std::uint32_t next_ = 0;
  std::vector<std::uint32_t> received_;
};

TEST_F(OwnQueueOrderTest, IsReadAfterWhatTheSharedQueueHasOfItsSource) {
  Send(400);
  Receive();
  batch_.now += std::chrono::milliseconds(2);
  Receive();
  const std::size_t first = received_.size();
  ASSERT_LT(first, 200u);
  Send(300);  // more than the shared queue has room for, if they still went there
  while (received_.size() < next_ && !batch_.empty()) Receive();
  std::vector<std::uint32_t> sent(next_);
  std::iota(sent.begin(), sent.end(), 0);
  EXPECT_EQ(received_, sent);
}

TEST_F(OwnQueueOrderTest, WaitsForOneLengthOfTheSharedQueue) {
  Send(200);
  Receive();
  batch_.now += std::chrono::milliseconds(2);
  Receive();
  Send(1);
  std::size_t others = 0;
  while (received_.size() < next_ && others < 2000) {
    Flood(Address(10).c_str(), "10.9.0.2", 64);  // so that it is never empty
    others += Receive();
  }
  EXPECT_EQ(received_.size(), next_);
  EXPECT_GT(others, 200u);
  EXPECT_LT(others, 600u);
}

// The last bytes of the IPv4 UDP packets' sources that wait in `port`.
std::multiset<int> SourcesIn(PacketPort& port, Batch& batch) {
  std::multiset<int> sources;
  while (port.Receive(batch) != 0) {
    for (const Packet& packet : batch) {
      const auto inner = ParseInnerIp(packet.bytes());
      if (inner && inner->is_v4() && inner->protocol == IpProtocol::kUdp)
        sources.insert(static_cast<int>(inner->source_v4() & 0xff));
    }
  }
  return sources;
}

TEST_F(TunPortTest, SeveralWorkersDivideTheSources) {
  auto ports = TunPort::OpenAll({.name = "t0"}, 4);
  ASSERT_TRUE(ports.ok()) << ports.status();
  ASSERT_EQ(ports->size(), 4u);
  ASSERT_EQ(RunIp("link set t0 mtu 1450 up"), "");
  for (int i = 16; i < 32; ++i)
    ASSERT_EQ(RunIp(absl::StrCat("addr add 10.9.0.", i, "/24 dev t0")), "");
  for (int i = 16; i < 32; ++i) Flood(absl::StrCat("10.9.0.", i).c_str(), "10.9.0.2", 3);
  for (int worker = 0; worker < 4; ++worker) {
    SCOPED_TRACE(worker);
    TunPort& port = *(*ports)[static_cast<std::size_t>(worker)];
    ASSERT_TRUE(port.steers_by_source());
    EXPECT_EQ(port.name(), "t0");
    auto waits = WaitSet::Make(port.wait_handles());
    ASSERT_TRUE(waits.ok());
    EXPECT_TRUE((*waits)->Wait(std::chrono::milliseconds(0)));
    std::multiset<int> expected;
    for (int i = 16 + worker; i < 32; i += 4) {
      for (int packet = 0; packet < 3; ++packet) expected.insert(i);
    }
    EXPECT_EQ(SourcesIn(port, batch_), expected);
    EXPECT_FALSE((*waits)->Wait(std::chrono::milliseconds(0))) << "the others' queues are not";
  }
  // Each may write, and the device stays until the last port is gone.
  for (auto& port : *ports) {
    out_.clear();
    Add(PacketBuilder("10.9.0.2", "10.9.0.16").Udp(9, 5000).Build());
    port->Send(out_);
    EXPECT_EQ(out_[0].verdict, Verdict::kForward);
  }
  ports->erase(ports->begin(), ports->begin() + 3);
  EXPECT_EQ(RunIp("link show dev t0"), "");
  ports->clear();
  EXPECT_NE(RunIp("link show dev t0"), "");
}

// A source that gets a queue of its own stays with its worker: two would change the packets' order.
TEST_F(TunPortTest, AnOwnQueueIsOfTheSameWorker) {
  auto ports = TunPort::OpenAll({.name = "t0"}, 2);
  ASSERT_TRUE(ports.ok()) << ports.status();
  ASSERT_EQ(RunIp("link set t0 mtu 1450 up"), "");
  for (const int source : {16, 17}) {
    SCOPED_TRACE(source);
    const std::string address = absl::StrCat("10.9.0.", source);
    ASSERT_EQ(RunIp("addr add " + address + "/24 dev t0"), "");
    TunPort& port = *(*ports)[static_cast<std::size_t>(source % 2)];
    TunPort& other = *(*ports)[static_cast<std::size_t>(1 - source % 2)];
    ASSERT_TRUE(port.steers_by_source());
    Flood(address.c_str(), "10.9.0.2", 400);
    while (port.Receive(batch_) != 0) batch_.now += std::chrono::milliseconds(2);
    // Full, it leaves room for its neighbour in the shared queue: it has its own.
    const std::string neighbour = absl::StrCat("10.9.0.", source + 8);
    ASSERT_EQ(RunIp("addr add " + neighbour + "/24 dev t0"), "");
    Flood(address.c_str(), "10.9.0.2", 1000);
    Flood(neighbour.c_str(), "10.9.0.2", 5);
    const std::multiset<int> sources = SourcesIn(port, batch_);
    EXPECT_GT(sources.count(source), 100u);
    EXPECT_EQ(sources.count(source + 8), 5u);
    EXPECT_EQ(SourcesIn(other, batch_).count(source), 0u);
  }
}

// `times` superframes of `segments` segments of `size` bytes.
void SendSuperframes(const char* source, const char* destination, int size, int segments,
                     int times) {
  const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM, 0));
  const SocketAddress from = SocketAddress::From(Ip(source), 0);
  const SocketAddress to = SocketAddress::From(Ip(destination), 9);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&from.storage), from.length), 0);
  ASSERT_EQ(::setsockopt(socket.get(), IPPROTO_UDP, UDP_SEGMENT, &size, sizeof size), 0);
  const ByteVector bytes(static_cast<std::size_t>(size * segments));
  for (int i = 0; i < times; ++i) {
    ASSERT_EQ(::sendto(socket.get(), bytes.data(), bytes.size(), 0,
                       reinterpret_cast<const sockaddr*>(&to.storage), to.length),
              static_cast<ssize_t>(bytes.size()));
  }
}

// t0, and five sources with queues of their own.
class FreshQueuesTest : public TunPortTest {
 protected:
  void SetUp() override {
    TunPortTest::SetUp();
    port_ = OpenTun("t0");
    ASSERT_NE(port_, nullptr);
    ASSERT_TRUE(port_->steers_by_source());
    ASSERT_TRUE(port_->features().udp_segmentation);
    for (const char* source : kSources)
      ASSERT_EQ(RunIp(absl::StrCat("addr add ", source, "/24 dev t0")), "");
    Drain();
  }
  void Drain() {
    while (port_->Receive(batch_) != 0) {
    }
  }
  // One Receive: how many packets each source has.
  std::map<std::string, int> Receive() {
    std::map<std::string, int> counts;
    port_->Receive(batch_);
    for (const Packet& packet : batch_) {
      if (const auto inner = ParseInnerIp(packet.bytes())) ++counts[inner->source().ToString()];
    }
    return counts;
  }

  static constexpr const char* kSources[] = {"10.9.0.3", "10.9.0.4", "10.9.0.5", "10.9.0.6",
                                             "10.9.0.7"};
  std::unique_ptr<TunPort> port_;
};

// They get at most three quarters of a batch: of its packets on the wire, its bytes, its frames.
TEST_F(FreshQueuesTest, LeaveTheBacklogItsShare) {
  const struct { int size, segments, times; } rows[] = {{100, 63, 2}, {1400, 45, 2}, {100, 1, 20}};
  for (const auto& row : rows) {
    Flood("10.9.0.1", "10.9.0.2", 400);
    ASSERT_NE(port_->Receive(batch_), 0u);  // some; the rest are the backlog
    for (const char* source : kSources)
      SendSuperframes(source, "10.9.0.2", row.size, row.segments, row.times);
    const std::map<std::string, int> counts = Receive();
    EXPECT_GT(counts.size(), 2u) << row.segments;
    EXPECT_EQ(counts.count("10.9.0.1"), 1u) << row.segments;
    std::uint32_t wire_packets = 0;
    for (const Packet& packet : batch_) wire_packets += WirePackets(packet);
    EXPECT_LT(wire_packets, 256u + 63u) << row.segments;
    Drain();
  }
}

// Also one that a batch had no room for.
TEST_F(FreshQueuesTest, HaveOneTurnBeforeTheOthersHaveTheNext) {
  for (const char* source : kSources) SendSuperframes(source, "10.9.0.2", 100, 63, 3);
  EXPECT_THAT(Receive(), ::testing::SizeIs(4));
  const std::map<std::string, int> counts = Receive();
  EXPECT_THAT(counts, ::testing::SizeIs(5));
  for (const auto& [source, count] : counts) EXPECT_EQ(count, 1) << source;
}

// Without BPF the kernel steers by flow, independent of our writes to the device: it would
// otherwise steer every answered flow into the queue it was written to.
TEST_F(TunPortTest, WithoutSteeringBySourceFlowsHaveTheirQueues) {
  const auto port = TunPort::Open({.name = "t0", .by_source = false});
  ASSERT_TRUE(port.ok()) << port.status();
  EXPECT_FALSE((*port)->steers_by_source());
  ASSERT_EQ(RunIp("link set t0 up"), "");
  ASSERT_EQ(RunIp("addr add 10.9.0.1/24 dev t0"), "");
  constexpr std::uint16_t kFlows = 64;
  for (std::uint16_t flow = 0; flow < kFlows; ++flow) {
    Add(PacketBuilder("10.9.0.2", "10.9.0.1")
            .Udp(9, static_cast<std::uint16_t>(5000 + flow))
            .Build());
  }
  (*port)->Send(out_);
  for (const Packet& packet : out_) ASSERT_EQ(packet.verdict, Verdict::kForward);
  // More packets in each flow than one turn: the first batch shows how many queues take turns.
  for (std::uint16_t flow = 0; flow < kFlows; ++flow) {
    const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM, 0));
    const SocketAddress from =
        SocketAddress::From(Ip("10.9.0.1"), static_cast<std::uint16_t>(5000 + flow));
    const SocketAddress to = SocketAddress::From(Ip("10.9.0.2"), 9);
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&from.storage), from.length),
              0);
    for (int i = 0; i < 20; ++i) {
      (void)::sendto(socket.get(), "x", 1, 0, reinterpret_cast<const sockaddr*>(&to.storage),
                     to.length);
    }
  }
  std::size_t taken = 0;
  while ((*port)->Receive(batch_) != 0) taken += batch_.size();
  // The kernel chooses among 16 queues, at random in each boot: that they take no more than 900 has
  // a probability of 1 in 10^36.
  EXPECT_GT(taken, 900u) << "of 1,280 in queues of 500: they were spread";
}

TEST_F(TunPortTest, TheDeviceIsGoneWithThePort) {
  auto port = OpenTun("t0");
  ASSERT_NE(port, nullptr);
  EXPECT_EQ(RunIp("link show dev t0"), "");
  port.reset();
  EXPECT_NE(RunIp("link show dev t0"), "");
}

TEST_F(TunPortTest, TheKernelFillsInTheNumberOfAName) {
  const auto first = TunPort::Open({.name = "weft%d"});
  const auto second = TapPort::Open({.name = "weft%d"});
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ((*first)->name(), "weft0");
  EXPECT_EQ((*second)->name(), "weft1");
  EXPECT_EQ((*second)->kind(), PortKind::kPodL2);
}

TEST_F(TunPortTest, OpenNamesTheErrorAndTheNextStep) {
  const auto first = TunPort::Open({.name = "t0"});
  ASSERT_TRUE(first.ok()) << first.status();
  const auto taken = TunPort::Open({.name = "t0"});
  EXPECT_EQ(taken.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(taken.status().ToString(), HasSubstr("TUN device \"t0\": the name is taken"));
  EXPECT_THAT(taken.status().ToString(), HasSubstr("ip link delete t0"));
  const auto lo = TapPort::Open({.name = "lo"});
  EXPECT_THAT(lo.status().ToString(), HasSubstr("TAP device \"lo\": "));
  const auto long_name = TunPort::Open({.name = "sixteen-bytes-xx"});
  EXPECT_EQ(long_name.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(TunPortTest, WithoutTheCapabilityItIsNamed) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(2);
    const absl::Status status = TunPort::Open({.name = "t1"}).status();
    const bool named =
        absl::IsPermissionDenied(status) &&
        status.message() ==
            "TUN device \"t1\": not permitted; run with CAP_NET_ADMIN and access to /dev/net/tun";
    ::_exit(named ? 0 : 1);
  }
  int result = -1;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  ASSERT_TRUE(WIFEXITED(result));
  EXPECT_EQ(WEXITSTATUS(result), 0);
}

TEST_F(TunPortTest, AQueueForWritesThatCannotBeDetachedIsAnError) {
  WhereRefused({{.call = SYS_ioctl, .error = EINVAL, .second = TUNSETQUEUE}}, [] {
    EXPECT_THAT(TunPort::Open({.name = "t0"}).status().ToString(),
                HasSubstr("TUN device \"t0\": the kernel refused to create it"));
  });
}

// A persistent device of that name would outlive us, with foreign configuration on it.
TEST_F(TunPortTest, DoesNotAdoptAPersistentDevice) {
  ASSERT_EQ(RunIp("tuntap add dev t9 mode tun"), "");
  EXPECT_EQ(TunPort::Open({.name = "t9"}).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(RunIp("tuntap del dev t9 mode tun"), "");
}

TEST_F(TunPortTest, ADeletedDeviceIsCounted) {
  const auto port = OpenTun("t0");
  ASSERT_NE(port, nullptr);
  ASSERT_EQ(RunIp("link del dev t0"), "");
  EXPECT_EQ(port->Receive(batch_), 0u);
  EXPECT_EQ(port->Counts()[0].name, "device-read-error");
  EXPECT_EQ(port->Counts()[0].value, 1u);
  Add(PacketBuilder("10.9.0.2", "10.9.0.1").Build());
  port->Send(out_);
  EXPECT_EQ(out_[0].verdict, Verdict::kPodError);
}

TEST_F(TunPortTest, ADeviceThatIsDownRefusesPackets) {
  auto port = TunPort::Open({.name = "t0"});
  ASSERT_TRUE(port.ok()) << port.status();
  Add(PacketBuilder("10.9.0.2", "10.9.0.1").Build());
  (*port)->Send(out_);
  EXPECT_EQ(out_[0].verdict, Verdict::kPodError);
}

}  // namespace
}  // namespace weft::dataplane
