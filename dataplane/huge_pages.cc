// SPDX-License-Identifier: Apache-2.0
#include "dataplane/huge_pages.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::dataplane {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// There are only a few object sizes, and a change frees as many objects as it allocates, so a freed
// block is kept for the next object of its size. A standard library pool would round 8 KiB and a
// header up to 16 KiB.
class Arena {
 public:
  void* Allocate(std::size_t bytes) {
    const std::size_t whole = RoundUp(bytes);
    const std::lock_guard lock(mutex_);
    std::vector<void*>& free = free_[whole];
    if (free.empty()) return Carve(whole);
    void* const at = free.back();
    free.pop_back();
    return at;
  }
  void Free(void* at, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    free_[RoundUp(bytes)].push_back(at);
  }

 private:
  static constexpr std::size_t kAlignment = 128;  // two cache lines, as the widest object needs
  static std::size_t RoundUp(std::size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  void* Carve(std::size_t bytes) {
    if (left_ < bytes) {
      left_ = std::max(bytes, kHugePage);
      next_ = static_cast<std::byte*>(::operator new(left_, std::align_val_t(kHugePage)));
      detail::AdviseHugePages(next_, left_);
    }
    left_ -= bytes;
    return std::exchange(next_, next_ + bytes);
  }

  std::mutex mutex_;
  std::byte* next_ = nullptr;  // of the newest huge page, and what is left of it
  std::size_t left_ = 0;
  std::unordered_map<std::size_t, std::vector<void*>> free_;  // by size
};

// The sanitizers' own allocators detect use after free; this one would hide it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// Never destroyed: static objects may use it until the process ends.
Arena& TheArena() {
  static auto* const kArena = new Arena;
  return *kArena;
}

}  // namespace

void* OnHugePages::operator new(std::size_t bytes, std::align_val_t alignment) {
  if (kSanitized) return ::operator new(bytes, alignment);
  return TheArena().Allocate(bytes);
}
void OnHugePages::operator delete(void* at, std::size_t bytes, std::align_val_t alignment) {
  if (kSanitized) return ::operator delete(at, alignment);
  TheArena().Free(at, bytes);
}

constexpr std::align_val_t kLeastAlignment{alignof(std::max_align_t)};
void* OnHugePages::operator new(std::size_t bytes) { return operator new(bytes, kLeastAlignment); }
void OnHugePages::operator delete(void* at, std::size_t bytes) {
  operator delete(at, bytes, kLeastAlignment);
}

}  // namespace weft::dataplane
