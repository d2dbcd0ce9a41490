// SPDX-License-Identifier: Apache-2.0
// What a change of k leases costs the control thread in a table of n, and what the first fill
// costs: publication copies pages, so the cost must follow k, not n.
#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <vector>

#include "bench/leases.h"
#include "dataplane/remote_table.h"

namespace weft::dataplane {
namespace {

using bench::Layout;

struct World {
  explicit World(std::size_t count) : leases(bench::MakeLeases(count, Layout::kClustered)) {
    remotes.Resync(leases);
  }
  std::vector<RemoteSpec> leases;
  PeerTable peers;
  RemoteTable remotes{LocalVtep{}, peers};
};

World& WorldOf(std::size_t count) {
  static std::map<std::size_t, std::unique_ptr<World>> worlds;
  std::unique_ptr<World>& world = worlds[count];
  if (world == nullptr) world = std::make_unique<World>(count);
  return *world;
}

// k leases get another MAC, as when nodes restart.
void Change(benchmark::State& state) {
  World& world = WorldOf(static_cast<std::size_t>(state.range(0)));
  const auto k = static_cast<std::size_t>(state.range(1));
  std::vector<RemoteSpec> changed(k);
  std::size_t next = 0;
  std::uint32_t generation = 0;
  for (auto _ : state) {
    ++generation;
    for (RemoteSpec& spec : changed) {
      spec = world.leases[next++ % world.leases.size()];
      spec.mac = bench::MacOf(generation);
    }
    world.remotes.Update(changed, {});
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(k));
}

// A node goes, and comes back.
void RemoveAndAdd(benchmark::State& state) {
  World& world = WorldOf(static_cast<std::size_t>(state.range(0)));
  std::size_t next = 0;
  for (auto _ : state) {
    const RemoteSpec& lease = world.leases[next++ % world.leases.size()];
    world.remotes.Update({}, {&lease.subnet, 1});
    world.remotes.Update({&lease, 1}, {});
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
  World& world = WorldOf(static_cast<std::size_t>(state.range(0)));
  world.remotes.Resync(world.leases);
  for (auto _ : state) world.remotes.Resync(world.leases);
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
