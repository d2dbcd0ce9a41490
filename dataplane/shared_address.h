// SPDX-License-Identifier: Apache-2.0
// An address that one thread writes and any thread reads without a lock; a read never mixes two
// writes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "vxlan/bytes.h"
#include "vxlan/ip_address.h"

namespace weft::dataplane {

// A sequence lock. Storing the same address again writes nothing.
class SharedAddress {
 public:
  // The writer only.
  void Store(const IpAddress& address) {
    const Words words = WordsOf(address);
    if (words == Read()) return;
    Write(words);
  }
  // The writer, or any thread while there is no writer.
  void Clear() { Write({}); }

  // Empty: none is stored, or the writer did not finish in time.
  std::optional<IpAddress> Load() const {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const std::uint64_t before = edition_.load(std::memory_order_acquire);
      const Words words = Read();
      if (before % 2 == 0 && edition_.load(std::memory_order_relaxed) == before)
        return AddressOf(words);
    }
    return std::nullopt;
  }

 private:
  // Family (0: none) and the bytes in host order.
  using Words = std::array<std::uint64_t, 3>;
  static constexpr std::uint64_t kV4 = 4;
  static constexpr std::uint64_t kV6 = 6;
  static constexpr int kAttempts = 1000;

  static Words WordsOf(const IpAddress& address) {
    if (address.is_v4()) return {kV4, 0, address.v4()};
    const std::byte* const bytes = address.bytes().data();
    return {kV6, LoadBe64(bytes), LoadBe64(bytes + 8)};
  }
  static std::optional<IpAddress> AddressOf(const Words& words) {
    if (words[0] == kV4) return IpAddress::V4(static_cast<std::uint32_t>(words[2]));
    if (words[0] != kV6) return std::nullopt;
    std::array<std::byte, 16> bytes;
    StoreBe64(bytes.data(), words[1]);
    StoreBe64(bytes.data() + 8, words[2]);
    return IpAddress::V6(bytes);
  }

  // Acquire and release on each word keep it between the two accesses of the edition. A fence would
  // be cheaper, but ThreadSanitizer does not support fences.
  Words Read() const {
    Words words;
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = words_[i].load(std::memory_order_acquire);
    return words;
  }
  void Write(const Words& words) {
    const std::uint64_t edition = edition_.load(std::memory_order_relaxed);
    edition_.store(edition + 1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < words.size(); ++i)
      words_[i].store(words[i], std::memory_order_release);
    edition_.store(edition + 2, std::memory_order_release);
  }

  std::atomic<std::uint64_t> edition_{0};  // odd while being written
  std::array<std::atomic<std::uint64_t>, 3> words_{};
};

}  // namespace weft::dataplane
