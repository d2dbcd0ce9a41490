// SPDX-License-Identifier: Apache-2.0
// Longest prefix match by number of leases and layout of their subnets: consecutive, like PodCIDRs,
// or random. `throughput` has independent lookups in flight, `dependent` starts each when the last
// one is complete.
#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <random>
#include <vector>

#include "bench/allocation_counter.h"
#include "bench/leases.h"
#include "dataplane/remote_table.h"

namespace weft::dataplane {
namespace {

using bench::Layout;

constexpr std::size_t kQueries = 1 << 16;

struct Fixture {
  Fixture(std::size_t count, Layout layout) {
    const std::vector<RemoteSpec> leases = bench::MakeLeases(count, layout);
    remotes = std::make_unique<RemoteTable>(LocalVtep{}, peers);
    remotes->Resync(leases);
    snapshot = remotes->snapshot();
    std::mt19937 random(11);
    for (std::size_t i = 0; i < kQueries; ++i) {
      const RemoteSpec& lease = leases[random() % count];
      v4.push_back(lease.subnet.base().v4() + static_cast<std::uint32_t>(random() & 0xff));
      vteps.push_back(lease.vtep);
    }
  }
  PeerTable peers;
  std::unique_ptr<RemoteTable> remotes;
  std::shared_ptr<const RemoteSnapshot> snapshot;
  std::vector<std::uint32_t> v4;
  std::vector<IpAddress> vteps;
};

Fixture& FixtureFor(std::size_t count, Layout layout) {
  static std::map<std::pair<std::size_t, Layout>, std::unique_ptr<Fixture>> fixtures;
  std::unique_ptr<Fixture>& fixture = fixtures[{count, layout}];
  if (fixture == nullptr) fixture = std::make_unique<Fixture>(count, layout);
  return *fixture;
}

void Throughput(benchmark::State& state, std::size_t count, Layout layout) {
  const Fixture& fixture = FixtureFor(count, layout);
  {
    const bench::NoAllocations none(state);
    for (auto _ : state) {
      std::uint32_t sum = 0;
      for (const std::uint32_t address : fixture.v4) sum += fixture.snapshot->FindV4(address);
      benchmark::DoNotOptimize(sum);
    }
  }
  const auto lookups = static_cast<double>(state.iterations()) * kQueries;
  state.counters["lookup"] =
      benchmark::Counter(lookups, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void Dependent(benchmark::State& state, std::size_t count, Layout layout) {
  const Fixture& fixture = FixtureFor(count, layout);
  {
    const bench::NoAllocations none(state);
    std::uint32_t last = 0;
    for (auto _ : state) {
      for (const std::uint32_t address : fixture.v4)
        last = fixture.snapshot->FindV4(address ^ (last >> 31));
      benchmark::DoNotOptimize(last);
    }
  }
  const auto lookups = static_cast<double>(state.iterations()) * kQueries;
  state.counters["lookup"] =
      benchmark::Counter(lookups, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void IsVtep(benchmark::State& state, std::size_t count) {
  const Fixture& fixture = FixtureFor(count, Layout::kClustered);
  {
    const bench::NoAllocations none(state);
    for (auto _ : state) {
      std::uint32_t sum = 0;
      for (const IpAddress& address : fixture.vteps) sum += fixture.snapshot->FirstAtVtep(address);
      benchmark::DoNotOptimize(sum);
    }
  }
  const auto lookups = static_cast<double>(state.iterations()) * kQueries;
  state.counters["lookup"] =
      benchmark::Counter(lookups, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

BENCHMARK_CAPTURE(Throughput, 100k, 100'000, Layout::kClustered)
    ->Name("L1/throughput/clustered/leases:100000");
BENCHMARK_CAPTURE(Dependent, 100k, 100'000, Layout::kClustered)
    ->Name("L1/dependent/clustered/leases:100000");
BENCHMARK_CAPTURE(Throughput, 1k, 1'000, Layout::kClustered)
    ->Name("L1/throughput/clustered/leases:1000");
BENCHMARK_CAPTURE(Throughput, spread, 100'000, Layout::kSpread)
    ->Name("L2/throughput/spread/leases:100000");
BENCHMARK_CAPTURE(Dependent, spread, 100'000, Layout::kSpread)
    ->Name("L2/dependent/spread/leases:100000");
BENCHMARK_CAPTURE(IsVtep, 100k, 100'000)->Name("is-vtep/leases:100000");

}  // namespace
}  // namespace weft::dataplane
