// SPDX-License-Identifier: Apache-2.0
#include "control/admin/http_codec.h"

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/http1/percent.h"

namespace weft::admin {
namespace {

namespace http = boost::beast::http;

constexpr std::uint64_t kLargestResponse = std::uint64_t{1}
                                           << 30;  // bytes; 100,000 leases are some 60 MB

// "a=1&b=2"; false when an escape is broken.
bool ReadQuery(std::string_view text, Request& request) {
  for (const std::string_view pair : absl::StrSplit(text, '&', absl::SkipEmpty())) {
    const std::size_t equals = pair.find('=');
    auto name = http1::DecodePercent(pair.substr(0, equals), /*plus_is_space=*/true);
    auto value = equals == std::string_view::npos
                     ? std::string()
                     : http1::DecodePercent(pair.substr(equals + 1), true);
    if (!name || !value) return false;
    request.query.insert_or_assign(*std::move(name), *std::move(value));
  }
  return true;
}

}  // namespace

struct RequestReader::Parser : http::request_parser<http::empty_body> {};

RequestReader::RequestReader(std::size_t header_bytes, bool post, bool any_method)
    : parser_(std::make_unique<Parser>()),
      limit_(header_bytes),
      post_(post),
      any_method_(any_method) {
  // Beast's own limit depends on how the bytes arrive; ours does not.
  parser_->header_limit(std::numeric_limits<std::uint32_t>::max());
  parser_->body_limit(boost::none);  // a body is refused by Finish, with its own status
}

RequestReader::~RequestReader() = default;

Reading RequestReader::Take(std::string_view bytes) {
  pending_.append(bytes);
  boost::system::error_code error;
  const std::size_t used = parser_->put(boost::asio::buffer(pending_), error);
  pending_.erase(0, used);
  taken_ += used;
  const bool more = error == http::error::need_more;
  if (taken_ + (more ? pending_.size() : 0) > limit_)
    return Refuse(431, "request line and header fields are too long");
  if (more) return Reading::kMore;
  if (error == http::error::bad_version)
    return Refuse(505, "only HTTP/1.0 and HTTP/1.1 are supported");
  if (error) return Refuse(400, absl::StrCat("not an HTTP request: ", error.message()));
  return parser_->is_header_done() ? Finish() : Reading::kMore;
}

Reading RequestReader::Finish() {
  const auto& message = parser_->get();
  request_.method = std::string(message.method_string());
  if (!any_method_ && message.method() != http::verb::get && message.method() != http::verb::head &&
      !(post_ && message.method() == http::verb::post)) {
    return Refuse(405, "only GET and HEAD are allowed here");
  }
  if (message.version() >= 11 && message.find(http::field::host) == message.end())
    return Refuse(400, "the Host field is missing (RFC 9112 section 3.2)");
  if (!any_method_ && (parser_->chunked() || parser_->content_length().value_or(0) > 0))
    return Refuse(413, "request bodies are not accepted");
  const std::string_view target(message.target().data(), message.target().size());
  const std::size_t question = target.find('?');
  auto path = http1::DecodePercent(target.substr(0, question), /*plus_is_space=*/false);
  if (!path || path->empty() || path->front() != '/')
    return Refuse(400, "the request target is not a path");
  request_.path = *std::move(path);
  if (question != std::string_view::npos && !ReadQuery(target.substr(question + 1), request_))
    return Refuse(400, "the query has a broken percent escape");
  return Reading::kDone;
}

Reading RequestReader::Refuse(int status, std::string sentence) {
  refusal_ = Response{.status = status, .body = absl::StrCat(sentence, "\n")};
  return Reading::kRefused;
}

Reading ResponseReader::Take(std::string_view bytes) {
  pending_.append(bytes);
  const auto used = parser_.Take(pending_);
  if (!used.ok() || too_long_) return Reading::kRefused;
  pending_.erase(0, *used);
  return parser_.done() ? Reading::kDone : Reading::kMore;
}

Reading ResponseReader::End() { return parser_.End().ok() ? Reading::kDone : Reading::kRefused; }

bool ResponseReader::OnHead(const http1::HttpHead& head) {
  response_.status = head.status;
  response_.content_type = head.content_type;
  too_long_ = head.content_length.value_or(0) > kLargestResponse;
  return !too_long_;
}

bool ResponseReader::OnBody(std::string_view bytes) {
  response_.body.append(bytes);
  too_long_ = response_.body.size() > kLargestResponse;
  return !too_long_;
}

std::string WriteResponse(const Response& response, bool head) {
  const auto reason = http::obsolete_reason(static_cast<http::status>(response.status));
  return absl::StrCat(
      "HTTP/1.1 ", response.status, " ", std::string_view(reason.data(), reason.size()),
      "\r\nContent-Type: ", response.content_type, "\r\nContent-Length: ", response.body.size(),
      response.status == 405 ? absl::StrCat("\r\nAllow: ", response.allow) : "",
      "\r\nConnection: close\r\n\r\n", head ? std::string_view() : std::string_view(response.body));
}

std::string WriteRequest(std::string_view target, std::string_view method) {
  return absl::StrCat(method, " ", target, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n",
                      method == "POST" ? "Content-Length: 0\r\n" : "", "\r\n");
}

}  // namespace weft::admin
