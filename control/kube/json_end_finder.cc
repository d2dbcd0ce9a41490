// SPDX-License-Identifier: Apache-2.0
#include "control/kube/json_end_finder.h"

#include <array>
#include <bit>
#include <cstring>

namespace weft::kube {
namespace {

constexpr std::size_t kBlock = 64;

// A bit for each octet of a block, the first one lowest.
struct Masks {
  std::uint64_t quotes = 0;
  std::uint64_t backslashes = 0;
  std::uint64_t opens = 0;   // { [
  std::uint64_t closes = 0;  // } ]
};

constexpr std::uint64_t Eight(unsigned char octet) { return 0x0101010101010101U * octet; }

// Bit i set where octet i of `word` is zero.
std::uint64_t ZeroOctets(std::uint64_t word) {
  constexpr std::uint64_t kLow = Eight(0x7f);
  const std::uint64_t zeros = ~(((word & kLow) + kLow) | word | kLow);  // 0x80 where zero
  return (zeros >> 7) * 0x0102040810204080U >> 56;
}

std::uint64_t LoadLittle(const char* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

Masks MasksOf(const char* block) {
  Masks masks;
  for (std::size_t i = 0; i < kBlock; i += 8) {
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

// Octets that stand behind an odd run of backslashes; `carry` goes from block to block. After
// Langdale and Lemire, "Parsing Gigabytes of JSON per Second", section 3.1.1.
std::uint64_t EscapedOctets(std::uint64_t backslashes, std::uint64_t& carry) {
  if (backslashes == 0) {
    const std::uint64_t escaped = carry;
    carry = 0;
    return escaped;
  }
  constexpr std::uint64_t kEven = 0x5555555555555555U;
  backslashes &= ~carry;
  const std::uint64_t follows = backslashes << 1 | carry;
  const std::uint64_t odd_starts = backslashes & ~kEven & ~follows;
  const std::uint64_t even_runs = odd_starts + backslashes;
  carry = even_runs < backslashes ? 1 : 0;
  return (kEven ^ even_runs << 1) & follows;
}

// Bit i: the parity of bits 0 to i. Over quotes: from each opening one to before its closing one.
std::uint64_t PrefixXor(std::uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

std::uint64_t CountOf(std::uint64_t bits) {
  return static_cast<std::uint64_t>(std::popcount(bits));
}

}  // namespace

void JsonEndFinder::Begin(char first) {
  kind_ = first == '{' || first == '[' ? Kind::kContainer
          : first == '"'               ? Kind::kString
                                       : Kind::kScalar;
  ended_ = begun_ = false;
  depth_ = escaped_ = in_string_ = 0;
}

std::size_t JsonEndFinder::Take(std::string_view octets) {
  switch (kind_) {
    case Kind::kContainer:
      return TakeContainer(octets);
    case Kind::kString:
      return TakeString(octets);
    case Kind::kScalar:
      break;
  }
  return TakeScalar(octets);
}

std::size_t JsonEndFinder::TakeContainer(std::string_view octets) {
  std::size_t at = 0;
  for (; octets.size() - at >= kBlock; at += kBlock) {
    const std::size_t taken = TakeBlock(octets.data() + at, kBlock);
    if (ended_) return at + taken;
  }
  const std::string_view rest = octets.substr(at);
  if (rest.empty()) return at;
  std::array<char, kBlock> block;
  block.fill(' ');
  std::memcpy(block.data(), rest.data(), rest.size());
  return at + TakeBlock(block.data(), rest.size());
}

std::size_t JsonEndFinder::TakeBlock(const char* block, std::size_t size) {
  const Masks masks = MasksOf(block);
  const std::uint64_t escaped = EscapedOctets(masks.backslashes, escaped_);
  // In a block that is filled up with spaces, the one behind the last octet takes the escape.
  if (size < kBlock) escaped_ = escaped >> size & 1;
  const std::uint64_t strings = PrefixXor(masks.quotes & ~escaped) ^ in_string_;
  in_string_ = 0 - (strings >> 63);
  const std::uint64_t opens = masks.opens & ~strings;
  std::uint64_t closes = masks.closes & ~strings;
  if ((opens | closes) == 0) return size;

  const std::uint64_t depth_behind = depth_ + CountOf(opens) - CountOf(closes);
  if (CountOf(closes) >= depth_) {
    for (std::uint64_t closed = 1; closes != 0; ++closed, closes &= closes - 1) {
      const int at = std::countr_zero(closes);
      if (depth_ + CountOf(opens & ((std::uint64_t{1} << at) - 1)) == closed) {
        ended_ = true;
        return static_cast<std::size_t>(at) + 1;
      }
    }
  }
  depth_ = depth_behind;
  return size;
}

std::size_t JsonEndFinder::TakeString(std::string_view octets) {
  for (std::size_t at = 0; at < octets.size(); ++at) {
    if (escaped_ != 0) {
      escaped_ = 0;
    } else if (octets[at] == '\\') {
      escaped_ = 1;
    } else if (octets[at] == '"') {
      ended_ = begun_;
      begun_ = true;
      if (ended_) return at + 1;
    }
  }
  return octets.size();
}

std::size_t JsonEndFinder::TakeScalar(std::string_view octets) {
  const std::size_t end = octets.find_first_of(" \t\r\n,:{}[]\"");
  ended_ = end != octets.npos;
  return ended_ ? end : octets.size();
}

}  // namespace weft::kube
