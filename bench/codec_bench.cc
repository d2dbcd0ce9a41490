// SPDX-License-Identifier: Apache-2.0
// The codec without tables: the cost of stamp, parse and flow hash, over both outer families.
#include <benchmark/benchmark.h>

#include <array>

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

const ByteVector kInnerV4 =
    PacketBuilder("10.244.1.2", "10.244.2.3").Tcp(1, 2).TotalLength(64).Build();
const ByteVector kInnerV6 = PacketBuilder("fd00::1", "fd00::2").Tcp(1, 2).TotalLength(100).Build();

BENCHMARK_CAPTURE(Stamp, ipv4, IpFamily::kV4);
BENCHMARK_CAPTURE(Stamp, ipv6, IpFamily::kV6);
BENCHMARK(StampPayload);
BENCHMARK_CAPTURE(ParseInner, ipv4, kInnerV4);
BENCHMARK_CAPTURE(ParseInner, ipv6, kInnerV6);
BENCHMARK_CAPTURE(ParseOuter, ipv4, VxlanBuilder(kInnerV4).Build());
BENCHMARK_CAPTURE(ParseOuter, ipv4_checksum, VxlanBuilder(kInnerV4).UdpChecksum().Build());
BENCHMARK_CAPTURE(Hash, ipv4, kInnerV4);
BENCHMARK_CAPTURE(Hash, ipv6, kInnerV6);

}  // namespace
}  // namespace weft
