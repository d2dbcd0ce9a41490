// SPDX-License-Identifier: Apache-2.0
// A small HTTP/1.1 server for TCP (health checks, metrics) and for a local endpoint (Unix-domain
// socket, named pipe). One request a connection, no request bodies, GET and HEAD, POST if asked
// for.
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
  // At a time, over all listeners. For a further one the oldest that waits for its client is cut;
  // only where all are on hold it is refused, by 503.
  std::size_t connections = 64;
  // Of responses that their clients have not taken: beyond, the one that began first is cut.
  std::size_t response_bytes = 16 << 20;
  std::size_t header_bytes = 8 * 1024;  // request line and fields; more is 431
  std::chrono::milliseconds deadline{
      10'000};              // to send the request, and again to take the response
  bool post = false;        // POST, without a body, is the handler's too
  bool any_method = false;  // all are the handler's, as in Go's server
};

// Lives on the thread that runs `io`, which outlives it; every call comes from there. The
// destructor (or Close) stops listening, cuts open connections and calls the handler no more,
// though `io` may run on. Nothing that a client does throws.
class HttpServer {
 public:
  HttpServer(boost::asio::io_context& io, Handler handler, HttpLimits limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // `address` is an IPv4 or IPv6 address as text; port 0 takes a free one. Returns the port. May be
  // called more than once.
  absl::StatusOr<std::uint16_t> ListenTcp(const std::string& address, std::uint16_t port);

  // A Unix-domain socket (mode 0600; a socket file that nobody answers on is replaced, anything
  // else is not), or on Windows a pipe for its owner, Administrators and SYSTEM. Unix: the file
  // goes away with the server.
  absl::Status ListenLocal(const std::string& path);

  // For tests: one that is open already.
  absl::StatusOr<std::uint16_t> ListenOn(std::shared_ptr<Listener> listener);

  // Asks the handler again for every request it has put on hold.
  void Wake();
  void Close();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::admin
