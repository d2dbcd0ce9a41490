// SPDX-License-Identifier: Apache-2.0
// A small HTTP/1.1 server for TCP (health checks, metrics) and for a local endpoint (Unix-domain
// socket, named pipe). One request per connection, no request bodies, GET and HEAD, optionally
// POST.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/admin/http_codec.h"

namespace boost::asio {
class io_context;
}

namespace weft::admin {

class Listener;

struct HttpLimits {
  // At a time, over all listeners. A further one closes the oldest that waits for its client; where
  // all are on hold, it gets a 503.
  std::size_t connections = 64;
  // Of responses that their clients have not read; beyond, the oldest is closed.
  std::size_t response_bytes = 16 << 20;
  std::size_t header_bytes = 8 * 1024;  // request line and fields; more is 431
  std::chrono::milliseconds deadline{
      10'000};              // to send the request, and again to read the response
  bool post = false;        // the handler gets POST too, without a body
  bool any_method = false;  // the handler gets every method, as in Go's server
};

// Lives on the thread that runs `io`, which outlives it; every call comes from there. The
// destructor (or Close) stops listening, closes connections and no longer calls the handler, though
// `io` may keep running. Nothing that a client does throws.
class HttpServer {
 public:
  HttpServer(boost::asio::io_context& io, Handler handler, HttpLimits limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // `address` is an IPv4 or IPv6 address as text; port 0 takes a free one. Returns the port. May be
  // called more than once.
  absl::StatusOr<std::uint16_t> ListenTcp(const std::string& address, std::uint16_t port);

  // A Unix-domain socket (mode 0600; replaces a stale socket file, and no other file), or on
  // Windows a pipe for its owner, Administrators and SYSTEM. Unix: the server removes the file at
  // its end.
  absl::Status ListenLocal(const std::string& path);

  // For tests: one that is open already.
  absl::StatusOr<std::uint16_t> ListenOn(std::shared_ptr<Listener> listener);

  // Calls the handler again for every request that is on hold.
  void Wake();
  void Close();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::admin
