// SPDX-License-Identifier: Apache-2.0
// The codec without tables: the cost of stamp, parse and flow hash, over both outer families. And
// what C1 and C2 are compared with: an encapsulation as it is written at first.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "bench/allocation_counter.h"
#include "tests/support/packet_builder.h"
#include "vxlan/encapsulation.h"
#include "vxlan/flow_hash.h"
#include "vxlan/inner_frame.h"
#include "vxlan/outer_packet.h"

namespace weft {
namespace {

EncapsulationTemplate TemplateOver(IpFamily family) {
  EncapsulationSpec spec;
  const bool v4 = family == IpFamily::kV4;
  spec.outer_source = Ip(v4 ? "192.0.2.1" : "2001:db8::1");
  spec.outer_destination = Ip(v4 ? "192.0.2.2" : "2001:db8::2");
  spec.inner_source = Mac("02:00:00:00:00:01");
  spec.inner_destination = Mac("02:00:00:00:00:02");
  return EncapsulationTemplate(spec);
}

void Stamp(benchmark::State& state, IpFamily family) {
  const EncapsulationTemplate encapsulation = TemplateOver(family);
  alignas(64) std::array<std::byte, 256> packet{};
  std::uint32_t length = 64;
  {
    const bench::NoAllocations none(state);
    for (auto _ : state) {
      length = 64 + (length & 1023);
      encapsulation.Stamp(packet.data() + 30, length, EtherType::kIpv4, 50'000, Ecn::kNotEct);
      benchmark::ClobberMemory();
    }
  }
}

void StampPayload(benchmark::State& state) {
  const EncapsulationTemplate encapsulation = TemplateOver(IpFamily::kV4);
  alignas(64) std::array<std::byte, 256> packet{};
  {
    const bench::NoAllocations none(state);
    for (auto _ : state) {
      encapsulation.StampPayload(packet.data() + 30, EtherType::kIpv4);
      benchmark::ClobberMemory();
    }
  }
}

void ParseInner(benchmark::State& state, const ByteVector& packet) {
  {
    const bench::NoAllocations none(state);
    for (auto _ : state) {
      Bytes bytes(packet);
      benchmark::DoNotOptimize(bytes);
      benchmark::DoNotOptimize(ParseInnerIp(bytes));
    }
  }
}

void ParseOuter(benchmark::State& state, const ByteVector& packet) {
  {
    const bench::NoAllocations none(state);
    for (auto _ : state) {
      Bytes bytes(packet);
      benchmark::DoNotOptimize(bytes);
      benchmark::DoNotOptimize(ParseOuterPacket(bytes));
    }
  }
}

void Hash(benchmark::State& state, const ByteVector& packet) {
  const auto parsed = ParseInnerIp(packet);
  {
    const bench::NoAllocations none(state);
    for (auto _ : state) {
      InnerPacket inner = *parsed;
      benchmark::DoNotOptimize(inner);
      benchmark::DoNotOptimize(HashInnerFlow(inner));
    }
  }
}

// Copies the packet behind fields that are written one by one, finishes its checksum, hashes its
// flow by FNV-1a; looks up nothing, checks nothing.
void NaiveEncapsulate(benchmark::State& state) {
  const ByteVector inner = PacketBuilder("10.244.1.2", "10.244.2.3")
                               .Udp(4000, 53)
                               .TotalLength(static_cast<std::size_t>(state.range(0)))
                               .Build();
  constexpr std::size_t kPackets = 256, kRoom = 2048;
  std::vector<std::byte> from(kPackets * kRoom), to(kPackets * kRoom);
  for (std::size_t i = 0; i < kPackets; ++i)
    std::copy(inner.begin(), inner.end(), from.begin() + static_cast<std::ptrdiff_t>(i * kRoom));
  const MacAddress source = Mac("02:00:00:00:00:01"), destination = Mac("02:00:00:00:00:02");
  const auto encapsulate = [&](const std::byte* packet, std::byte* out) {
    std::uint32_t hash = 2'166'136'261;
    for (std::size_t i = 9; i < 24; ++i) hash = (hash ^ Load8(packet + i)) * 16'777'619;
    StoreBe32(out, 0x0800'0000);
    StoreBe32(out + 4, 4096 << 8);
    std::memcpy(out + 8, destination.bytes().data(), 6);
    std::memcpy(out + 14, source.bytes().data(), 6);
    StoreBe16(out + 20, 0x0800);
    std::memcpy(out + 22, packet, inner.size());
    std::uint32_t sum = 0;
    for (std::size_t i = 20; i + 1 < inner.size(); i += 2) sum += LoadBe16(packet + i);
    StoreBe16(out + 22 + 26, static_cast<std::uint16_t>(~((sum & 0xffff) + (sum >> 16))));
    return hash;
  };
  {
    const bench::NoAllocations none(state);
    for (auto _ : state) {
      std::uint32_t hashes = 0;
      for (std::size_t i = 0; i < kPackets; ++i)
        hashes ^= encapsulate(from.data() + i * kRoom, to.data() + i * kRoom);
      benchmark::DoNotOptimize(hashes);
      benchmark::ClobberMemory();
    }
  }
  state.counters["packet"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kPackets,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

const ByteVector kInnerV4 =
    PacketBuilder("10.244.1.2", "10.244.2.3").Tcp(1, 2).TotalLength(64).Build();
const ByteVector kInnerV6 = PacketBuilder("fd00::1", "fd00::2").Tcp(1, 2).TotalLength(100).Build();

BENCHMARK_CAPTURE(Stamp, ipv4, IpFamily::kV4);
BENCHMARK_CAPTURE(Stamp, ipv6, IpFamily::kV6);
BENCHMARK(StampPayload);
BENCHMARK(NaiveEncapsulate)->Name("naive/encapsulate/bytes")->Arg(64)->Arg(1450);
BENCHMARK_CAPTURE(ParseInner, ipv4, kInnerV4);
BENCHMARK_CAPTURE(ParseInner, ipv6, kInnerV6);
BENCHMARK_CAPTURE(ParseOuter, ipv4, VxlanBuilder(kInnerV4).Build());
BENCHMARK_CAPTURE(ParseOuter, ipv4_checksum, VxlanBuilder(kInnerV4).UdpChecksum().Build());
BENCHMARK_CAPTURE(Hash, ipv4, kInnerV4);
BENCHMARK_CAPTURE(Hash, ipv6, kInnerV6);

}  // namespace
}  // namespace weft
