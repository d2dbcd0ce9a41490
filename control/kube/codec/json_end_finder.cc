// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/json_end_finder.h"

#include <array>
#include <bit>
#include <cstring>

#include "control/kube/codec/json_masks.h"

namespace weft::kube {
namespace {

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
  for (; octets.size() - at >= kJsonBlock; at += kJsonBlock) {
    const std::size_t taken = TakeBlock(octets.data() + at, kJsonBlock);
    if (ended_) return at + taken;
  }
  const std::string_view rest = octets.substr(at);
  if (rest.empty()) return at;
  std::array<char, kJsonBlock> block;
  block.fill(' ');
  std::memcpy(block.data(), rest.data(), rest.size());
  return at + TakeBlock(block.data(), rest.size());
}

std::size_t JsonEndFinder::TakeBlock(const char* block, std::size_t size) {
  const JsonMasks masks = JsonMasksOf(block);
  const std::uint64_t escaped = EscapedOctets(masks.backslashes, escaped_);
  // In a block that is filled up with spaces, the one behind the last octet takes the escape.
  if (size < kJsonBlock) escaped_ = escaped >> size & 1;
  const std::uint64_t strings = PrefixXor(masks.quotes & ~escaped) ^ in_string_;
  in_string_ = 0 - (strings >> 63);
  for (std::uint64_t marks = (masks.opens | masks.closes) & ~strings; marks != 0;
       marks &= marks - 1) {
    const int at = std::countr_zero(marks);
    if ((masks.opens >> at & 1) != 0) {
      ++depth_;
    } else if (--depth_ == 0) {
      ended_ = true;
      return static_cast<std::size_t>(at) + 1;
    }
  }
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
