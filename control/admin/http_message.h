// SPDX-License-Identifier: Apache-2.0
// HTTP requests and responses as values: as much of HTTP/1.1 as health checks, metrics and the
// admin endpoint need.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

namespace weft::admin {

struct Request {
  std::string method;  // "GET", "HEAD", with HttpLimits::post "POST"; others are answered with 405
  std::string path;    // percent-decoded, without the query: "/v1/leases"
  std::map<std::string, std::string, std::less<>>
      query;          // percent-decoded; the last of equal names counts
  bool held = false;  // the `hold` that the handler asked for is over: answer now
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

}  // namespace weft::admin
