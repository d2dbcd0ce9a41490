// SPDX-License-Identifier: Apache-2.0
// The bytes of an HTTP/1.1 answer to values, without I/O.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft::http1 {

struct HttpHead {
  int status = 0;
  std::string content_type;  // as the server wrote it, with parameters; empty if absent
  std::optional<std::chrono::seconds> retry_after;  // as a number of seconds; dates are ignored
  std::optional<std::uint64_t> content_length = {};
  // Of a 401, for people: what was not accepted. The sender of the request fills it in.
  std::string credentials = {};
};

// Receives the answer. False: stop parsing.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  virtual bool OnHead(const HttpHead& head) = 0;
  virtual bool OnBody(std::string_view bytes) = 0;
};

// A body in chunks (RFC 9112 section 7.1), decoded as its bytes arrive. Beast's own parser asserts
// properties of its input that a server can violate.
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

// One answer and the interim ones (1xx) before it. Errors name what is wrong with it and end it.
class AnswerParser {
 public:
  // Bytes of a status line with its fields: at most.
  static constexpr std::size_t kHeadLimit = std::size_t{64} << 10;

  // Answers to CONNECT have no body (RFC 9112 section 6.3).
  enum class To : std::uint8_t { kRequest, kConnect };
  AnswerParser(To to, AnswerSink& sink);
  ~AnswerParser();

  // Returns how many bytes were consumed. The caller passes the rest, at most kHeadLimit, again
  // with more bytes after it; after done() or a false from the sink the rest is unused.
  absl::StatusOr<std::size_t> Take(std::string_view bytes);
  bool done() const { return stage_ == Stage::kDone; }
  // The server closed its side: an error if that was too early.
  absl::Status End();

 private:
  enum class Stage : std::uint8_t { kHead, kLength, kChunks, kToTheEnd, kDone };
  class Head;

  absl::StatusOr<std::size_t> TakeHead(std::string_view bytes);
  bool FinishHead();
  absl::Status TakeBody(std::string_view bytes);

  const To to_;
  AnswerSink& sink_;
  Stage stage_ = Stage::kHead;
  std::unique_ptr<Head> head_;
  std::size_t head_bytes_ = 0;  // consumed
  std::uint64_t rest_ = 0;      // kLength: bytes to come
  ChunkedBody chunks_;
};

}  // namespace weft::http1
