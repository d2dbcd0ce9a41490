// SPDX-License-Identifier: Apache-2.0
// Longest prefix match by number of leases and layout of their subnets (bench/leases.h).
// `throughput` has independent lookups in flight, `dependent` starts each when the last one is
// complete. L3: batches of 256 by a reader that fetches each new state, while another thread
// changes 10,000 leases a second; `worst` is the slowest batch of a thousand.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <thread>
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

void WhileLeasesChange(benchmark::State& state, bool changes, bool worst) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t kBatch = 256;
  constexpr std::chrono::microseconds kPeriod{100};
  Fixture fixture(100'000, Layout::kClustered);
  const std::vector<RemoteSpec> leases = bench::MakeLeases(100'000, Layout::kClustered);
  std::jthread writer([&](const std::stop_token& stop) {
    std::uint32_t change = 0;
    for (auto next = Clock::now(); changes && !stop.stop_requested(); next += kPeriod) {
      RemoteSpec lease = leases[change % leases.size()];
      lease.mac = bench::MacOf(~change++);
      fixture.remotes->Update({&lease, 1}, {});
      std::this_thread::sleep_until(next);
    }
  });
  std::vector<double> times;
  std::size_t at = 0;
  for (auto _ : state) {
    const Clock::time_point begin = Clock::now();
    if (fixture.snapshot->version() != fixture.remotes->version())
      fixture.snapshot = fixture.remotes->snapshot();
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < kBatch; ++i) sum += fixture.snapshot->FindV4(fixture.v4[at + i]);
    benchmark::DoNotOptimize(sum);
    times.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    state.SetIterationTime(times.back());
    at = (at + kBatch) % kQueries;
  }
  if (worst) {
    const auto slow = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) * 999 / 1000);
    std::nth_element(times.begin(), slow, times.end());
    state.counters["lookup"] = *slow / kBatch;
    return;
  }
  const auto lookups = static_cast<double>(state.iterations()) * kBatch;
  state.counters["lookup"] =
      benchmark::Counter(lookups, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

BENCHMARK_CAPTURE(Throughput, 100k, 100'000, Layout::kClustered)
    ->Name("L1/throughput/clustered/leases:100000");
BENCHMARK_CAPTURE(Dependent, 100k, 100'000, Layout::kClustered)
    ->Name("L1/dependent/clustered/leases:100000");
BENCHMARK_CAPTURE(Throughput, 1k, 1'000, Layout::kClustered)
    ->Name("L1/throughput/clustered/leases:1000");
BENCHMARK_CAPTURE(Throughput, mixed, 100'000, Layout::kMixed)
    ->Name("L2/throughput/mixed/leases:100000");
BENCHMARK_CAPTURE(Dependent, mixed, 100'000, Layout::kMixed)
    ->Name("L2/dependent/mixed/leases:100000");
BENCHMARK_CAPTURE(Throughput, spread, 100'000, Layout::kSpread)
    ->Name("throughput/spread/leases:100000");
BENCHMARK_CAPTURE(Dependent, spread, 100'000, Layout::kSpread)
    ->Name("dependent/spread/leases:100000");
BENCHMARK_CAPTURE(WhileLeasesChange, quiet, false, false)->Name("L3/quiet")->UseManualTime();
BENCHMARK_CAPTURE(WhileLeasesChange, quiet_worst, false, true)
    ->Name("L3/quiet/worst")
    ->UseManualTime();
BENCHMARK_CAPTURE(WhileLeasesChange, changing, true, false)->Name("L3/changing")->UseManualTime();
BENCHMARK_CAPTURE(WhileLeasesChange, changing_worst, true, true)
    ->Name("L3/changing/worst")
    ->UseManualTime();
BENCHMARK_CAPTURE(IsVtep, 100k, 100'000)->Name("is-vtep/leases:100000");

}  // namespace
}  // namespace weft::dataplane
