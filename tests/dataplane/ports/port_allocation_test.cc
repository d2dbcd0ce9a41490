// SPDX-License-Identifier: Apache-2.0
// The ports that flanneld uses, against the real kernel: neither Receive nor Send allocates, not
// even for what the kernel refuses. This program counts every operator new.
#include <gtest/gtest.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>

#include "dataplane/ports/pcap_port.h"
#include "dataplane/ports/tun_port.h"
#include "dataplane/ports/tunnel_gso_linux.h"
#include "dataplane/ports/udp_port.h"
#include "dataplane/wait_set.h"
#include "tests/dataplane/ports/packet_socket.h"
#include "tests/dataplane/ports/port_harnesses.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/netns.h"
#include "tests/support/packet_builder.h"
#include "tests/support/wait.h"

namespace weft::dataplane {
namespace {

constexpr std::chrono::seconds kLimit{10};
constexpr int kRounds = 20;

// One port; counts what its calls allocate.
class Counted {
 public:
  explicit Counted(PacketPort& port) : port_(port), waits_(*WaitSet::Make(port.wait_handles())) {}

  void Send(Batch& batch) {
    const std::uint64_t before = Allocations();
    port_.Send(batch);
    allocations_ += Allocations() - before;
  }
  // Until `count` packets have arrived, aggregates counted as their packets; then once more.
  std::size_t Receive(std::size_t count) {
    std::size_t received = 0;
    EXPECT_TRUE(testing::Await(
        kLimit, [&] { return received >= count; },
        [&] {
          if (waits_->Wait(std::chrono::milliseconds(10))) received += ReceiveOnce();
        }));
    return received + ReceiveOnce();
  }
  std::size_t DrainPathMtuNotices() {
    std::array<PathMtuNotice, 8> notices;
    const std::uint64_t before = Allocations();
    const std::size_t taken = port_.DrainPathMtuNotices(notices);
    allocations_ += Allocations() - before;
    return taken;
  }
  std::uint64_t allocations() const { return allocations_; }

 private:
  std::size_t ReceiveOnce() {
    const std::uint64_t before = Allocations();
    port_.Receive(batch_);
    allocations_ += Allocations() - before;
    std::size_t packets = 0;
    for (const Packet& packet : batch_) {
      const std::uint32_t size =
          packet.segmentation == Segmentation::kNone ? packet.length : packet.segment_size;
      packets += (packet.length + size - 1) / size;
    }
    return packets;
  }

  PacketPort& port_;
  std::unique_ptr<WaitSet> waits_;
  std::uint64_t allocations_ = 0;
  Batch batch_;
};

std::uint64_t CountNamed(const PacketPort& port, std::string_view name) {
  for (const NamedCount& count : port.Counts()) {
    if (count.name == name) return count.value;
  }
  return 0;
}

TEST(PortAllocation, TheCounterCounts) {
  const std::uint64_t before = Allocations();
  int* volatile kept = new int;  // or the compiler may leave the pair out
  delete kept;
  EXPECT_EQ(Allocations() - before, 1u);
}

struct UdpCase {
  const char* name;
  IpAddress near;
  IpAddress far;
  IpAddress unused;  // on lo, no socket there
  bool checksum;
};
void PrintTo(const UdpCase& udp, std::ostream* out) { *out << udp.name; }

class UdpAllocation : public ::testing::TestWithParam<UdpCase> {};

TEST_P(UdpAllocation, NoneInSendReceiveAndErrors) {
  ASSERT_EQ(EnterPrivateNetns(), "");
  ASSERT_EQ(RunIp("link set lo mtu 1500"), "");
  for (const char* address : {"fd01::2/128", "fd01::3/128"}) EXPECT_EQ(AddIp6(address, "lo"), "");
  const UdpCase& its = GetParam();
  auto near_port = UdpPort::Open({.family = its.near.family(),
                                  .bind_address = its.near,
                                  .port = 0,
                                  .udp_checksum = its.checksum,
                                  .sending_sockets = 4});
  ASSERT_TRUE(near_port.ok()) << near_port.status();
  auto far_port = UdpPort::Open({.family = its.far.family(),
                                 .bind_address = its.far,
                                 .port = (*near_port)->port(),
                                 .sending_sockets = 1});
  ASSERT_TRUE(far_port.ok()) << far_port.status();
  Counted near(**near_port);
  Counted far(**far_port);

  PacketSlab slab;
  Batch batch;
  const auto add = [&](const IpAddress& destination, std::uint32_t size) -> Packet& {
    Packet packet = slab.Lend(batch.size());
    packet.length = size;
    packet.outer_address = destination;
    return batch.Add(packet);
  };
  std::size_t notices = 0;
  for (int round = 0; round < kRounds; ++round) {
    batch.clear();
    for (std::uint32_t i = 0; i < 20; ++i)
      add(its.far, 300 + i % 3 * 100).outer_ecn = static_cast<std::uint8_t>(i % 2);
    Packet& aggregate = add(its.far, 10 * 1000);
    aggregate.segmentation = Segmentation::kDatagrams;
    aggregate.segment_size = 1000;
    add(its.unused, 100);
    add(its.far, 1501);  // too big for lo
    near.Send(batch);
    EXPECT_EQ(far.Receive(30), 30u);
    near.Receive(0);  // and the ICMP errors
    notices += near.DrainPathMtuNotices();
  }
  EXPECT_EQ(near.allocations(), 0u);
  EXPECT_EQ(far.allocations(), 0u);
  EXPECT_GT(notices, 0u);
  EXPECT_GT(CountNamed(**near_port, "icmp-refused"), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Udp, UdpAllocation,
    ::testing::Values(UdpCase{"v4", Ip("127.0.0.1"), Ip("127.0.0.2"), Ip("127.0.0.9"), true},
                      UdpCase{"v4_without_checksum", Ip("127.0.0.1"), Ip("127.0.0.2"),
                              Ip("127.0.0.9"), false},
                      UdpCase{"v6", Ip("::1"), Ip("fd01::2"), Ip("fd01::3"), true}),
    [](const auto& row) { return row.param.name; });

TEST(PortAllocation, NoneInWholeSuperframes) {
  ASSERT_EQ(EnterPrivateNetns(), "");
  ASSERT_EQ(AddQuietVeth(), "");
  ASSERT_EQ(RunIp("addr add 10.0.0.1/24 dev near"), "");
  ASSERT_EQ(RunIp("neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev near"), "");
  auto gso = TunnelGso::Open({.name = "weft4.1", .egress_index = ::if_nametoindex("near")});
  if (absl::IsUnimplemented(gso.status())) GTEST_SKIP() << gso.status();
  ASSERT_TRUE(gso.ok()) << gso.status();
  const std::shared_ptr<TunnelGso> tunnel_gso = *std::move(gso);
  tunnel_gso->Permit(true);
  auto udp = UdpPort::Open({.bind_address = Ip("10.0.0.1"), .tunnel_gso = tunnel_gso});
  ASSERT_TRUE(udp.ok()) << udp.status();
  Counted port(**udp);

  const ByteVector inner = PacketBuilder("10.244.1.7", "10.244.2.9")
                               .Tcp(1, 2)
                               .Payload(10'000)
                               .PartialTransportChecksum()
                               .Build();
  PacketSlab slab;
  Batch batch;
  // Of the same flow, by a socket: else the superframe is cut.
  Packet small = slab.Lend(0);
  small.length = 100;
  small.outer_address = Ip("10.0.0.2");
  batch.Add(small);
  port.Send(batch);
  for (int round = 0; round < kRounds; ++round) {
    batch.clear();
    Packet packet = slab.Lend(0);
    std::copy(inner.begin(), inner.end(), packet.data);
    packet.length = static_cast<std::uint32_t>(inner.size());
    packet.Push(22);
    packet.inner_offset = 22;
    packet.checksum = ChecksumState::kPartial;
    packet.checksum_start = 42;
    packet.checksum_offset = 16;
    packet.segmentation = Segmentation::kTcp;
    packet.segment_size = 1300;
    packet.outer_address = Ip("10.0.0.2");
    tunnel_gso->RoutesChanged();  // and thus the route is queried
    const std::uint64_t before = Allocations();
    EXPECT_TRUE((*udp)->Takes(packet, {}));
    EXPECT_EQ(Allocations() - before, 0u);
    batch.Add(packet);
    port.Send(batch);
  }
  EXPECT_EQ(port.allocations(), 0u);
  EXPECT_EQ(tunnel_gso->sent(), std::uint64_t{kRounds});
}

TEST(PortAllocation, NoneInATunDevice) {
  ASSERT_EQ(EnterPrivateNetns(), "");
  auto tun = TunPort::Open({.name = "t0"});
  ASSERT_TRUE(tun.ok()) << tun.status();
  ASSERT_TRUE(SetNetSysctl("ipv6/conf/t0/disable_ipv6", "1"));  // the kernel must not send
  ASSERT_EQ(RunIp("link set t0 mtu 1450 txqueuelen 1000 up"), "");
  PacketSocket kernel("t0");
  Counted port(**tun);

  PacketSlab slab;
  Batch batch;
  const auto add = [&](const ByteVector& bytes) -> Packet& {
    Packet packet = slab.Lend(batch.size());
    std::copy(bytes.begin(), bytes.end(), packet.data);
    packet.length = static_cast<std::uint32_t>(bytes.size());
    packet.tailroom -= packet.length;
    return batch.Add(packet);
  };
  const ByteVector plain = MakePacket(PortKind::kPodL3, 1, 500);
  const ByteVector superframe =
      PacketBuilder("10.244.1.7", "10.244.2.9").Tcp(1, 2).Payload(10'000).Build();
  std::size_t sent = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 20; ++i) ASSERT_EQ(kernel.Send(plain), "");
    EXPECT_EQ(port.Receive(20), 20u);

    batch.clear();
    for (int i = 0; i < 20; ++i) add(plain);
    add(plain).headroom = 0;  // needs two pieces
    Packet& segments = add(superframe);
    segments.segmentation = Segmentation::kTcp;
    segments.segment_size = 1000;
    segments.checksum = ChecksumState::kPartial;
    segments.checksum_start = 20;
    segments.checksum_offset = 16;
    add({}).length = 0;  // refused
    port.Send(batch);
    for (const Packet& packet : batch) sent += packet.verdict == Verdict::kForward ? 1 : 0;
  }
  EXPECT_EQ(port.allocations(), 0u);
  EXPECT_EQ(sent, kRounds * 22u);
}

TEST(PortAllocation, NoneInACapturedAdapter) {
  ASSERT_EQ(EnterPrivateNetns(), "");
  ASSERT_EQ(AddQuietVeth(), "");
  const auto library = PcapLibrary::Load();
  ASSERT_TRUE(library.ok()) << library.status();
  auto pcap = PcapPort::Open(**library, {.adapter = "near", .mac = Mac("02:00:00:00:01:01")});
  ASSERT_TRUE(pcap.ok()) << pcap.status();
  PacketSocket far("far");
  Counted port(**pcap);

  const ByteVector frame = MakePacket(PortKind::kPodL2, 1, 500);
  PacketSlab slab;
  Batch batch;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 20; ++i) ASSERT_EQ(far.Send(frame), "");
    EXPECT_EQ(port.Receive(20), 20u);
    batch.clear();
    for (const std::uint32_t length : {500u, 500u, 20'000u}) {  // the last exceeds the MTU
      Packet packet = slab.Lend(batch.size());
      std::copy(frame.begin(), frame.end(), packet.data);
      packet.length = length;
      batch.Add(packet);
    }
    port.Send(batch);
    EXPECT_EQ(batch[1].verdict, Verdict::kForward);
    EXPECT_EQ(batch[2].verdict, Verdict::kPodFull);
  }
  EXPECT_EQ(port.allocations(), 0u);
}

}  // namespace
}  // namespace weft::dataplane
