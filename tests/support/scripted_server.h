// SPDX-License-Identifier: Apache-2.0
// An HTTP server on its own loopback port, with or without TLS, that sends the test's answers in
// the pieces and with the ending that the test chooses. One thread: the io_context's.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/certificates.h"

namespace weft::testing {

enum class Ending {
  kClose,  // with TLS's close_notify
  kCut,    // without TLS's farewell
  kReset,
  kHold,  // the connection stays open
};

struct ScriptedAnswer {
  std::string bytes;
  std::size_t piece = 0;  // bytes written at once; 0: all
  Ending ending = Ending::kClose;
};

class ScriptedServer {
 public:
  struct Options {
    std::optional<Identity> identity = {};  // without: no TLS
    std::string client_ca = {};             // PEM: clients must show a certificate that it signed
    bool silent = false;                    // accepts, and neither reads nor writes
    std::string greeting = {};              // sent before any request, without TLS
    bool tls_1_1 = false;                   // supports nothing newer
    // A proxy: the answer to the first request, which must be a CONNECT. Later bytes are for the
    // origin server, which is this one too.
    std::string connect_answer = {};
    std::string address = "127.0.0.1";
  };

  ScriptedServer(boost::asio::io_context& io, Options options);
  ~ScriptedServer();

  std::uint16_t port() const;
  // The answer for the next connection that has none yet.
  void Answer(ScriptedAnswer answer);
  // In order of arrival, heads with bodies; including CONNECT.
  const std::vector<std::string>& requests() const;
  // The server name in the last TLS handshake (RFC 6066 section 3).
  const std::string& server_name() const;
  int connections() const;
  int open_connections() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::testing
