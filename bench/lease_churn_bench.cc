// SPDX-License-Identifier: Apache-2.0
// The control thread's cost of changing k leases in a table of n, and of the first fill.
// Publication copies pages, so the cost must depend on k, not n.
#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <vector>

#include "bench/leases.h"
#include "dataplane/remote_table.h"

namespace weft::dataplane {
namespace {

using bench::Layout;

struct Fixture {
  explicit Fixture(std::size_t count) : leases(bench::MakeLeases(count, Layout::kClustered)) {
    remotes.Resync(leases);
  }
  std::vector<RemoteSpec> leases;
  PeerTable peers;
  RemoteTable remotes{LocalVtep{}, peers};
};

Fixture& FixtureFor(std::size_t count) {
  static std::map<std::size_t, std::unique_ptr<Fixture>> fixtures;
  std::unique_ptr<Fixture>& fixture = fixtures[count];
  if (fixture == nullptr) fixture = std::make_unique<Fixture>(count);
  return *fixture;
}

// k leases get another MAC, as after a restart of nodes.
void Change(benchmark::State& state) {
  Fixture& fixture = FixtureFor(static_cast<std::size_t>(state.range(0)));
  const auto k = static_cast<std::size_t>(state.range(1));
  std::vector<RemoteSpec> changed(k);
  std::size_t next = 0;
  std::uint32_t generation = 0;
  for (auto _ : state) {
    ++generation;
    for (RemoteSpec& spec : changed) {
      spec = fixture.leases[next++ % fixture.leases.size()];
      spec.mac = bench::MacOf(generation);
    }
    fixture.remotes.Update(changed, {});
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(k));
}

// A node is removed and added again.
void RemoveAndAdd(benchmark::State& state) {
  Fixture& fixture = FixtureFor(static_cast<std::size_t>(state.range(0)));
  std::size_t next = 0;
  for (auto _ : state) {
    const RemoteSpec& lease = fixture.leases[next++ % fixture.leases.size()];
    fixture.remotes.Update({}, {&lease.subnet, 1});
    fixture.remotes.Update({&lease, 1}, {});
  }
}

void Fill(benchmark::State& state) {
  const std::vector<RemoteSpec> leases =
      bench::MakeLeases(static_cast<std::size_t>(state.range(0)), Layout::kClustered);
  for (auto _ : state) {
    PeerTable peers;
    RemoteTable remotes(LocalVtep{}, peers);
    remotes.Resync(leases);
    benchmark::DoNotOptimize(remotes.size());
  }
}

void ResyncUnchanged(benchmark::State& state) {
  Fixture& fixture = FixtureFor(static_cast<std::size_t>(state.range(0)));
  fixture.remotes.Resync(fixture.leases);
  for (auto _ : state) fixture.remotes.Resync(fixture.leases);
}

BENCHMARK(Change)
    ->Name("change")
    ->ArgNames({"leases", "changed"})
    ->Args({1'000, 1})
    ->Args({100'000, 1})
    ->Args({100'000, 100});
BENCHMARK(RemoveAndAdd)->Name("remove-and-add")->ArgName("leases")->Arg(1'000)->Arg(100'000);
BENCHMARK(Fill)->Name("fill")->ArgName("leases")->Arg(1'000)->Arg(100'000)->Unit(
    benchmark::kMillisecond);
BENCHMARK(ResyncUnchanged)
    ->Name("resync-unchanged")
    ->ArgName("leases")
    ->Arg(100'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft::dataplane
