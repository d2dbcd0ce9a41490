// SPDX-License-Identifier: Apache-2.0
// Where tables live that a packet may touch anywhere: with 100,000 peers they span thousands of
// 4 KiB pages, and finding those costs more than the tables do. In 2 MiB pages they are a dozen.
#pragma once

#include <cstddef>
#include <new>

namespace weft::dataplane {

// Base of what is allocated there, by new and delete as ever, aligned to 128 bytes and no more.
// The memory stays with the process for later objects. Any thread.
struct OnHugePages {
  static void* operator new(std::size_t bytes);
  static void* operator new(std::size_t bytes, std::align_val_t alignment);
  static void operator delete(void* at, std::size_t bytes);
  static void operator delete(void* at, std::size_t bytes, std::align_val_t alignment);
};

namespace detail {
// Asks the system for huge pages under a range that starts at one's start. It may not have any:
// then nothing changes.
void AdviseHugePages(void* at, std::size_t bytes);
}  // namespace detail

}  // namespace weft::dataplane
