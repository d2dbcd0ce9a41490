// SPDX-License-Identifier: Apache-2.0
// Counts every operator new of the program, so that a bench can check that its loop does not
// allocate, or measure the memory of its objects. Include it in exactly one source file of a
// program: it replaces the global operators.
#pragma once

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>

namespace weft::bench {

inline std::atomic<std::uint64_t> allocations{0};
// Allocated bytes, including malloc's overhead: rounding, and a word for each block.
inline std::atomic<std::int64_t> live_bytes{0};

inline std::int64_t CostOf(void* memory) {
  return static_cast<std::int64_t>(malloc_usable_size(memory) + sizeof(std::size_t));
}

inline void* CountedAllocate(std::size_t size, std::size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) throw std::bad_alloc();
  live_bytes.fetch_add(CostOf(memory), std::memory_order_relaxed);
  return memory;
}

inline void CountedFree(void* memory) {
  if (memory != nullptr) live_bytes.fetch_sub(CostOf(memory), std::memory_order_relaxed);
  std::free(memory);
}

// Scope of a measured loop: fails the benchmark if anything was allocated inside.
class NoAllocations {
 public:
  explicit NoAllocations(benchmark::State& state) : state_(state), before_(allocations.load()) {}
  ~NoAllocations() {
    const std::uint64_t count = allocations.load() - before_;
    if (count != 0)
      state_.SkipWithError(
          ("the measured loop allocated " + std::to_string(count) + " times").c_str());
  }

 private:
  benchmark::State& state_;
  const std::uint64_t before_;
};

}  // namespace weft::bench

void* operator new(std::size_t size) {
  return weft::bench::CountedAllocate(size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size) {
  return weft::bench::CountedAllocate(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return weft::bench::CountedAllocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return weft::bench::CountedAllocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { weft::bench::CountedFree(memory); }
void operator delete[](void* memory) noexcept { weft::bench::CountedFree(memory); }
void operator delete(void* memory, std::size_t) noexcept { weft::bench::CountedFree(memory); }
void operator delete[](void* memory, std::size_t) noexcept { weft::bench::CountedFree(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { weft::bench::CountedFree(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept {
  weft::bench::CountedFree(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  weft::bench::CountedFree(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  weft::bench::CountedFree(memory);
}
