// SPDX-License-Identifier: Apache-2.0
// Where a JSON value ends, found as its octets arrive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::kube {

// Counts brackets outside of strings, 64 octets at a time, and knows no more of the grammar:
// whether what it cut is JSON, a parser says. What it finds does not depend on how the octets were
// cut.
class JsonEndFinder {
 public:
  // A value begins, with this octet, which Take is given too.
  void Begin(char first);
  // How many of `octets` belong to the value.
  std::size_t Take(std::string_view octets);
  // The last Take saw its end. A number or word is ended by the octet behind it.
  bool ended() const { return ended_; }

 private:
  enum class Kind : std::uint8_t { kContainer, kString, kScalar };

  std::size_t TakeContainer(std::string_view octets);
  std::size_t TakeString(std::string_view octets);
  std::size_t TakeScalar(std::string_view octets);
  // 64 octets of which the first `size` count. Returns where in them the value ends, or `size`.
  std::size_t TakeBlock(const char* block, std::size_t size);

  Kind kind_ = Kind::kScalar;
  bool ended_ = false;
  bool begun_ = false;
  std::uint64_t depth_ = 0;      // kContainer: brackets open
  std::uint64_t escaped_ = 0;    // 1: the next octet stands behind a backslash
  std::uint64_t in_string_ = 0;  // all ones: the next octet is inside a string
};

}  // namespace weft::kube
