// SPDX-License-Identifier: Apache-2.0
#include "control/http1/answer_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "vxlan/text/printable.h"

namespace weft::http1 {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

constexpr std::uint32_t kLongestRetryAfter = 24 * 3600;  // seconds

constexpr std::uint64_t kLargestChunk = std::uint64_t{1} << 56;

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

absl::Status NotHttp(std::string_view what) {
  return absl::UnavailableError(absl::StrCat("the answer is not HTTP/1.1: ", what));
}

absl::Status BrokenChunk() { return NotHttp("a chunk is malformed"); }

}  // namespace

// Parses the head only: Beast is configured to expect no body.
class AnswerParser::Head final : public http::basic_parser<false> {
 public:
  Head() {
    skip(true);
    // Beast counts only unparsed bytes; TakeHead counts all.
    header_limit(std::numeric_limits<std::uint32_t>::max());
  }

  HttpHead read;
  absl::Status refusal;

 private:
  void Refuse(std::string_view what, error_code& error) {
    refusal = NotHttp(what);
    error = http::error::bad_field;
  }

  void on_request_impl(http::verb, boost::beast::string_view, boost::beast::string_view, int,
                       error_code&) override {}

  void on_response_impl(int code, boost::beast::string_view, int, error_code& error) override {
    read.status = code;
    if (code < 100 || code == 101) Refuse(absl::StrCat("its status is ", code), error);
  }

  void on_field_impl(http::field name, boost::beast::string_view, boost::beast::string_view value,
                     error_code& error) override {
    const std::string_view text = View(value);
    if (name == http::field::content_type) {
      read.content_type = std::string(text);
    } else if (name == http::field::retry_after) {
      std::uint32_t seconds = 0;
      if (absl::SimpleAtoi(text, &seconds))
        read.retry_after = std::chrono::seconds(std::min(seconds, kLongestRetryAfter));
    } else if (name == http::field::transfer_encoding && !absl::EqualsIgnoreCase(text, "chunked")) {
      Refuse(absl::StrCat("its transfer encoding is ", Quoted(text)), error);
    } else if (name == http::field::content_encoding && !absl::EqualsIgnoreCase(text, "identity")) {
      Refuse(absl::StrCat("its content encoding is ", Quoted(text), ", which was not requested"),
             error);
    }
  }

  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(boost::beast::string_view, error_code&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, boost::beast::string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, boost::beast::string_view, error_code&) override {
    return 0;
  }
  void on_finish_impl(error_code&) override {}
};

AnswerParser::AnswerParser(To to, AnswerSink& sink)
    : to_(to), sink_(sink), head_(std::make_unique<Head>()) {}
AnswerParser::~AnswerParser() = default;

absl::StatusOr<std::size_t> AnswerParser::Take(std::string_view bytes) {
  std::size_t taken = 0;
  while (stage_ == Stage::kHead && taken < bytes.size()) {
    const auto head = TakeHead(bytes.substr(taken));
    if (!head.ok()) return head.status();
    taken += *head;
    if (!head_->is_done()) return taken;
    if (!FinishHead()) return bytes.size();
  }
  if (auto took = TakeBody(bytes.substr(taken)); !took.ok()) return took;
  return bytes.size();
}

absl::StatusOr<std::size_t> AnswerParser::TakeHead(std::string_view bytes) {
  // Beast would wait for the end of the head before it checks this.
  constexpr std::string_view kBegin = "HTTP/1.";
  if (head_bytes_ == 0 && bytes.substr(0, kBegin.size()) != kBegin.substr(0, bytes.size()))
    return NotHttp(absl::StrCat("it begins with ", Quoted(bytes.substr(0, 20))));
  error_code error;
  std::size_t taken = 0;
  while (taken < bytes.size() && !error && !head_->is_done())
    taken += head_->put(boost::asio::buffer(bytes.data() + taken, bytes.size() - taken), error);
  if (!head_->refusal.ok()) return head_->refusal;
  if (error && error != http::error::need_more) return NotHttp(error.message());
  head_bytes_ += taken;
  if (head_bytes_ + (error ? bytes.size() - taken : 0) > kHeadLimit)
    return NotHttp(absl::StrCat("its head is longer than ", kHeadLimit >> 10, " KiB"));
  return taken;
}

// False: the sink stopped the parsing.
bool AnswerParser::FinishHead() {
  const std::unique_ptr<Head> head = std::exchange(head_, std::make_unique<Head>());
  head_bytes_ = 0;
  const int status = head->read.status;
  if (status < 200) return true;  // interim
  if (to_ == To::kConnect || status == 204 || status == 304) {
    stage_ = Stage::kDone;
  } else if (head->chunked()) {
    stage_ = Stage::kChunks;
  } else if (head->content_length()) {
    rest_ = *head->content_length();
    stage_ = rest_ == 0 ? Stage::kDone : Stage::kLength;
  } else {
    stage_ = Stage::kToTheEnd;
  }
  if (const auto& length = head->content_length()) head->read.content_length = *length;
  return sink_.OnHead(head->read);
}

absl::Status AnswerParser::TakeBody(std::string_view bytes) {
  if (stage_ == Stage::kLength)
    bytes = bytes.substr(0, std::min<std::uint64_t>(rest_, bytes.size()));
  if (stage_ == Stage::kLength || stage_ == Stage::kToTheEnd) {
    rest_ -= bytes.size();  // unused with kToTheEnd
    if (stage_ == Stage::kLength && rest_ == 0) stage_ = Stage::kDone;
    if (!bytes.empty()) sink_.OnBody(bytes);
    return absl::OkStatus();
  }
  while (stage_ == Stage::kChunks && !bytes.empty()) {
    const auto body = chunks_.Next(bytes);
    if (!body.ok()) return body.status();
    if (chunks_.done()) stage_ = Stage::kDone;
    if (!body->empty() && !sink_.OnBody(*body)) break;
  }
  return absl::OkStatus();
}

absl::Status AnswerParser::End() {
  switch (stage_) {
    case Stage::kHead:
      return absl::UnavailableError("it closed the connection without an answer");
    case Stage::kLength:
    case Stage::kChunks:
      return absl::UnavailableError("it closed the connection before the end of its answer");
    case Stage::kToTheEnd:
    case Stage::kDone:
      break;
  }
  return absl::OkStatus();
}

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
  if (!absl::ascii_isxdigit(c) || rest_ >= kLargestChunk) return BrokenChunk();
  const int value = absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10;
  rest_ = rest_ * 16 + static_cast<std::uint64_t>(value);
  state_ = State::kDigits;
  return absl::OkStatus();
}

absl::Status ChunkedBody::Step(char byte) {
  if (++line_ > kLineLimit) {
    return NotHttp(
        absl::StrCat("a chunk's line or the trailer is longer than ", kLineLimit >> 10, " KiB"));
  }
  const auto expect = [&](char desired, State next) {
    if (byte != desired) return BrokenChunk();
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
  return BrokenChunk();
}

}  // namespace weft::http1
