// SPDX-License-Identifier: Apache-2.0
// The packet path allocates nothing: this program counts every operator new.
#include <gtest/gtest.h>

#include <cstdint>

#include "dataplane/worker.h"
#include "tests/dataplane/support.h"
#include "tests/support/allocation_counter.h"

namespace weft::dataplane {
namespace {

// Delivers the same packets repeatedly, from its own bytes.
class ReplayPort final : public PacketPort {
 public:
  ReplayPort(PortKind kind, const PortFeatures& features) : kind_(kind), features_(features) {}
  void Deliver(const Packet& packet) { packets_.push_back({packet, BytesOf(packet)}); }

  PortKind kind() const override { return kind_; }
  const PortFeatures& features() const override { return features_; }
  std::size_t Receive(Batch& batch) override {
    batch.clear();
    for (const Kept& kept : packets_) {
      std::copy(kept.bytes.begin(), kept.bytes.end(), kept.packet.data);
      batch.Add(kept.packet);
    }
    return batch.size();
  }
  void Send(Batch&) override {}

 private:
  struct Kept {
    Packet packet;
    ByteVector bytes;
  };
  const PortKind kind_;
  const PortFeatures features_;
  std::vector<Kept> packets_;
};

TEST(Allocation, TheCounterCounts) {
  const std::uint64_t before = Allocations();
  int* volatile kept = new int;  // or the compiler may leave the pair out
  delete kept;
  EXPECT_EQ(Allocations() - before, 1u);
}

TEST(Allocation, NoneOnThePacketPath) {
  for (const PortKind kind : {PortKind::kWirePacket, PortKind::kWireDatagram}) {
    ForwarderConfig config = DefaultConfig();
    config.wire = kind;
    Node node(config);
    PortFeatures all;
    all.tcp_segmentation = all.udp_segmentation = all.partial_checksum = true;
    ReplayPort pods(PortKind::kPodL3, all);
    const auto tcp = [](std::string_view from, std::string_view to, std::uint32_t sequence) {
      return PacketBuilder(from, to)
          .Tcp(1, 2, TcpHeader::kAck, sequence)
          .Payload(1000)
          .DontFragment();
    };
    pods.Deliver(node.buffers.Make(PacketBuilder("10.244.2.9", "10.244.1.7").Build()));
    pods.Deliver(node.buffers.Make(PacketBuilder("fd00:2::9", "fd00:1::7").Build()));
    pods.Deliver(node.buffers.Make(PacketBuilder("10.244.2.9", "10.9.1.7").Build()));
    pods.Deliver(
        node.buffers.Make(PacketBuilder("10.244.2.9", "10.244.1.7").TotalLength(1480).Build()));
    pods.Deliver(node.buffers.MakeSuperframe(
        PacketBuilder("10.244.2.9", "10.244.1.7").Tcp(1, 2).Payload(60'000).Build(),
        Segmentation::kTcp, 1000));
    pods.Deliver(node.buffers.MakeSuperframe(
        PacketBuilder("10.244.2.9", "10.244.1.7").Tcp(1, 2).Payload(60'000).Build(),
        Segmentation::kTcp, 1));
    pods.Deliver(node.buffers.Make(
        PacketBuilder("10.244.2.9", "10.244.3.7").Tcp(1, 2, TcpHeader::kSyn).Build()));
    PortFeatures aggregation;
    aggregation.datagram_aggregation = kind == PortKind::kWireDatagram;
    ReplayPort wire(kind, aggregation);
    for (std::uint32_t i = 0; i < 4; ++i) {
      VxlanBuilder outer(tcp("10.244.1.7", "10.244.2.9", 1 + i * 1000).Build());
      Packet packet = node.buffers.Make(kind == PortKind::kWirePacket ? outer.UdpChecksum().Build()
                                                                      : outer.BuildPayload());
      packet.outer_address = Ip("192.0.2.1");
      wire.Deliver(packet);
      packet.outer_address = Ip("203.0.113.9");
      wire.Deliver(packet);
    }
    Worker worker(pods, wire, node.forwarder, node.counters);
    worker.Step({});
    const std::uint64_t before = Allocations();
    for (int i = 0; i < 100; ++i) {
      node.forwarder.Rest();
      worker.Step(std::chrono::milliseconds(i));
      node.forwarder.LearnPathMtu({IpAddress::V4(0xc000'0201), 1490}, std::chrono::milliseconds(i));
      node.forwarder.LearnPathMtu({IpAddress::V4(0xc000'0203), 68}, std::chrono::milliseconds(i));
    }
    EXPECT_EQ(Allocations() - before, 0u);
    EXPECT_GT(node.counters.Read().icmp_errors_sent, 0u);
    EXPECT_GT(node.CountsOf("linux-1").received_packets, 0u);
  }
}

}  // namespace
}  // namespace weft::dataplane
