// SPDX-License-Identifier: Apache-2.0
// Memory for tables that packets access at random: with 100,000 peers they span thousands of 4 KiB
// pages, and the TLB misses cost more than the tables. In 2 MiB pages they span a dozen.
#pragma once

#include <cstddef>
#include <new>

namespace weft::dataplane {

// Base class of objects that new and delete place there, aligned to at most 128 bytes. The process
// keeps the memory for later objects. Any thread.
struct OnHugePages {
  static void* operator new(std::size_t bytes);
  static void* operator new(std::size_t bytes, std::align_val_t alignment);
  static void operator delete(void* at, std::size_t bytes);
  static void operator delete(void* at, std::size_t bytes, std::align_val_t alignment);
};

// Places the elements of a container there.
template <typename T>
struct HugePageAllocator {
  using value_type = T;  // NOLINT(readability-identifier-naming): the name that containers need
  HugePageAllocator() = default;
  template <typename U>
  explicit HugePageAllocator(const HugePageAllocator<U>&) {}
  T* allocate(std::size_t count) {
    return static_cast<T*>(
        OnHugePages::operator new (count * sizeof(T), std::align_val_t{alignof(T)}));
  }
  void deallocate(T* at, std::size_t count) {
    OnHugePages::operator delete (at, count * sizeof(T), std::align_val_t{alignof(T)});
  }
  friend bool operator==(const HugePageAllocator&, const HugePageAllocator&) = default;
};

namespace detail {
// Requests huge pages for a range that starts at a huge page's boundary. No effect if the system
// has none.
void AdviseHugePages(void* at, std::size_t bytes);
}  // namespace detail

}  // namespace weft::dataplane
