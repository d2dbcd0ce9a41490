// SPDX-License-Identifier: Apache-2.0
// The lease table at 100,000 Nodes: the cost of a Node that is reported for the first time, again
// (a heartbeat, a relist) and with another MAC, the cost of a snapshot's end, and the memory of a
// lease.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/allocation_counter.h"
#include "control/clock.h"
#include "control/lease/lease_table.h"
#include "control/reconciler.h"

namespace weft::lease {
namespace {

constexpr std::size_t kLeases = 100'000;

std::string RandomUid(std::mt19937& random) {
  char text[37];
  std::snprintf(text, sizeof text, "%08x-%04x-4%03x-a%03x-%08x%04x", unsigned(random()),
                unsigned(random() & 0xffff), unsigned(random() & 0xfff), unsigned(random() & 0xfff),
                unsigned(random()), unsigned(random() & 0xffff));
  return text;
}

// Sorted by name, as an API server lists them; subnets and addresses are in another order.
std::vector<Lease> MakeLeases(bool dual_stack) {
  std::mt19937 random(20261121);
  std::vector<std::uint32_t> numbers(kLeases);
  for (std::uint32_t i = 0; i < kLeases; ++i) numbers[i] = i;
  std::shuffle(numbers.begin(), numbers.end(), random);
  std::vector<Lease> leases;
  leases.reserve(kLeases);
  for (std::uint32_t i = 0; i < kLeases; ++i) {
    char name[32];
    std::snprintf(name, sizeof name, "worker-%06u.zone-a", i);
    Lease lease;
    lease.node = {name, RandomUid(random)};
    lease.created = 1'790'000'000 + i;
    lease.backend_type = "vxlan";
    const std::uint32_t number = numbers[i];
    std::byte mac[6]{std::byte{2}};
    StoreBe32(mac + 2, number);
    FamilyLease half;
    half.subnet = *IpPrefix::From(IpAddress::V4((10u << 24) + (number << 8)), 24);
    half.public_ip = IpAddress::V4(0xac10'0000 + number);
    half.vni = 4096;
    half.vtep_mac = MacAddress::FromBytes(mac);
    lease.v4 = half;
    if (dual_stack) {
      std::byte subnet[16]{std::byte{0xfd}};
      StoreBe32(subnet + 4, number);
      std::byte outer[16]{std::byte{0x20}, std::byte{0x01}};
      StoreBe32(outer + 12, number);
      half.subnet = *IpPrefix::From(IpAddress::V6(subnet), 64);
      half.public_ip = IpAddress::V6(outer);
      lease.v6 = half;
    }
    leases.push_back(std::move(lease));
  }
  return leases;
}

const std::vector<Lease>& Leases(bool dual_stack) {
  static const std::vector<Lease> kV4 = MakeLeases(false);
  static const std::vector<Lease> kDual = MakeLeases(true);
  return dual_stack ? kDual : kV4;
}

OwnIdentity Us() {
  OwnIdentity own;
  own.node_name = "us";
  own.v4 = {*IpPrefix::Parse("11.0.0.0/24"), *IpPrefix::Parse("10.0.0.0/7")};
  own.v6 = {*IpPrefix::Parse("fc00::/64"), *IpPrefix::Parse("fc00::/7")};
  return own;
}

void ReportAll(LeaseTable& table, const std::vector<Lease>& leases) {
  for (const Lease& lease : leases) table.Upsert(lease);
}

std::unique_ptr<LeaseTable> Filled(const std::vector<Lease>& leases) {
  auto table = std::make_unique<LeaseTable>(Us());
  table->BeginSnapshot();
  ReportAll(*table, leases);
  table->EndSnapshot();
  return table;
}

// Adds a counter for the time of one lease.
void CountLeases(benchmark::State& state) {
  state.counters["lease"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kLeases,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void First(benchmark::State& state, bool dual_stack) {
  const std::vector<Lease>& leases = Leases(dual_stack);
  std::int64_t held = 0;
  for (auto _ : state) {
    const std::int64_t before = bench::live_bytes;
    std::unique_ptr<LeaseTable> table = Filled(leases);
    held = bench::live_bytes - before;
    state.PauseTiming();
    table.reset();
    state.ResumeTiming();
  }
  CountLeases(state);
  state.counters["bytes"] = static_cast<double>(held) / kLeases;
}

void Again(benchmark::State& state, bool dual_stack) {
  const std::vector<Lease>& leases = Leases(dual_stack);
  const std::unique_ptr<LeaseTable> table = Filled(leases);
  {
    const bench::NoAllocations none(state);
    for (auto _ : state) ReportAll(*table, leases);
  }
  CountLeases(state);
}

// Includes the changes for the sinks.
void Changed(benchmark::State& state) {
  std::vector<Lease> leases = Leases(false);
  const std::unique_ptr<LeaseTable> table = Filled(leases);
  table->DrainChanges(IpFamily::kV4);
  for (auto _ : state) {
    state.PauseTiming();
    for (Lease& lease : leases) {
      std::byte mac[6];
      std::copy_n(lease.v4->vtep_mac->bytes().data(), 6, mac);
      mac[1] ^= std::byte{1};
      lease.v4->vtep_mac = MacAddress::FromBytes(mac);
    }
    state.ResumeTiming();
    for (const Lease& lease : leases) {
      table->Upsert(lease);
      benchmark::DoNotOptimize(table->DrainChanges(IpFamily::kV4));
    }
  }
  CountLeases(state);
}

// The reconciler's work at the end of an unchanged relist, when every sink is to be updated.
void End(benchmark::State& state) {
  const std::vector<Lease>& leases = Leases(false);
  control::SystemClock clock;
  control::Reconciler reconciler(clock, [] { return 0.0; }, {});
  reconciler.SetOwn(Us());
  const auto report = [&] {
    reconciler.OnSnapshotBegin();
    for (const Lease& lease : leases) reconciler.OnUpsert(lease);
  };
  report();
  const std::uint64_t before = bench::allocations;
  reconciler.OnSnapshotEnd();
  for (auto _ : state) {
    state.PauseTiming();
    report();
    state.ResumeTiming();
    reconciler.OnSnapshotEnd();
    benchmark::DoNotOptimize(reconciler.report().in_sync);
    benchmark::DoNotOptimize(reconciler.table().Counts(IpFamily::kV4));
  }
  // Not even the first end allocates for each lease: only for a log line.
  if (bench::allocations - before > 100) state.SkipWithError("the end of a snapshot allocates");
}

BENCHMARK_CAPTURE(First, v4, false)->Name("T1/first/v4")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(First, dual, true)->Name("T1/first/dual")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Again, v4, false)->Name("T1/again/v4")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Again, dual, true)->Name("T1/again/dual")->Unit(benchmark::kMillisecond);
BENCHMARK(Changed)->Name("T1/changed")->Unit(benchmark::kMillisecond);
// Fixed iterations: the untimed part takes far longer than the timed one.
BENCHMARK(End)->Name("T1/end-of-snapshot")->Unit(benchmark::kMicrosecond)->Iterations(10);

}  // namespace
}  // namespace weft::lease
