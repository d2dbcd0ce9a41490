// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/api_carrier_stream.h"

#include <openssl/err.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft::kube {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// Non-blocking calls are never interrupted, so EINTR does not occur.
bool IsLater(const error_code& error) { return error == asio::error::would_block; }

absl::Status Broken(const error_code& error) {
  return absl::UnavailableError(absl::StrCat("the connection broke: ", CauseOf(error)));
}

}  // namespace

std::string CauseOf(const error_code& error) {
  // On Windows the system's messages are in the machine's language and encoding.
  const std::pair<error_code, const char*> known[] = {
      {asio::error::connection_refused, "connection refused"},
      {asio::error::connection_reset, "connection reset by the other side"},
      {asio::error::connection_aborted, "connection aborted"},
      {asio::error::broken_pipe, "connection closed by the other side"},
      {asio::error::shut_down, "connection closed by the other side"},
      {asio::error::timed_out, "no answer"},
      {asio::error::host_unreachable, "host unreachable"},
      {asio::error::network_unreachable, "network unreachable"},
      {asio::error::network_down, "network down"},
      {asio::error::access_denied, "forbidden by this machine"},
      {asio::error::host_not_found, "no such name"},
      {asio::error::host_not_found_try_again, "the name server does not answer"},
      {asio::error::no_data, "the name has no address"},
  };
  for (const auto& [code, text] : known)
    if (error == code) return text;
  return error.message();
}

CarrierStream::CarrierStream(asio::io_context& io) : socket_(io) {}
CarrierStream::~CarrierStream() = default;

// OpenSSL's own socket BIO would raise SIGPIPE, and does not return the cause of an error.
BIO_METHOD* CarrierStream::SocketMethod() {
  static const std::unique_ptr<BIO_METHOD, decltype(&BIO_meth_free)> kMethod = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "asio");
    BIO_meth_set_read_ex(made, &CarrierStream::BioRead);
    BIO_meth_set_write_ex(made, &CarrierStream::BioWrite);
    BIO_meth_set_ctrl(made, &CarrierStream::BioControl);
    return std::unique_ptr<BIO_METHOD, decltype(&BIO_meth_free)>(made, BIO_meth_free);
  }();
  return kMethod.get();
}

int CarrierStream::BioRead(BIO* bio, char* into, std::size_t size, std::size_t* read) {
  auto* const self = static_cast<CarrierStream*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  error_code error;
  *read = self->socket_.receive(asio::buffer(into, size), 0, error);
  if (!error) return 1;
  if (IsLater(error)) {
    BIO_set_retry_read(bio);
  } else if (error == asio::error::eof) {
    self->ended_ = true;
  } else {
    self->error_ = error;
  }
  return 0;
}

int CarrierStream::BioWrite(BIO* bio, const char* bytes, std::size_t size, std::size_t* written) {
  auto* const self = static_cast<CarrierStream*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  error_code error;
  *written = self->socket_.send(asio::buffer(bytes, size), 0, error);
  if (!error) return 1;
  if (IsLater(error)) {
    BIO_set_retry_write(bio);
  } else {
    self->error_ = error;
  }
  return 0;
}

long CarrierStream::BioControl(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF)
    return static_cast<const CarrierStream*>(BIO_get_data(bio))->ended_ ? 1 : 0;
  return 0;
}

void CarrierStream::StartTls(std::unique_ptr<TlsSession> session) {
  tls_ = std::move(session);
  BIO* const bio = BIO_new(SocketMethod());
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(tls_->ssl(), bio, bio);
}

CarrierStream::Outcome CarrierStream::Judge(int result) {
  switch (SSL_get_error(tls_->ssl(), result)) {
    case SSL_ERROR_WANT_READ:
      return Outcome::kWantRead;
    case SSL_ERROR_WANT_WRITE:
      return Outcome::kWantWrite;
    case SSL_ERROR_ZERO_RETURN:
      return Outcome::kEnd;
    default:
      break;
  }
  if (error_) {
    ERR_clear_error();
    failure_ = Broken(error_);
  } else {
    failure_ = tls_->Failure();
  }
  return Outcome::kFailed;
}

CarrierStream::Outcome CarrierStream::Handshake() {
  const int result = SSL_do_handshake(tls_->ssl());
  return result == 1 ? Outcome::kDone : Judge(result);
}

CarrierStream::Progress CarrierStream::PlainProgress(std::size_t bytes, const error_code& error,
                                                     Outcome desired) {
  if (!error) return {Outcome::kDone, bytes};
  if (IsLater(error)) return {desired};
  if (error == asio::error::eof) return {Outcome::kEnd};
  failure_ = Broken(error);
  return {Outcome::kFailed};
}

CarrierStream::Progress CarrierStream::Read(std::span<char> into) {
  if (!tls_) {
    error_code error;
    const std::size_t bytes = socket_.receive(asio::buffer(into.data(), into.size()), 0, error);
    return PlainProgress(bytes, error, Outcome::kWantRead);
  }
  std::size_t bytes = 0;
  const int result = SSL_read_ex(tls_->ssl(), into.data(), into.size(), &bytes);
  if (result == 1) return {Outcome::kDone, bytes};
  return {Judge(result)};
}

CarrierStream::Progress CarrierStream::Write(std::string_view data) {
  if (!tls_) {
    error_code error;
    const std::size_t bytes = socket_.send(asio::buffer(data.data(), data.size()), 0, error);
    return PlainProgress(bytes, error, Outcome::kWantWrite);
  }
  std::size_t bytes = 0;
  const int result = SSL_write_ex(tls_->ssl(), data.data(), data.size(), &bytes);
  if (result == 1) return {Outcome::kDone, bytes};
  return {Judge(result)};
}

void CarrierStream::Close() {
  if (tls_ && failure_.ok() && socket_.is_open()) {
    SSL_shutdown(tls_->ssl());  // does nothing during the handshake
    ERR_clear_error();
  }
  error_code ignored;
  socket_.close(ignored);
}

}  // namespace weft::kube
