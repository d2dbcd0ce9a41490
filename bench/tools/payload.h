// SPDX-License-Identifier: Apache-2.0
// Verifiable payloads: pseudo-random bytes, and a digest that depends on every byte and its
// position.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace weft::bench {

inline std::uint64_t Mix(std::uint64_t x) {  // SplitMix64's output function
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

inline void FillRandom(std::span<std::byte> bytes, std::uint64_t seed) {
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::uint64_t word = Mix(Mix(seed) + i);
    std::memcpy(bytes.data() + i, &word, bytes.size() - i < 8 ? bytes.size() - i : 8);
  }
}

// Four independent lanes, so that hashing is faster than any tunnel. Not cryptographic: it detects
// faults, not attacks.
class Digest {
 public:
  void Add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      if (filled_ == 0 && bytes.size() >= kBlock) {
        AddBlock(bytes.data());
        bytes = bytes.subspan(kBlock);
        continue;
      }
      const std::size_t taken = bytes.size() < kBlock - filled_ ? bytes.size() : kBlock - filled_;
      std::memcpy(partial_.data() + filled_, bytes.data(), taken);
      filled_ += taken;
      bytes = bytes.subspan(taken);
      if (filled_ == kBlock) {
        AddBlock(partial_.data());
        filled_ = 0;
      }
    }
  }

  std::uint64_t Value() const {
    Digest padded = *this;
    std::memset(padded.partial_.data() + padded.filled_, 0, kBlock - padded.filled_);
    padded.AddBlock(padded.partial_.data());
    std::uint64_t value = length_ + filled_;
    for (const std::uint64_t lane : padded.lanes_) value = Mix(value ^ lane);
    return value;
  }

 private:
  static constexpr std::size_t kBlock = 32;

  void AddBlock(const std::byte* block) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      std::uint64_t word;
      std::memcpy(&word, block + 8 * i, 8);
      lanes_[i] = std::rotl((lanes_[i] ^ word) * 0x9E3779B97F4A7C15ULL, 29);
    }
    length_ += kBlock;
  }

  std::array<std::uint64_t, 4> lanes_{1, 2, 3, 4};
  std::array<std::byte, kBlock> partial_{};
  std::size_t filled_ = 0;
  std::uint64_t length_ = 0;
};

// A unique datagram: sequence number, digest of the rest, then bytes derived from both.
inline constexpr std::size_t kStampSize = 16;

inline std::uint64_t StampDigest(std::uint64_t seed, std::uint64_t sequence,
                                 std::span<const std::byte> body) {
  Digest digest;
  digest.Add(body);
  return Mix(digest.Value() ^ Mix(seed ^ Mix(sequence)));
}

inline void WriteStamped(std::span<std::byte> datagram, std::uint64_t seed,
                         std::uint64_t sequence) {
  const std::span<std::byte> body = datagram.subspan(kStampSize);
  for (std::size_t i = 0; i < body.size(); i += 8) {
    const std::uint64_t word = Mix(seed + sequence * 0x1000 + i);
    std::memcpy(body.data() + i, &word, body.size() - i < 8 ? body.size() - i : 8);
  }
  const std::uint64_t digest = StampDigest(seed, sequence, body);
  std::memcpy(datagram.data(), &sequence, 8);
  std::memcpy(datagram.data() + 8, &digest, 8);
}

struct Stamp {
  std::uint64_t sequence = 0;
  bool intact = false;
};

inline Stamp ReadStamped(std::span<const std::byte> datagram, std::uint64_t seed) {
  Stamp stamp;
  if (datagram.size() < kStampSize) return stamp;
  std::uint64_t digest;
  std::memcpy(&stamp.sequence, datagram.data(), 8);
  std::memcpy(&digest, datagram.data() + 8, 8);
  stamp.intact = digest == StampDigest(seed, stamp.sequence, datagram.subspan(kStampSize));
  return stamp;
}

}  // namespace weft::bench
