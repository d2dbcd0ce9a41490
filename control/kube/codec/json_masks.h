// SPDX-License-Identifier: Apache-2.0
// Where in 64 octets of JSON the marks stand that decide where a value ends.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::kube {

inline constexpr std::size_t kJsonBlock = 64;

// A bit for each octet of a block, the first one lowest. In strings too.
struct JsonMasks {
  std::uint64_t quotes = 0;
  std::uint64_t backslashes = 0;
  std::uint64_t opens = 0;   // { [
  std::uint64_t closes = 0;  // } ]
  friend bool operator==(const JsonMasks&, const JsonMasks&) = default;
};

// `block` has kJsonBlock octets. The same twice: for this processor, and for any.
JsonMasks JsonMasksOf(const char* block);
JsonMasks JsonMasksOfAny(const char* block);

}  // namespace weft::kube
