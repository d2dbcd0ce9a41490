// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 requests and responses of the admin endpoint to values and back, without I/O.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "control/http1/answer_parser.h"

namespace weft::admin {

struct Request {
  std::string method;  // "GET", "HEAD", with HttpLimits::post "POST"; others are answered with 405
  std::string path;    // percent-decoded, without the query: "/v1/leases"
  std::map<std::string, std::string, std::less<>>
      query;          // percent-decoded; the last of equal names counts
  bool held = false;  // the requested `hold` is over: answer now
};

struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string allow = "GET, HEAD";  // of a 405
  std::string body;                 // left out on the wire for HEAD, its length kept
  // Above zero: not an answer yet. The handler is called again at every HttpServer::Wake, and with
  // `held` set after this time.
  std::chrono::milliseconds hold{0};
};

// Runs on the server's thread and must not block. What it throws becomes a 500.
using Handler = std::function<Response(const Request&)>;

// The result of Take.
enum class Reading { kMore, kDone, kRefused };

// Reads one request's line and fields. After kDone or kRefused it accepts no more bytes.
class RequestReader {
 public:
  // Limit on line and fields together; whether POST is accepted; whether any method is, and a body
  // is discarded.
  explicit RequestReader(std::size_t header_bytes, bool post = false, bool any_method = false);
  ~RequestReader();

  Reading Take(std::string_view bytes);
  const Request& request() const { return request_; }  // after kDone
  // After kRefused: 400, 405 (another method), 413 (it has a body), 431 (too long) or 505,
  // with a sentence.
  const Response& refusal() const { return refusal_; }

 private:
  struct Parser;
  Reading Refuse(int status, std::string sentence);
  Reading Finish();

  std::unique_ptr<Parser> parser_;
  std::size_t limit_;
  bool post_;
  bool any_method_;
  std::size_t taken_ = 0;  // bytes that the parser has consumed
  std::string pending_;    // bytes that it has not consumed
  Request request_;
  Response refusal_;
};

// Reads one response.
class ResponseReader final : http1::AnswerSink {
 public:
  Reading Take(std::string_view bytes);  // kRefused: not HTTP, or too long
  Reading End();                         // the other side closed; kRefused when it did so too early
  Response TakeResponse() { return std::move(response_); }  // once, after kDone

 private:
  bool OnHead(const http1::HttpHead& head) override;
  bool OnBody(std::string_view bytes) override;

  http1::AnswerParser parser_{http1::AnswerParser::To::kRequest, *this};
  std::string pending_;
  Response response_;
  bool too_long_ = false;
};

// With "Connection: close". `head` leaves the body out and keeps its length.
std::string WriteResponse(const Response& response, bool head);
// `target`: percent-encoded path and query.
std::string WriteRequest(std::string_view target, std::string_view method = "GET");

}  // namespace weft::admin
