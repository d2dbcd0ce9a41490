// SPDX-License-Identifier: Apache-2.0
// The Internet checksum by length, alone and fused with a copy: packets, then a superframe.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "bench/allocation_counter.h"
#include "vxlan/checksum.h"

namespace weft {
namespace {

void Sum(benchmark::State& state) {
  const std::vector<std::byte> bytes(static_cast<std::size_t>(state.range(0)), std::byte{0x5a});
  {
    const bench::NoAllocations none(state);
    for (auto _ : state) {
      Bytes view(bytes);
      benchmark::DoNotOptimize(view);
      benchmark::DoNotOptimize(weft::Sum(view));
    }
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  state.counters["packet"] =
      benchmark::Counter(static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void CopyAndSum(benchmark::State& state) {
  const std::vector<std::byte> from(static_cast<std::size_t>(state.range(0)), std::byte{0x5a});
  std::vector<std::byte> to(from.size());
  {
    const bench::NoAllocations none(state);
    for (auto _ : state) {
      benchmark::DoNotOptimize(weft::CopyAndSum(to, from));
      benchmark::ClobberMemory();
    }
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

// For comparison with the fused loop.
void CopyThenSum(benchmark::State& state) {
  const std::vector<std::byte> from(static_cast<std::size_t>(state.range(0)), std::byte{0x5a});
  std::vector<std::byte> to(from.size());
  {
    const bench::NoAllocations none(state);
    for (auto _ : state) {
      std::memcpy(to.data(), from.data(), from.size());
      benchmark::DoNotOptimize(weft::Sum(to));
      benchmark::ClobberMemory();
    }
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

BENCHMARK(Sum)->Name("C5/sum/bytes")->Arg(64)->Arg(576)->Arg(1450)->Arg(65'000);
BENCHMARK(CopyAndSum)->Name("copy-and-sum/bytes")->Arg(64)->Arg(1450)->Arg(65'000);
BENCHMARK(CopyThenSum)->Name("copy-then-sum/bytes")->Arg(64)->Arg(1450)->Arg(65'000);

}  // namespace
}  // namespace weft
