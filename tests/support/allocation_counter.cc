// SPDX-License-Identifier: Apache-2.0
#include "tests/support/allocation_counter.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::uint64_t> allocations{0};
std::atomic<std::int64_t> allocated{0}, peak{0};

// What a block of `size` takes on a 64-bit system: a word before it, in steps of 16 bytes.
std::int64_t Cost(std::size_t size) {
  return static_cast<std::int64_t>(std::max<std::size_t>((size + 8 + 15) / 16 * 16, 32));
}

void Add(std::int64_t bytes) {
  const std::int64_t now = allocated.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::int64_t most = peak.load(std::memory_order_relaxed);
  while (now > most && !peak.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
}

// Before each block, aligned as the block: its size.
std::size_t HeadOf(std::size_t alignment) { return std::max(alignment, alignof(std::max_align_t)); }

[[gnu::noinline]] void* Allocate(std::size_t size,
                                 std::size_t alignment = alignof(std::max_align_t)) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const std::size_t head = HeadOf(alignment);
  void* memory = nullptr;
#ifdef _WIN32
  memory = _aligned_malloc(head + size, head);
#else
  if (posix_memalign(&memory, head, head + size) != 0) memory = nullptr;
#endif
  if (memory == nullptr) throw std::bad_alloc();
  Add(Cost(size));
  *static_cast<std::size_t*>(memory) = size;
  return static_cast<std::byte*>(memory) + head;
}

[[gnu::noinline]] void Free(void* block, std::size_t alignment = alignof(std::max_align_t)) {
  if (block == nullptr) return;
  void* const memory = static_cast<std::byte*>(block) - HeadOf(alignment);
  Add(-Cost(*static_cast<std::size_t*>(memory)));
#ifdef _WIN32
  _aligned_free(memory);
#else
  std::free(memory);
#endif
}
}  // namespace

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept { Free(block); }
void operator delete[](void* block) noexcept { Free(block); }
void operator delete(void* block, std::size_t) noexcept { Free(block); }
void operator delete[](void* block, std::size_t) noexcept { Free(block); }
void operator delete(void* block, std::align_val_t alignment) noexcept {
  Free(block, static_cast<std::size_t>(alignment));
}
void operator delete[](void* block, std::align_val_t alignment) noexcept {
  Free(block, static_cast<std::size_t>(alignment));
}
void operator delete(void* block, std::size_t, std::align_val_t alignment) noexcept {
  Free(block, static_cast<std::size_t>(alignment));
}
void operator delete[](void* block, std::size_t, std::align_val_t alignment) noexcept {
  Free(block, static_cast<std::size_t>(alignment));
}

namespace weft {

std::uint64_t Allocations() { return allocations.load(std::memory_order_relaxed); }
std::int64_t AllocatedBytes() { return allocated.load(std::memory_order_relaxed); }
std::int64_t PeakBytes() { return peak.load(std::memory_order_relaxed); }
void BeginPeak() { peak.store(AllocatedBytes(), std::memory_order_relaxed); }

}  // namespace weft
