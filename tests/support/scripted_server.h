// SPDX-License-Identifier: Apache-2.0
// An HTTP server on a loopback port of its own, with or without TLS, that answers what the test
// wrote down, in the pieces and with the ending that the test wants. One thread: the io_context's.
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
  kClose,  // as TLS wants it
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
    std::string greeting = {};              // said before anything is asked, without TLS
    bool tls_1_1 = false;                   // speaks nothing newer
    // A proxy: this is what the first request, which must be a CONNECT, is answered. What follows
    // is for the server behind it, which is this one too.
    std::string connect_answer = {};
    std::string address = "127.0.0.1";
  };

  ScriptedServer(boost::asio::io_context& io, Options options);
  ~ScriptedServer();

  std::uint16_t port() const;
  // What the next connection that has no answer yet is answered.
  void Answer(ScriptedAnswer answer);
  // As they came, heads with bodies; CONNECT among them.
  const std::vector<std::string>& requests() const;
  // That the client of the last TLS handshake named (RFC 6066 section 3).
  const std::string& server_name() const;
  int connections() const;
  int open_connections() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::testing
