// SPDX-License-Identifier: Apache-2.0
#include "dataplane/worker.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "tests/dataplane/support.h"
#include "tests/support/memory_port.h"
#include "vxlan/transport_checksum.h"

namespace weft::dataplane {
namespace {

std::uint64_t Of(const DirectionCounts& counts, Verdict verdict) {
  return counts.packets[static_cast<std::size_t>(verdict)];
}

// A node between two memory links; the test has the far ends.
struct Rig {
  explicit Rig(PortKind wire_kind = PortKind::kWirePacket, const PortFeatures& pod_features = {},
               const PortFeatures& wire_features = {})
      : node(ConfigFor(wire_kind)),
        pods(MemoryLink::Make(PortKind::kPodL3, pod_features)),
        wire(MemoryLink::Make(WireOptions(wire_kind, wire_features))),
        worker(*pods.first, *wire.first, node.forwarder, node.counters) {}

  static ForwarderConfig ConfigFor(PortKind wire_kind) {
    ForwarderConfig config = DefaultConfig();
    config.wire = wire_kind;
    return config;
  }
  static MemoryOptions WireOptions(PortKind kind, const PortFeatures& features) {
    MemoryOptions options;
    options.kind = kind;
    options.features = features;
    options.first_address = Ip("192.0.2.2");
    options.second_address = Ip("192.0.2.1");
    return options;
  }
  static void Send(PacketPort& port, std::initializer_list<Packet> packets) {
    auto batch = std::make_unique<Batch>();
    for (const Packet& packet : packets) batch->Add(packet);
    port.Send(*batch);
    for (const Packet& packet : *batch) ASSERT_EQ(packet.verdict, Verdict::kForward);
  }
  std::unique_ptr<Batch> Receive(PacketPort& port) {
    auto batch = std::make_unique<Batch>();
    port.Receive(*batch);
    return batch;
  }

  Node node;
  MemoryLink pods;
  MemoryLink wire;
  Worker worker;
};

ByteVector ToPeer(std::size_t bytes = 100) {
  return PacketBuilder("10.244.2.9", "10.244.1.7").Udp(1, 2).TotalLength(bytes).Build();
}
ByteVector FromPeerPayload() {
  return VxlanBuilder(PacketBuilder("10.244.1.7", "10.244.2.9").Build()).BuildPayload();
}
ByteVector FromPeer() {
  return VxlanBuilder(PacketBuilder("10.244.1.7", "10.244.2.9").Build()).Build();
}

TEST(Worker, MovesPacketsBothWays) {
  Rig rig;
  Rig::Send(*rig.pods.second, {rig.node.buffers.Make(ToPeer())});
  Rig::Send(*rig.wire.second, {rig.node.buffers.Make(FromPeer())});
  EXPECT_EQ(rig.worker.Step({}), 2u);
  EXPECT_EQ(rig.worker.Step({}), 0u);
  EXPECT_EQ(rig.Receive(*rig.wire.second)->size(), 1u);
  EXPECT_EQ(rig.Receive(*rig.pods.second)->size(), 1u);
  const CounterValues values = rig.node.counters.Read();
  EXPECT_EQ(Of(values.to_wire, Verdict::kForward), 1u);
  EXPECT_EQ(Of(values.to_pods, Verdict::kForward), 1u);
  EXPECT_EQ(values.to_wire.bytes, 100u);
}

TEST(Worker, CountsDropsOfForwarderAndPorts) {
  Rig rig;
  Rig::Send(*rig.pods.second,
            {rig.node.buffers.Make(PacketBuilder("10.244.2.9", "10.99.0.1").Build())});
  Rig::Send(*rig.wire.second, {rig.node.buffers.Make(VxlanBuilder(ToPeer()).Network(9).Build())});
  rig.worker.Step({});
  EXPECT_EQ(Of(rig.node.counters.Read().to_wire, Verdict::kNoRoute), 1u);
  EXPECT_EQ(Of(rig.node.counters.Read().to_pods, Verdict::kForeignVni), 1u);
}

TEST(Worker, CountsWhatAFullPortRefuses) {
  Node node(Rig::ConfigFor(PortKind::kWirePacket));
  MemoryOptions small;
  small.capacity = 1;
  small.kind = PortKind::kPodL3;
  MemoryLink pods = MemoryLink::Make(PortKind::kPodL3);
  MemoryLink narrow_pods = MemoryLink::Make(small);
  small.kind = PortKind::kWirePacket;
  MemoryLink narrow_wire = MemoryLink::Make(small);
  MemoryLink wire = MemoryLink::Make(PortKind::kWirePacket);
  Worker out(*pods.first, *narrow_wire.first, node.forwarder, node.counters);
  Worker in(*narrow_pods.first, *wire.first, node.forwarder, node.counters);
  Rig::Send(*pods.second, {node.buffers.Make(ToPeer()), node.buffers.Make(ToPeer()),
                           node.buffers.Make(ToPeer())});
  Rig::Send(*wire.second, {node.buffers.Make(FromPeer()), node.buffers.Make(FromPeer())});
  out.Step({});
  in.Step({});
  EXPECT_EQ(Of(node.counters.Read().to_wire, Verdict::kForward), 1u);
  EXPECT_EQ(Of(node.counters.Read().to_wire, Verdict::kWireFull), 2u);
  EXPECT_EQ(Of(node.counters.Read().to_pods, Verdict::kPodFull), 1u);
}

TEST(Worker, SendsIcmpErrorsBackToThePod) {
  Rig rig;
  Rig::Send(*rig.pods.second, {rig.node.buffers.Make(ToPeer(1480))});
  rig.worker.Step({});
  const auto answers = rig.Receive(*rig.pods.second);
  ASSERT_EQ(answers->size(), 1u);
  const auto ip = ParseInnerIp((*answers)[0].bytes());
  EXPECT_EQ(ip->protocol, IpProtocol::kIcmp);
  EXPECT_EQ(ip->destination(), Ip("10.244.2.9"));
  EXPECT_EQ(Of(rig.node.counters.Read().to_wire, Verdict::kTooBig), 1u);
  EXPECT_EQ(rig.node.counters.Read().icmp_errors_sent, 1u);
}

TEST(Worker, CutsSuperframesForAWireThatCannot) {
  for (const bool aggregates : {false, true}) {
    PortFeatures pod;
    pod.tcp_segmentation = pod.partial_checksum = true;
    PortFeatures wire;
    wire.datagram_aggregation = aggregates;
    Rig rig(PortKind::kWireDatagram, pod, wire);
    const ByteVector inner =
        PacketBuilder("10.244.2.9", "10.244.1.7").Tcp(1, 2).Payload(60'000).Build();
    Rig::Send(*rig.pods.second, {rig.node.buffers.Make(ToPeer()),
                                 rig.node.buffers.MakeSuperframe(inner, Segmentation::kTcp, 1000),
                                 rig.node.buffers.Make(ToPeer())});
    rig.worker.Step({});
    const auto sent = rig.Receive(*rig.wire.second);
    std::uint32_t datagrams = 0;
    for (const Packet& packet : *sent) datagrams += WirePackets(packet);
    EXPECT_EQ(datagrams, 62u);
    EXPECT_EQ(sent->size(), aggregates ? 3u : 62u);
    EXPECT_EQ((*sent)[0].length, 122u) << "order is kept";
    EXPECT_EQ(Of(rig.node.counters.Read().to_wire, Verdict::kForward), 62u);
    EXPECT_EQ(rig.node.counters.Read().to_wire.bytes, 200u + 60'000 + 60 * 40);
  }
}

// More superframes than buffers to cut into, or more segments than a batch has, whichever comes
// last.
TEST(Worker, CutsMoreThanItHasRoomForAtOnce) {
  const struct {
    const char* description;
    bool (*is_superframe)(std::uint16_t place);
  } rows[] = {
      {"two of three are superframes", [](std::uint16_t place) { return place % 3 != 0; }},
      {"the first are", [](std::uint16_t place) { return place < 15; }},
      {"the last are", [](std::uint16_t place) { return place >= 241; }},
  };
  PortFeatures pod;
  pod.tcp_segmentation = pod.partial_checksum = true;
  for (const auto& row : rows) {
    SCOPED_TRACE(row.description);
    Rig rig(PortKind::kWireDatagram, pod);
    auto batch = std::make_unique<Batch>();
    std::vector<std::uint16_t> desired;  // source ports, in order
    for (std::uint16_t i = 0; i < kMaxBatch; ++i) {
      PacketBuilder inner("10.244.2.9", "10.244.1.7");
      if (row.is_superframe(i)) {
        inner.Tcp(i, 2).Payload(2500);
        batch->Add(rig.node.buffers.MakeSuperframe(inner.Build(), Segmentation::kTcp, 1000));
        desired.insert(desired.end(), 3, i);
      } else {
        batch->Add(rig.node.buffers.Make(inner.Udp(i, 2).Payload(20).Build()));
        desired.push_back(i);
      }
    }
    ASSERT_GT(desired.size(), kMaxBatch);
    rig.pods.second->Send(*batch);
    while (rig.worker.Step({}) != 0) {
    }
    std::vector<std::uint16_t> sent;
    for (auto got = rig.Receive(*rig.wire.second); !got->empty();
         got = rig.Receive(*rig.wire.second)) {
      for (const Packet& packet : *got) {
        const Bytes bytes = packet.bytes().subspan(22);
        EXPECT_EQ(VerifyTransportChecksum(bytes), TransportChecksum::kRight);
        sent.push_back(LoadBe16(bytes.data() + kIpv4HeaderSize));
      }
    }
    EXPECT_EQ(sent, desired);
    EXPECT_EQ(Of(rig.node.counters.Read().to_wire, Verdict::kForward), desired.size());
  }
}

// A wire that segments itself gets the superframe whole.
TEST(Worker, ASuperframeIsCutOnlyForAWireThatCannot) {
  struct Row {
    Segmentation segmentation;
    bool tcp;  // what the wire can cut
    bool udp;
    std::size_t packets;
  };
  const Row rows[] = {
      {Segmentation::kTcp, true, false, 1},
      {Segmentation::kTcp, false, true, 3},
      {Segmentation::kUdp, false, true, 1},
      {Segmentation::kUdp, true, false, 3},
  };
  for (const Row& row : rows) {
    PortFeatures pod;
    pod.tcp_segmentation = pod.udp_segmentation = pod.partial_checksum = true;
    PortFeatures wire;
    wire.partial_checksum = true;
    wire.tcp_segmentation = row.tcp;
    wire.udp_segmentation = row.udp;
    Rig rig(PortKind::kWirePacket, pod, wire);
    PacketBuilder inner("10.244.2.9", "10.244.1.7");
    row.segmentation == Segmentation::kTcp ? inner.Tcp(1, 2) : inner.Udp(1, 2);
    Rig::Send(*rig.pods.second, {rig.node.buffers.MakeSuperframe(inner.Payload(3000).Build(),
                                                                 row.segmentation, 1000)});
    rig.worker.Step({});
    const auto sent = rig.Receive(*rig.wire.second);
    EXPECT_EQ(sent->size(), row.packets);
    EXPECT_EQ((*sent)[0].segmentation, row.packets == 1 ? row.segmentation : Segmentation::kNone);
    EXPECT_EQ(Of(rig.node.counters.Read().to_wire, Verdict::kForward), 3u) << "three either way";
  }
}

TEST(Worker, ASuperframeThatWasDroppedIsNotCut) {
  PortFeatures pod;
  pod.tcp_segmentation = pod.partial_checksum = true;
  Rig rig(PortKind::kWireDatagram, pod);
  const ByteVector inner =
      PacketBuilder("10.244.2.9", "10.244.1.7").Tcp(1, 2).Payload(3000).Build();
  const Packet good = rig.node.buffers.MakeSuperframe(inner, Segmentation::kTcp, 1000);
  Packet bad = rig.node.buffers.MakeSuperframe(inner, Segmentation::kTcp, 1000);
  bad.checksum_start = 60'000;
  Rig::Send(*rig.pods.second, {bad, good});
  rig.worker.Step({});
  EXPECT_EQ(rig.Receive(*rig.wire.second)->size(), 3u);
  EXPECT_EQ(Of(rig.node.counters.Read().to_wire, Verdict::kForward), 3u);
  EXPECT_EQ(Of(rig.node.counters.Read().to_wire, Verdict::kInnerMalformed), 4u);
}

TEST(Worker, SplitsAggregatesAndCoalescesForAPodPortThatSupportsIt) {
  PortFeatures pod;
  pod.tcp_segmentation = pod.partial_checksum = true;
  PortFeatures wire;
  wire.datagram_aggregation = true;
  Rig rig(PortKind::kWireDatagram, pod, wire);
  ByteVector aggregate;
  for (std::uint32_t i = 0; i < 20; ++i) {
    aggregate = Concatenate(aggregate, VxlanBuilder(PacketBuilder("10.244.1.7", "10.244.2.9")
                                                        .Tcp(1, 2, TcpHeader::kAck, 1 + i * 500)
                                                        .DontFragment()
                                                        .Payload(500)
                                                        .Build())
                                           .BuildPayload());
  }
  Packet packet = rig.node.buffers.Make(aggregate);
  packet.segmentation = Segmentation::kDatagrams;
  packet.segment_size = 22 + 40 + 500;
  Rig::Send(*rig.wire.second, {packet});
  rig.worker.Step({});
  const auto received = rig.Receive(*rig.pods.second);
  ASSERT_EQ(received->size(), 1u);
  EXPECT_EQ((*received)[0].length, 40u + 20 * 500);
  EXPECT_EQ((*received)[0].segmentation, Segmentation::kTcp);
  EXPECT_EQ(Of(rig.node.counters.Read().to_pods, Verdict::kForward), 20u);
  EXPECT_EQ(rig.node.CountsOf("linux-1").received_packets, 20u);
}

// Before Linux 6.2 TUN devices accept no UDP superframes; a Linux peer on the same machine sends
// them uncut nevertheless, next to aggregates.
TEST(Worker, AnUncutSuperframeIsCutForAPodPortThatCannot) {
  for (const bool offloads : {false, true}) {
    PortFeatures pod;
    pod.tcp_segmentation = pod.partial_checksum = offloads;
    PortFeatures wire;
    wire.datagram_aggregation = true;
    Rig rig(PortKind::kWireDatagram, pod, wire);
    const auto unfinished = [](std::size_t payload) {
      return VxlanBuilder(PacketBuilder("10.244.1.7", "10.244.2.9")
                              .Udp(1, 2)
                              .Payload(payload)
                              .PartialTransportChecksum()
                              .Build())
          .BuildPayload();
    };
    Packet packet = rig.node.buffers.Make(unfinished(2500));
    packet.segmentation = Segmentation::kDatagrams;
    packet.segment_size = 1000;
    const ByteVector one = FromPeerPayload();
    Packet aggregate = rig.node.buffers.Make(Concatenate(one, one));
    aggregate.segmentation = Segmentation::kDatagrams;
    aggregate.segment_size = static_cast<std::uint16_t>(one.size());
    Rig::Send(*rig.wire.second, {packet, aggregate, rig.node.buffers.Make(unfinished(20))});
    rig.worker.Step({});
    const auto received = rig.Receive(*rig.pods.second);
    ASSERT_EQ(received->size(), 6u);
    for (std::size_t i = 0; i < 6; ++i) {
      const bool left_to_the_port = offloads && i == 5;
      EXPECT_EQ(VerifyTransportChecksum((*received)[i].bytes()),
                left_to_the_port ? TransportChecksum::kWrong : TransportChecksum::kRight);
      if (i < 3) EXPECT_EQ((*received)[i].length, 28u + (i == 2 ? 500 : 1000));
    }
    EXPECT_EQ(Of(rig.node.counters.Read().to_pods, Verdict::kForward), 6u);
    EXPECT_EQ(rig.node.CountsOf("linux-1").received_packets, 6u);
  }
}

// The SYN of a pod and the superframes to it may be different workers'.
TEST(Worker, ItsNeighboursSynLimitsASuperframesSegments) {
  PortFeatures pod;
  pod.tcp_segmentation = pod.partial_checksum = true;
  Node node(Rig::ConfigFor(PortKind::kWireDatagram));
  const MemoryLink pods = MemoryLink::Make(PortKind::kPodL3, pod);
  const MemoryLink wire = MemoryLink::Make(Rig::WireOptions(PortKind::kWireDatagram, {}));
  const MemoryLink other_pods = MemoryLink::Make(PortKind::kPodL3, pod);
  const MemoryLink other_wire = MemoryLink::Make(Rig::WireOptions(PortKind::kWireDatagram, {}));
  const auto sizes = std::make_shared<SegmentSizes>();
  Worker one(*pods.first, *wire.first, node.forwarder, node.counters, {}, sizes);
  Worker other(*other_pods.first, *other_wire.first, node.forwarder, node.counters, {}, sizes);

  ByteVector syn = PacketBuilder("10.244.2.9", "10.244.1.7")
                       .Tcp(80, 4000, TcpHeader::kSyn | TcpHeader::kAck)
                       .Payload(4)
                       .Build();
  Store8(syn.data() + 32, 6 << 4);
  StoreBe32(syn.data() + 40, 0x0204'0000u | 700);  // the MSS option
  Rig::Send(*pods.second, {node.buffers.Make(syn)});
  one.Step({});
  Rig::Send(*other_wire.second,
            {node.buffers.Make(VxlanBuilder(PacketBuilder("10.244.1.7", "10.244.2.9")
                                                .Tcp(4000, 80)
                                                .Payload(5000)
                                                .PartialTransportChecksum()
                                                .Build())
                                   .BuildPayload())});
  other.Step({});
  Batch received;
  other_pods.second->Receive(received);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].segmentation, Segmentation::kTcp);
  EXPECT_EQ(received[0].segment_size, 700u);
}

TEST(Worker, SplitsMoreDatagramsThanABatchHolds) {
  PortFeatures wire;
  wire.datagram_aggregation = true;
  Rig rig(PortKind::kWireDatagram, {}, wire);
  const ByteVector one =
      VxlanBuilder(PacketBuilder("10.244.1.7", "10.244.2.9").Build()).BuildPayload();
  ByteVector aggregate;
  for (int i = 0; i < 300; ++i) aggregate = Concatenate(aggregate, one);
  Packet packet = rig.node.buffers.Make(aggregate);
  packet.segmentation = Segmentation::kDatagrams;
  packet.segment_size = static_cast<std::uint16_t>(one.size());
  Rig::Send(*rig.wire.second, {packet});
  rig.worker.Step({});
  EXPECT_EQ(Of(rig.node.counters.Read().to_pods, Verdict::kForward), 300u);
}

TEST(Worker, SeesTableChangesAtTheNextStep) {
  Rig rig;
  rig.node.remotes.Resync({});
  Rig::Send(*rig.pods.second, {rig.node.buffers.Make(ToPeer())});
  rig.worker.Step({});
  EXPECT_EQ(Of(rig.node.counters.Read().to_wire, Verdict::kNoRoute), 1u);
}

// A wire that has learnt a path MTU, and a pod device that refuses.
class NoticingPort final : public PacketPort {
 public:
  PortKind kind() const override { return PortKind::kWirePacket; }
  const PortFeatures& features() const override { return features_; }
  std::size_t Receive(Batch& batch) override {
    batch.clear();
    return 0;
  }
  void Send(Batch& batch) override {
    ++sends;
    for (Packet& packet : batch)
      packet.verdict = packet.verdict == Verdict::kForward ? refusal : packet.verdict;
  }
  std::size_t DrainPathMtuNotices(std::span<PathMtuNotice> out) override {
    out[0] = {Ip("192.0.2.1"), 1400};
    return 1;
  }
  Verdict refusal = Verdict::kWireError;
  int sends = 0;

 private:
  PortFeatures features_;
};

TEST(Worker, TakesPathMtusAndPortErrors) {
  Node node(Rig::ConfigFor(PortKind::kWirePacket));
  MemoryLink pods = MemoryLink::Make(PortKind::kPodL3);
  NoticingPort wire;
  Worker worker(*pods.first, wire, node.forwarder, node.counters);
  Rig::Send(*pods.second, {node.buffers.Make(ToPeer())});
  worker.Step({});
  EXPECT_EQ(Of(node.counters.Read().to_wire, Verdict::kWireError), 1u);
  EXPECT_EQ(node.CountsOf("linux-1").path_mtu, 1400u);

  MemoryLink outside = MemoryLink::Make(PortKind::kWirePacket);
  NoticingPort pod;
  pod.refusal = Verdict::kPodError;
  Worker inwards(pod, *outside.first, node.forwarder, node.counters);
  Rig::Send(*outside.second, {node.buffers.Make(FromPeer())});
  inwards.Step({});
  EXPECT_EQ(Of(node.counters.Read().to_pods, Verdict::kPodError), 1u);
}

TEST(Worker, AStepWithoutPacketsSendsNothing) {
  Node node(Rig::ConfigFor(PortKind::kWirePacket));
  NoticingPort pods;
  NoticingPort wire;
  Worker worker(pods, wire, node.forwarder, node.counters);
  EXPECT_EQ(worker.Step({}), 0u);
  EXPECT_EQ(pods.sends + wire.sends, 0);
}

// A wire that takes superframes of one flow whole; keeps what it sent.
class ChoosyPort final : public PacketPort {
 public:
  PortKind kind() const override { return PortKind::kWireDatagram; }
  const PortFeatures& features() const override { return features_; }
  std::size_t Receive(Batch& batch) override {
    batch.clear();
    return 0;
  }
  bool Takes(const Packet& packet, Timestamp now) override {
    EXPECT_EQ(now, kNow);
    return SourcePort(packet) == 1;
  }
  void Send(Batch& batch) override {
    for (const Packet& packet : batch) sent.emplace_back(SourcePort(packet), packet.segmentation);
  }

  static constexpr Timestamp kNow = std::chrono::seconds(5);
  std::vector<std::pair<int, Segmentation>> sent;

 private:
  static int SourcePort(const Packet& packet) {
    return LoadBe16(packet.data + packet.inner_offset + 20);
  }
  PortFeatures features_;
};

TEST(Worker, APortMayTakeSomeSuperframesAndTheOrderIsKept) {
  Node node(Rig::ConfigFor(PortKind::kWireDatagram));
  MemoryOptions superframes;
  superframes.kind = PortKind::kPodL3;
  superframes.features.tcp_segmentation = superframes.features.partial_checksum = true;
  MemoryLink pods = MemoryLink::Make(superframes);
  ChoosyPort wire;
  Worker worker(*pods.first, wire, node.forwarder, node.counters);
  const auto superframe = [&](std::uint16_t source) {
    return node.buffers.MakeSuperframe(
        PacketBuilder("10.244.2.9", "10.244.1.7").Tcp(source, 2).Payload(2000).Build(),
        Segmentation::kTcp, 1000);
  };
  const auto small = [&](std::uint16_t source) {
    return node.buffers.Make(
        PacketBuilder("10.244.2.9", "10.244.1.7").Tcp(source, 2).Payload(9).Build());
  };
  Rig::Send(*pods.second,
            {superframe(1), small(1), superframe(2), small(1), superframe(1), small(2)});
  worker.Step(ChoosyPort::kNow);
  using enum Segmentation;
  EXPECT_THAT(wire.sent,
              ::testing::ElementsAre(std::pair(1, kTcp), std::pair(1, kNone), std::pair(2, kNone),
                                     std::pair(2, kNone), std::pair(1, kNone), std::pair(1, kTcp),
                                     std::pair(2, kNone)));
}

// A port that receives bytes that are no packets, as a forger sends them.
class ConsumingPort final : public PacketPort {
 public:
  PortKind kind() const override { return PortKind::kWireDatagram; }
  const PortFeatures& features() const override { return features_; }
  std::size_t Receive(Batch& batch) override {
    batch.clear();
    return 3;
  }
  void Send(Batch&) override {}

 private:
  PortFeatures features_;
};

// Otherwise the worker would count a fruitless wake-up, and ignore the handle for a while after
// some of these.
TEST(Worker, ConsumedPacketsCountAsWork) {
  Node node(Rig::ConfigFor(PortKind::kWireDatagram));
  MemoryLink pods = MemoryLink::Make(PortKind::kPodL3);
  ConsumingPort wire;
  Worker worker(*pods.first, wire, node.forwarder, node.counters);
  EXPECT_EQ(worker.Step({}), 3u);
}

// A wire that receives packets while the worker sends.
class AnsweringPort final : public PacketPort {
 public:
  explicit AnsweringPort(const Packet& answer) : answer_(answer) {}
  PortKind kind() const override { return PortKind::kWireDatagram; }
  const PortFeatures& features() const override { return features_; }
  std::size_t Receive(Batch& batch) override {
    batch.clear();
    if (sends == 0 || received_after != 0) return 0;
    received_after = sends;
    batch.Add(answer_);
    return 1;
  }
  void Send(Batch&) override { ++sends; }

  int sends = 0;
  int received_after = 0;

 private:
  const Packet answer_;
  PortFeatures features_;
};

TEST(Worker, ReceivedPacketsDoNotWaitForTheEndOfALongSuperframe) {
  Node node(Rig::ConfigFor(PortKind::kWireDatagram));
  PortFeatures pod;
  pod.tcp_segmentation = pod.partial_checksum = true;
  MemoryLink pods = MemoryLink::Make(PortKind::kPodL3, pod);
  Packet answer = node.buffers.Make(FromPeerPayload());
  answer.outer_address = Ip("192.0.2.1");
  AnsweringPort wire(answer);
  Worker worker(*pods.first, wire, node.forwarder, node.counters);
  Rig::Send(*pods.second,
            {node.buffers.MakeSuperframe(
                PacketBuilder("10.244.2.9", "10.244.1.7").Tcp(1, 2).Payload(60'000).Build(),
                Segmentation::kTcp, 48)});
  worker.Step({});
  EXPECT_GT(wire.sends, 1);
  EXPECT_EQ(wire.received_after, 1);
  const auto received = std::make_unique<Batch>();
  pods.second->Receive(*received);
  EXPECT_EQ(received->size(), 1u);
}

TEST(Worker, RunsUntilStopped) {
  Rig rig;
  absl::Status status;
  {
    std::jthread thread([&](std::stop_token stop) { status = rig.worker.Run(stop); });
    Rig::Send(*rig.pods.second, {rig.node.buffers.Make(ToPeer())});
    auto batch = std::make_unique<Batch>();
    while (rig.wire.second->Receive(*batch) == 0) std::this_thread::yield();
  }
  EXPECT_TRUE(status.ok()) << status;
}

// Under Wine one of some hundred stops did not end, while the end of Run waited for its own waking.
TEST(Worker, EachOfManyStopsEndsIt) {
  Rig rig;
  for (int i = 0; i < 500; ++i) {
    const std::jthread thread([&](std::stop_token stop) { rig.worker.Run(stop).IgnoreError(); });
  }
}

}  // namespace
}  // namespace weft::dataplane
