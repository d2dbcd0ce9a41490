// SPDX-License-Identifier: Apache-2.0
// The Internet checksum: RFC 1071 sums, RFC 1624 updates, pseudo-headers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "vxlan/bytes.h"
#include "vxlan/ip_address.h"
#include "vxlan/ip_protocol.h"

namespace weft {

// A one's complement sum of big-endian 16-bit words, not yet folded to 16 bits. Sums of adjacent
// pieces are added; a piece that starts at an odd offset goes through Append.
class PartialSum {
 public:
  constexpr PartialSum() = default;
  constexpr explicit PartialSum(std::uint64_t unfolded) : value_(unfolded) {}

  // 2^31 additions cannot overflow.
  constexpr PartialSum& Add(std::uint32_t words) {
    value_ += words;
    return *this;
  }
  // `next` was summed as if it began at an even offset; `offset` is where it really begins.
  constexpr PartialSum& Append(PartialSum next, std::size_t offset) {
    const std::uint16_t folded = next.Fold();
    return Add((offset & 1) == 0 ? folded : __builtin_bswap16(folded));
  }
  friend constexpr PartialSum operator+(PartialSum a, PartialSum b) {
    return PartialSum(std::uint64_t{a.Fold()} + b.Fold());
  }

  // 0 only if all summed words are zero.
  constexpr std::uint16_t Fold() const {
    // The upper half of value + rotl(value, 32) is the sum of both halves, with end-around carry.
    const auto words = static_cast<std::uint32_t>((value_ + std::rotl(value_, 32)) >> 32);
    return static_cast<std::uint16_t>((words + std::rotl(words, 16)) >> 16);
  }
  // The value of a checksum field.
  constexpr std::uint16_t Checksum() const { return static_cast<std::uint16_t>(~Fold()); }
  // Whether the sum of bytes that include their checksum field is right.
  constexpr bool IsRight() const { return Fold() == 0xffff; }

 private:
  std::uint64_t value_ = 0;
};

// Any length; an odd last byte counts as the high half of a word. Uses the CPU's widest loads.
[[nodiscard]] PartialSum Sum(Bytes bytes);
// Writes Sum(covered).Checksum() to the field at `field`, but 0xffff instead of 0: RFC 768 requires
// that, for other protocols the two are equivalent. Inline, for usual packets; `covered` is not
// empty, and the last 8 bytes before its end are readable even if it is shorter.
void StoreChecksum(std::byte* field, Bytes covered);
// Copies `source` to the start of `destination` (at least as long, not overlapping) and sums it.
PartialSum CopyAndSum(MutableBytes destination, Bytes source);

// The sum of the 20 bytes at `header`, an IPv4 header without options.
[[nodiscard]] constexpr PartialSum SumIpv4Header(const std::byte* header) {
  const std::uint64_t a = LoadBe64(header);
  const std::uint64_t b = LoadBe64(header + 8);
  return PartialSum((a >> 32) + (a & 0xffff'ffff) + (b >> 32) + (b & 0xffff'ffff) +
                    LoadBe32(header + 16));
}

// Pseudo-headers of RFC 9293 section 3.1, RFC 768 and RFC 8200 section 8.1. `length` is the
// transport header and payload in bytes; addresses are in host order, or 16 network-order bytes.
[[nodiscard]] constexpr PartialSum PseudoHeaderV4(std::uint32_t source, std::uint32_t destination,
                                                  IpProtocol protocol, std::uint32_t length) {
  return PartialSum(std::uint64_t{source} + destination + static_cast<std::uint8_t>(protocol) +
                    length);
}
[[nodiscard]] PartialSum PseudoHeaderV6(std::span<const std::byte, 16> source,
                                        std::span<const std::byte, 16> destination,
                                        IpProtocol protocol, std::uint32_t length);
// Both addresses are of one family.
[[nodiscard]] PartialSum PseudoHeader(const IpAddress& source, const IpAddress& destination,
                                      IpProtocol protocol, std::uint32_t length);

// RFC 1624 equation 3: the checksum after a 16-bit (32-bit) field changed from `before` to `after`.
// For a 32-bit field at an even offset.
[[nodiscard]] constexpr std::uint16_t UpdateChecksum16(std::uint16_t checksum, std::uint16_t before,
                                                       std::uint16_t after) {
  return PartialSum()
      .Add(static_cast<std::uint16_t>(~checksum))
      .Add(static_cast<std::uint16_t>(~before))
      .Add(after)
      .Checksum();
}

namespace detail {

// Folds a sum of words in the CPU's order. RFC 1071 section 2 B: swapping the bytes of the folded
// sum gives the sum of swapped words.
constexpr std::uint16_t FoldNative(std::uint64_t native) {
  const std::uint16_t folded = PartialSum(native).Fold();
  return std::endian::native == std::endian::little ? __builtin_bswap16(folded) : folded;
}

template <typename T>
T LoadNative(const std::byte* from) {
  T word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// Adds eight bytes with end-around carry.
inline void AddWord(std::uint64_t& sum, const std::byte* at) {
  const auto word = LoadNative<std::uint64_t>(at);
  sum += word;
  sum += sum < word;
}

// Four of them; GCC 12 does not pass the carry on.
inline void AddFourWords(std::uint64_t& sum, const std::byte* at) {
#ifdef __x86_64__
  struct FourWords {
    std::byte bytes[32];
  };
  asm("addq (%1), %0\n\t"
      "adcq 8(%1), %0\n\t"
      "adcq 16(%1), %0\n\t"
      "adcq 24(%1), %0\n\t"
      "adcq $0, %0"
      : "+r"(sum)
      : "r"(at), "m"(*reinterpret_cast<const FourWords*>(at))
      : "cc");
#else
  for (std::size_t i = 0; i < 4; ++i) AddWord(sum, at + 8 * i);
#endif
}

// The sum of words in the CPU's order, by the widest loads.
std::uint64_t SumNative(Bytes bytes);

// The same, faster up to about 100 bytes.
inline constexpr std::size_t kFewBytes = 128;
[[gnu::always_inline]] inline std::uint64_t SumFewNative(Bytes bytes) {
  const std::byte* at = bytes.data();
  // The last one to eight bytes, of eight that end with them; an odd one is the first byte of its
  // word.
  const auto last = LoadNative<std::uint64_t>(at + bytes.size() - 8);
  const std::size_t before = (0 - bytes.size()) % 8 * 8;  // bits
  std::uint64_t sum = std::endian::native == std::endian::little ? last >> before : last << before;
  const std::size_t words = (bytes.size() - 1) / 8;
  if ((words & 8) != 0) {
    AddFourWords(sum, at);
    AddFourWords(sum, at + 32);
    at += 64;
  }
  if ((words & 4) != 0) {
    AddFourWords(sum, at);
    at += 32;
  }
  if ((words & 2) != 0) {
    AddWord(sum, at);
    AddWord(sum, at + 8);
    at += 16;
  }
  if ((words & 1) != 0) AddWord(sum, at);
  return sum;
}

}  // namespace detail

[[gnu::always_inline]] inline void StoreChecksum(std::byte* field, Bytes covered) {
  const std::uint64_t sum = covered.size() <= detail::kFewBytes ? detail::SumFewNative(covered)
                                                                : detail::SumNative(covered);
  const auto checksum = static_cast<std::uint16_t>(~PartialSum(sum).Fold());
  const auto sent = static_cast<std::uint16_t>(checksum - (checksum == 0));
  std::memcpy(field, &sent, sizeof sent);
}

}  // namespace weft
