// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/json_masks.h"

#include <bit>
#include <cstring>

namespace weft::kube {
namespace {

constexpr std::uint64_t Eight(unsigned char octet) { return 0x0101010101010101U * octet; }

// Bit i set where octet i of `word`, the lowest first, is zero.
std::uint64_t ZeroOctets(std::uint64_t word) {
  constexpr std::uint64_t kLow = Eight(0x7f);
  const std::uint64_t zeros = ~(((word & kLow) + kLow) | word | kLow);  // 0x80 where zero
  return (zeros >> 7) * 0x0102040810204080U >> 56;
}

std::uint64_t LoadLittle(const char* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
}

}  // namespace

JsonMasks JsonMasksOfAny(const char* block) {
  JsonMasks masks;
  for (std::size_t i = 0; i < kJsonBlock; i += 8) {
    const std::uint64_t word = LoadLittle(block + i);
    // With this bit [ and { are one, and so are ] and }.
    const std::uint64_t folded = word | Eight(0x20);
    masks.quotes |= ZeroOctets(word ^ Eight('"')) << i;
    masks.backslashes |= ZeroOctets(word ^ Eight('\\')) << i;
    masks.opens |= ZeroOctets(folded ^ Eight('{')) << i;
    masks.closes |= ZeroOctets(folded ^ Eight('}')) << i;
  }
  return masks;
}

}  // namespace weft::kube
