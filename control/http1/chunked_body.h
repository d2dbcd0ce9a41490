// SPDX-License-Identifier: Apache-2.0
// A body in chunks (RFC 9112 section 7.1), decoded as its bytes arrive. Beast's own parser asserts
// properties of its input that a server can violate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace weft::http1 {

class ChunkedBody {
 public:
  // Bytes of one chunk's line, and of the trailer.
  static constexpr std::size_t kLineLimit = std::size_t{16} << 10;

  // Consumes bytes from the front and returns those that are body: none only when all of `bytes`
  // are consumed, or done().
  absl::StatusOr<std::string_view> Next(std::string_view& bytes);
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
  absl::Status Step(char byte);
  absl::Status Digit(char byte);

  State state_ = State::kFirstDigit;
  std::uint64_t rest_ = 0;  // kDigits: the size so far; kData: bytes to come
  std::size_t line_ = 0;    // bytes of what kLineLimit bounds
};

}  // namespace weft::http1
