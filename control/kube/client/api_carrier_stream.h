// SPDX-License-Identifier: Apache-2.0
// A non-blocking TCP connection, plain at first, optionally with TLS later.
#pragma once

#include <openssl/bio.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "control/kube/client/api_carrier_tls.h"

namespace weft::kube {

// "connection refused": our own text for common errors, else the system's.
std::string CauseOf(const boost::system::error_code& error);

class CarrierStream {
 public:
  enum class Outcome : std::uint8_t {
    kDone,
    kWantRead,   // again once the socket is readable
    kWantWrite,  // again once it is writable
    kEnd,        // the other side has closed its direction
    kFailed,     // see failure()
  };
  struct Progress {
    Outcome outcome = Outcome::kFailed;
    std::size_t bytes = 0;  // with kDone: at least one
  };

  explicit CarrierStream(boost::asio::io_context& io);
  ~CarrierStream();
  CarrierStream(const CarrierStream&) = delete;
  CarrierStream& operator=(const CarrierStream&) = delete;

  boost::asio::ip::tcp::socket& socket() { return socket_; }
  // From now on all data goes through `session`; call Handshake first.
  void StartTls(std::unique_ptr<TlsSession> session);
  Outcome Handshake();
  Progress Read(std::span<char> into);
  Progress Write(std::string_view bytes);
  const absl::Status& failure() const { return failure_; }
  // Sends TLS's close_notify if that does not block, and closes.
  void Close();

 private:
  static BIO_METHOD* SocketMethod();
  static int BioRead(BIO* bio, char* into, std::size_t size, std::size_t* read);
  static int BioWrite(BIO* bio, const char* bytes, std::size_t size, std::size_t* written);
  static long BioControl(BIO* bio, int command, long, void*);
  // The outcome of a call that failed or must be repeated.
  Outcome Judge(int result);
  Progress PlainProgress(std::size_t bytes, const boost::system::error_code& error,
                         Outcome desired);

  boost::asio::ip::tcp::socket socket_;
  std::unique_ptr<TlsSession> tls_;
  bool ended_ = false;               // no more bytes will come
  boost::system::error_code error_;  // of the socket
  absl::Status failure_;
};

}  // namespace weft::kube
