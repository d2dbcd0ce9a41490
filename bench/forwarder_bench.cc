// SPDX-License-Identifier: Apache-2.0
// The forwarder, in batches of 256, by frame size and number of leases. `flows` is the number of
// different destinations (sources, for C3) among the leases: 256 keeps the remotes of a batch in
// the L1 and L2 caches, 100000 uses all of them in turn.
//
//   C1  encapsulate 64-byte inner packets in place: parse, look up, check the MTU, stamp the 22
//       bytes of a datagram's VXLAN and inner Ethernet headers, count for the peer
//   C2  the same with 1450 bytes
//   C1, C2 partial  with the inner checksum left to us, as pods' TCP and UDP packets arrive
//   C3  decapsulate datagrams of 64-byte inner packets: headers checked, sender looked up and
//       compared, counted
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "bench/allocation_counter.h"
#include "bench/leases.h"
#include "dataplane/forwarder.h"
#include "tests/support/packet_builder.h"

namespace weft::dataplane {
namespace {

using bench::Layout;

constexpr std::uint32_t kOurSubnet = 0x0900'0000;  // 9.0.0.0/24
constexpr std::size_t kRounds = 4096;              // batches of addresses prepared

struct Setting {
  std::size_t leases = 100'000;
  Layout layout = Layout::kClustered;
  friend auto operator<=>(const Setting&, const Setting&) = default;
};

struct Fixture {
  explicit Fixture(const Setting& setting)
      : leases(bench::MakeLeases(setting.leases, setting.layout)) {
    LocalVtep local;
    local.outer_source = IpAddress::V4(0xac10'0001);
    local.mac = bench::MacOf(0xffff'ffff);
    remotes = std::make_unique<RemoteTable>(local, peers);
    remotes->Resync(leases);
    ForwarderConfig config;
    config.local = local;
    config.own_subnets = {*IpPrefix::From(IpAddress::V4(kOurSubnet), 24)};
    config.own_addresses = {IpAddress::V4(kOurSubnet)};
    forwarder = std::make_unique<Forwarder>(config, *remotes, peers, counters);
  }
  std::vector<RemoteSpec> leases;
  PeerTable peers;
  Counters counters;
  std::unique_ptr<RemoteTable> remotes;
  std::unique_ptr<Forwarder> forwarder;
};

// Cached, because building a table takes longer than the measurement.
Fixture& FixtureFor(const Setting& setting) {
  static std::map<Setting, std::unique_ptr<Fixture>> fixtures;
  std::unique_ptr<Fixture>& fixture = fixtures[setting];
  if (fixture == nullptr) fixture = std::make_unique<Fixture>(setting);
  return *fixture;
}

// 256 packets, each at the start of a cache line, an odd number of lines apart, as in PacketSlab.
struct Packets {
  explicit Packets(const ByteVector& first)
      : stride(((kHeadroom + first.size()) / 64 | 1) * 64 + 128) {
    std::size_t space = stride * kMaxBatch + 64;
    memory.resize(space);
    void* aligned = memory.data();
    auto* const start = static_cast<std::byte*>(std::align(64, stride * kMaxBatch, aligned, space));
    for (std::size_t i = 0; i < kMaxBatch; ++i) {
      Packet packet;
      packet.data = start + i * stride + kHeadroom;
      packet.length = static_cast<std::uint32_t>(first.size());
      packet.headroom = kHeadroom;
      std::memcpy(packet.data, first.data(), first.size());
      batch->Add(packet);
    }
  }
  std::size_t stride;
  std::vector<std::byte> memory;
  std::unique_ptr<Batch> batch = std::make_unique<Batch>();
};

void Report(benchmark::State& state) {
  const auto packets = static_cast<double>(state.iterations()) * kMaxBatch;
  state.SetItemsProcessed(static_cast<std::int64_t>(packets));
  // Shown with its unit, e.g. "12.5ns".
  state.counters["packet"] =
      benchmark::Counter(packets, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// Times one batch. Resetting the packets is not counted; reading the clock twice is, 0.2 ns a
// packet.
void Time(benchmark::State& state, auto call) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  call();
  state.SetIterationTime(std::chrono::duration<double>(Clock::now() - begin).count());
}

std::vector<std::uint32_t> PickLeases(const Fixture& fixture, std::size_t flows) {
  std::mt19937 random(7);
  std::vector<std::uint32_t> picked;
  const std::size_t count = flows <= kMaxBatch ? kMaxBatch : kRounds * kMaxBatch;
  for (std::size_t i = 0; i < count; ++i)
    picked.push_back(static_cast<std::uint32_t>(random() % fixture.leases.size()));
  return picked;
}

void Encapsulate(benchmark::State& state, const Setting& setting, std::size_t bytes,
                 std::size_t flows, bool partial = false) {
  Fixture& fixture = FixtureFor(setting);
  const ByteVector inner =
      PacketBuilder("9.0.0.9", "10.0.0.1").Udp(4000, 53).TotalLength(bytes).Build();
  Packets packets(inner);
  Batch& batch = *packets.batch;
  auto replies = std::make_unique<Batch>();
  std::vector<std::uint32_t> destinations;
  for (const std::uint32_t lease : PickLeases(fixture, flows)) {
    destinations.push_back(__builtin_bswap32(fixture.leases[lease].subnet.base().v4() + 7));
  }
  const bool moving = destinations.size() > kMaxBatch;
  const auto aim = [&](std::size_t from) {
    for (std::size_t i = 0; i < kMaxBatch; ++i)
      std::memcpy(batch[i].data + 16, &destinations[from + i], 4);
  };
  const auto leave_checksums = [&] {
    for (Packet& packet : batch) {
      if (!partial) continue;
      packet.checksum = ChecksumState::kPartial;
      packet.checksum_start = 20;
      packet.checksum_offset = 6;
    }
  };
  aim(0);
  leave_checksums();
  std::size_t round = 0;
  {
    const bench::NoAllocations none(state);
    for (auto _ : state) {
      Time(state, [&] { fixture.forwarder->Encapsulate(batch, *replies); });
      for (Packet& packet : batch) packet.Pull(packet.inner_offset);
      leave_checksums();
      if (moving) aim(++round % kRounds * kMaxBatch);
      benchmark::ClobberMemory();
    }
  }
  for (const Packet& packet : batch) {
    if (packet.verdict != Verdict::kForward) state.SkipWithError("a packet was dropped");
  }
  Report(state);
}

void Decapsulate(benchmark::State& state, const Setting& setting, std::size_t bytes,
                 std::size_t flows) {
  Fixture& fixture = FixtureFor(setting);
  const ByteVector inner =
      PacketBuilder("10.0.0.1", "9.0.0.9").Udp(4000, 53).TotalLength(bytes).Build();
  VxlanBuilder builder(inner);
  builder.Outer("172.16.0.2", "172.16.0.1").Macs(bench::MacOf(1), bench::MacOf(0xffff'ffff));
  const ByteVector outer = builder.BuildPayload();
  const std::size_t before_inner = outer.size() - inner.size();
  Packets packets(outer);
  Batch& batch = *packets.batch;
  struct Sender {
    std::uint32_t inner;  // as on the wire
    IpAddress outer;
  };
  std::vector<Sender> senders;
  for (const std::uint32_t lease : PickLeases(fixture, flows)) {
    senders.push_back({__builtin_bswap32(fixture.leases[lease].subnet.base().v4() + 7),
                       fixture.leases[lease].vtep});
  }
  const bool moving = senders.size() > kMaxBatch;
  const auto aim = [&](std::size_t from) {
    for (std::size_t i = 0; i < kMaxBatch; ++i) {
      Packet& packet = batch[i];
      const Sender& sender = senders[from + i];
      std::memcpy(packet.data + before_inner + 12, &sender.inner, 4);
      packet.outer_address = sender.outer;
    }
  };
  aim(0);
  std::size_t round = 0;
  {
    const bench::NoAllocations none(state);
    for (auto _ : state) {
      Time(state, [&] { fixture.forwarder->Decapsulate(batch); });
      for (Packet& packet : batch) packet.Push(static_cast<std::uint32_t>(before_inner));
      if (moving) aim(++round % kRounds * kMaxBatch);
      benchmark::ClobberMemory();
    }
  }
  for (const Packet& packet : batch) {
    if (packet.verdict != Verdict::kForward) state.SkipWithError("a packet was dropped");
  }
  Report(state);
}

[[maybe_unused]] const bool registered = [] {
  const auto add = [](const std::string& name, auto function) {
    benchmark::RegisterBenchmark(name.c_str(), function)->UseManualTime();
  };
  for (const std::size_t flows : {256, 100'000}) {
    for (const std::size_t leases : {100'000, 1'000}) {
      const std::string tail =
          "/leases:" + std::to_string(leases) + "/flows:" + std::to_string(flows);
      add("C1/encapsulate/bytes:64" + tail,
          [=](auto& state) { Encapsulate(state, {leases}, 64, flows); });
      add("C2/encapsulate/bytes:1450" + tail,
          [=](auto& state) { Encapsulate(state, {leases}, 1450, flows); });
      for (const std::size_t bytes : {64, 1450}) {
        add("encapsulate/partial/bytes:" + std::to_string(bytes) + tail,
            [=](auto& state) { Encapsulate(state, {leases}, bytes, flows, /*partial=*/true); });
      }
      add("C3/decapsulate/bytes:64" + tail,
          [=](auto& state) { Decapsulate(state, {leases}, 64, flows); });
    }
  }
  const Setting spread{100'000, Layout::kSpread};
  add("encapsulate/spread/bytes:64", [=](auto& state) { Encapsulate(state, spread, 64, 100'000); });
  return true;
}();

}  // namespace
}  // namespace weft::dataplane
