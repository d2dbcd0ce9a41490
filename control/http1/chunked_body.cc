// SPDX-License-Identifier: Apache-2.0
#include "control/http1/chunked_body.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace weft::http1 {
namespace {

constexpr std::uint64_t kLargestChunk = std::uint64_t{1} << 56;

absl::Status Broken() {
  return absl::UnavailableError("the answer is not HTTP/1.1: a chunk is malformed");
}

}  // namespace

absl::StatusOr<std::string_view> ChunkedBody::Next(std::string_view& bytes) {
  while (!bytes.empty() && !done()) {
    if (state_ == State::kData) {
      const std::string_view body = bytes.substr(0, std::min<std::uint64_t>(rest_, bytes.size()));
      bytes.remove_prefix(body.size());
      rest_ -= body.size();
      if (rest_ == 0) state_ = State::kDataCr;
      return body;
    }
    if (auto stepped = Step(bytes.front()); !stepped.ok()) return stepped;
    bytes.remove_prefix(1);
  }
  return std::string_view();
}

absl::Status ChunkedBody::Digit(char byte) {
  const auto c = static_cast<unsigned char>(byte);
  if (!absl::ascii_isxdigit(c) || rest_ >= kLargestChunk) return Broken();
  const int value = absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10;
  rest_ = rest_ * 16 + static_cast<std::uint64_t>(value);
  state_ = State::kDigits;
  return absl::OkStatus();
}

absl::Status ChunkedBody::Step(char byte) {
  if (++line_ > kLineLimit) {
    return absl::UnavailableError(
        absl::StrCat("the answer is not HTTP/1.1: a chunk's line or the trailer is longer than ",
                     kLineLimit >> 10, " KiB"));
  }
  const auto expect = [&](char desired, State next) {
    if (byte != desired) return Broken();
    state_ = next;
    return absl::OkStatus();
  };
  switch (state_) {
    case State::kFirstDigit:
      return Digit(byte);
    case State::kDigits:
      if (byte != '\r' && byte != ';' && byte != ' ' && byte != '\t') return Digit(byte);
      state_ = byte == '\r' ? State::kLineEnd : State::kExtension;
      return absl::OkStatus();
    case State::kExtension:
      if (byte == '\r') state_ = State::kLineEnd;
      return absl::OkStatus();
    case State::kLineEnd:
      line_ = 0;
      return expect('\n', rest_ == 0 ? State::kTrailerStart : State::kData);
    case State::kDataCr:
      return expect('\r', State::kDataLf);
    case State::kDataLf:
      return expect('\n', State::kFirstDigit);
    case State::kTrailerStart:
      state_ = byte == '\r' ? State::kLastLf : State::kTrailer;
      return absl::OkStatus();
    case State::kTrailer:
      if (byte == '\r') state_ = State::kTrailerLf;
      return absl::OkStatus();
    case State::kTrailerLf:
      return expect('\n', State::kTrailerStart);
    case State::kLastLf:
      return expect('\n', State::kDone);
    case State::kData:
    case State::kDone:
      break;
  }
  return Broken();
}

}  // namespace weft::http1
