// SPDX-License-Identifier: Apache-2.0
// A body in chunks (RFC 9112 section 7.1), taken apart as its octets arrive. Beast's own parser
// asserts things about its input that a server can make untrue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace weft::http1 {

class ChunkedBody {
 public:
  // Octets of one chunk's line, and of the trailer.
  static constexpr std::size_t kLineLimit = std::size_t{16} << 10;

  // Takes octets off the front and returns those of them that are body: none only when all of
  // `octets` are taken, or done().
  absl::StatusOr<std::string_view> Next(std::string_view& octets);
  bool done() const { return state_ == State::kDone; }

 private:
  enum class State : std::uint8_t {
    kFirstDigit,
    kDigits,
    kExtension,
    kLineEnd,  // the LF of a chunk's line
    kData,
    kDataCr,
    kDataLf,
    kTrailerStart,  // of a line of the trailer
    kTrailer,
    kTrailerLf,
    kLastLf,
    kDone,
  };
  absl::Status Step(char octet);
  absl::Status Digit(char octet);

  State state_ = State::kFirstDigit;
  std::uint64_t rest_ = 0;  // kDigits: the size so far; kData: octets to come
  std::size_t line_ = 0;    // octets of what kLineLimit bounds
};

}  // namespace weft::http1
