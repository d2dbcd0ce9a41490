// SPDX-License-Identifier: Apache-2.0
// Every fault at probability one and at one half, with fixed seeds: the same seed gives the same
// faults.
#include "tests/support/fault_port.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

#include "tests/dataplane/ports/port_harnesses.h"
#include "tests/support/memory_port.h"

namespace weft::dataplane {
namespace {

constexpr PortKind kKind = PortKind::kWireDatagram;
constexpr std::size_t kSize = 100;

std::map<std::string, std::uint64_t> Counts(const PacketPort& port) {
  std::map<std::string, std::uint64_t> counts;
  for (const NamedCount& count : port.Counts()) counts[count.name] = count.value;
  return counts;
}

struct Rig {
  explicit Rig(const FaultOptions& options) {
    MemoryLink link = MemoryLink::Make(kKind);
    far = std::move(link.second);
    port = std::make_unique<FaultPort>(std::move(link.first), options);
  }
  std::vector<ByteVector> Receive(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) SendBytes(*far, MakePacket(kKind, i, kSize));
    return ReceiveBytes(*port);
  }
  // Also: the caller's bytes and verdicts stay.
  std::vector<ByteVector> Send(std::uint32_t count) {
    Batch batch;
    for (std::uint32_t i = 0; i < count; ++i) {
      const ByteVector bytes = MakePacket(kKind, i, kSize);
      Packet packet = slab.Lend(i);
      std::copy(bytes.begin(), bytes.end(), packet.data);
      packet.length = kSize;
      batch.Add(packet);
    }
    port->Send(batch);
    for (std::uint32_t i = 0; i < count; ++i) {
      EXPECT_EQ(batch[i].verdict, Verdict::kForward);
      EXPECT_EQ(ByteVector(batch[i].data, batch[i].data + batch[i].length),
                MakePacket(kKind, i, kSize));
    }
    return ReceiveBytes(*far);
  }

  std::unique_ptr<PacketPort> far;
  std::unique_ptr<FaultPort> port;
  PacketSlab slab;
};

std::vector<std::uint32_t> Numbers(const std::vector<ByteVector>& packets) {
  std::vector<std::uint32_t> numbers;
  for (const ByteVector& packet : packets) numbers.push_back(LoadBe32(packet.data()));
  return numbers;
}

FaultOptions Both(const FaultRates& rates) {
  FaultOptions options;
  options.receive = options.send = rates;
  return options;
}

TEST(FaultPort, PathMtusOfTheInnerPortPassThrough) {
  FaultPort port(std::make_unique<NoticingPort>(), Both({.loss = 1}));
  std::array<PathMtuNotice, 4> notices;
  ASSERT_EQ(port.DrainPathMtuNotices(notices), 1u) << "a notice is no packet: it is not lost";
  EXPECT_EQ(notices[0].destination, NoticingPort::kDestination);
  EXPECT_EQ(notices[0].outer_mtu, NoticingPort::kMtu);
}

TEST(FaultPort, LosesAll) {
  Rig rig(Both({.loss = 1}));
  EXPECT_TRUE(rig.Receive(10).empty());
  EXPECT_TRUE(rig.Send(10).empty());
  EXPECT_EQ(Counts(*rig.port)["fault-lost"], 20u);
}

// A worker sleeps only where there was nothing.
TEST(FaultPort, LostPacketsCountAsAccepted) {
  Rig rig(Both({.loss = 1}));
  for (std::uint32_t i = 0; i < 3; ++i) SendBytes(*rig.far, MakePacket(kKind, i, kSize));
  Batch batch;
  EXPECT_EQ(rig.port->Receive(batch), 3u);
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(rig.port->Receive(batch), 0u);
}

TEST(FaultPort, RepeatsAll) {
  Rig rig(Both({.duplication = 1}));
  const std::vector<std::uint32_t> twice = {0, 0, 1, 1, 2, 2};
  EXPECT_EQ(Numbers(rig.Receive(3)), twice);
  EXPECT_EQ(Numbers(rig.Send(3)), twice);
  EXPECT_EQ(Counts(*rig.port)["fault-duplicated"], 6u);
}

TEST(FaultPort, ARepeatHasBytesOfItsOwn) {
  Rig rig(Both({.duplication = 1}));
  SendBytes(*rig.far, MakePacket(kKind, 1, kSize));
  Batch batch;
  ASSERT_EQ(rig.port->Receive(batch), 2u);
  std::fill_n(batch[0].data - batch[0].headroom, batch[0].headroom + kSize, std::byte{0xee});
  EXPECT_EQ(ByteVector(batch[1].data, batch[1].data + kSize), MakePacket(kKind, 1, kSize));
}

TEST(FaultPort, AFullBatchHasNoRoomForRepeatsButKeepsItsPackets) {
  Rig rig(Both({.duplication = 1}));
  std::vector<std::uint32_t> all(kMaxBatch);
  for (std::uint32_t i = 0; i < kMaxBatch; ++i) all[i] = i;
  EXPECT_EQ(Numbers(rig.Receive(kMaxBatch)), all);
}

TEST(FaultPort, ReordersPairs) {
  Rig rig(Both({.reorder = 1}));
  EXPECT_EQ(Numbers(rig.Receive(5)), (std::vector<std::uint32_t>{1, 0, 3, 2, 4}));
  EXPECT_EQ(Numbers(rig.Send(4)), (std::vector<std::uint32_t>{1, 0, 3, 2}));
  EXPECT_EQ(Counts(*rig.port)["fault-reordered"], 4u);
}

TEST(FaultPort, FlipsOneBit) {
  Rig rig(Both({.corruption = 1}));
  for (const std::vector<ByteVector>& packets : {rig.Receive(20), rig.Send(20)}) {
    ASSERT_EQ(packets.size(), 20u);
    for (std::uint32_t i = 0; i < 20; ++i) {
      const ByteVector expected = MakePacket(kKind, i, kSize);
      int bits = 0;
      for (std::size_t at = 0; at < kSize; ++at) {
        bits += __builtin_popcount(std::to_integer<unsigned>(packets[i][at] ^ expected[at]));
      }
      EXPECT_EQ(bits, 1);
    }
  }
  EXPECT_EQ(Counts(*rig.port)["fault-corrupted"], 40u);
}

TEST(FaultPort, CutsTheEndButNeverAll) {
  Rig rig(Both({.truncation = 1}));
  const std::vector<ByteVector> packets = rig.Receive(50);
  ASSERT_EQ(packets.size(), 50u);
  for (std::uint32_t i = 0; i < 50; ++i) {
    const ByteVector expected = MakePacket(kKind, i, kSize);
    EXPECT_GE(packets[i].size(), 1u);
    EXPECT_LT(packets[i].size(), kSize);
    EXPECT_TRUE(std::equal(packets[i].begin(), packets[i].end(), expected.begin()));
  }
  EXPECT_EQ(Counts(*rig.port)["fault-truncated"], 50u);
}

TEST(FaultPort, APacketOfOneByteIsNotCut) {
  Rig rig(Both({.truncation = 1}));
  SendBytes(*rig.far, ByteVector(1));
  EXPECT_EQ(ReceiveBytes(*rig.port), std::vector<ByteVector>{ByteVector(1)});
  EXPECT_EQ(Counts(*rig.port)["fault-truncated"], 0u);
}

TEST(FaultPort, AFaultThatIsOffDrawsNothing) {
  FaultOptions options = Both({.loss = 0.5});
  options.seed = 7;
  Rig rig(options);
  std::mt19937_64 random(options.seed);
  std::vector<std::uint32_t> kept;
  for (std::uint32_t i = 0; i < 100; ++i)
    if (random() >> 63 == 1) kept.push_back(i);
  EXPECT_EQ(Numbers(rig.Receive(100)), kept);
}

TEST(FaultPort, TheSeedDecides) {
  const FaultRates rates = {
      .loss = 0.2, .duplication = 0.2, .reorder = 0.2, .corruption = 0.2, .truncation = 0.2};
  FaultOptions options = Both(rates);
  std::vector<std::vector<ByteVector>> runs;
  for (const std::uint64_t seed : {7u, 7u, 8u}) {
    options.seed = seed;
    Rig rig(options);
    runs.push_back(rig.Receive(100));
  }
  EXPECT_EQ(runs[0], runs[1]) << "seed 7 twice";
  EXPECT_NE(runs[0], runs[2]) << "seeds 7 and 8";
}

TEST(FaultPort, RatesAreMet) {
  FaultOptions options;
  options.seed = 42;
  options.receive.loss = 0.25;
  Rig rig(options);
  std::size_t got = 0;
  for (int i = 0; i < 40; ++i) got += rig.Receive(250).size();
  // Standard deviation 0.0043; more than six of them in 2 of 10^9 seeds.
  EXPECT_NEAR(static_cast<double>(got) / 10'000, 0.75, 0.026) << "seed 42";
}

TEST(FaultPort, VerdictsOfTheInnerPortComeBackToTheirPackets) {
  MemoryOptions memory;
  memory.kind = kKind;
  memory.capacity = 2;
  MemoryLink link = MemoryLink::Make(memory);
  FaultPort port(std::move(link.first), Both({.reorder = 1}));
  PacketSlab slab;
  Batch batch;
  for (std::uint32_t i = 0; i < 4; ++i) {
    Packet packet = slab.Lend(i);
    packet.length = kSize;
    batch.Add(packet);
  }
  batch[0].verdict = Verdict::kNoRoute;
  port.Send(batch);  // offers 2 1 3: 2 and 1 fit
  EXPECT_EQ(batch[0].verdict, Verdict::kNoRoute);
  EXPECT_EQ(batch[1].verdict, Verdict::kForward);
  EXPECT_EQ(batch[2].verdict, Verdict::kForward);
  EXPECT_EQ(batch[3].verdict, Verdict::kWireFull);
}

}  // namespace
}  // namespace weft::dataplane
