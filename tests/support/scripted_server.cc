// SPDX-License-Identifier: Apache-2.0
#include "tests/support/scripted_server.h"

#include <algorithm>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <deque>
#include <utility>

namespace weft::testing {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::ip::tcp;

constexpr auto kNoThrow = asio::as_tuple(asio::use_awaitable);

std::size_t BodySize(const std::string& head) {
  constexpr std::string_view kField = "\r\nContent-Length: ";
  const std::size_t at = head.find(kField);
  return at == std::string::npos ? 0 : std::stoul(head.substr(at + kField.size()));
}

}  // namespace

struct ScriptedServer::Impl : std::enable_shared_from_this<Impl> {
  Impl(asio::io_context& context, Options desired)
      : io(context),
        options(std::move(desired)),
        acceptor(io, tcp::endpoint(asio::ip::make_address(options.address), 0)),
        tls(asio::ssl::context::tls_server) {
    if (!options.identity) return;
    tls.use_certificate_chain(asio::buffer(options.identity->certificate));
    tls.use_private_key(asio::buffer(options.identity->key), asio::ssl::context::pem);
    if (!options.client_ca.empty()) {
      tls.add_certificate_authority(asio::buffer(options.client_ca));
      tls.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
    }
    if (options.tls_1_1) {
      SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_VERSION);
      SSL_CTX_set_max_proto_version(tls.native_handle(), TLS1_1_VERSION);
      SSL_CTX_set_cipher_list(tls.native_handle(), "ALL:@SECLEVEL=0");
    }
  }

  static awaitable<void> Accept(std::shared_ptr<Impl> self) {
    for (;;) {
      auto [error, socket] = co_await self->acceptor.async_accept(kNoThrow);
      if (error) co_return;
      ++self->connections;
      socket.set_option(tcp::no_delay(true));
      asio::co_spawn(self->io, Serve(self, std::move(socket)), asio::detached);
    }
  }

  static awaitable<void> Serve(std::shared_ptr<Impl> self, tcp::socket socket) {
    ++self->open;
    if (self->options.silent) {
      asio::steady_timer never(self->io, asio::steady_timer::time_point::max());
      self->holding.push_back(&never);
      co_await never.async_wait(kNoThrow);
      std::erase(self->holding, &never);
    } else {
      co_await Converse(*self, socket);
    }
    --self->open;
  }

  static awaitable<void> Converse(Impl& self, tcp::socket& socket) {
    bool refused = false;
    if (!self.options.greeting.empty())
      co_await asio::async_write(socket, asio::buffer(self.options.greeting), kNoThrow);
    if (!self.options.connect_answer.empty()) {
      if (!co_await ReadRequest(self, socket)) co_return;
      co_await asio::async_write(socket, asio::buffer(self.options.connect_answer), kNoThrow);
      refused = self.options.connect_answer.find(" 200") == std::string::npos;
    }
    if (refused) co_return;
    if (!self.options.identity) {
      co_await Answer(self, socket, socket);
      co_return;
    }
    asio::ssl::stream<tcp::socket&> stream(socket, self.tls);
    const auto [error] = co_await stream.async_handshake(asio::ssl::stream_base::server, kNoThrow);
    if (error) co_return;
    const char* const name = SSL_get_servername(stream.native_handle(), TLSEXT_NAMETYPE_host_name);
    self.server_name = name == nullptr ? "" : name;
    const Ending ending = co_await Answer(self, stream, socket);
    if (ending == Ending::kClose) co_await stream.async_shutdown(kNoThrow);
  }

  template <class Stream>
  static awaitable<bool> ReadRequest(Impl& self, Stream& stream) {
    std::string text;
    const auto [error, head] =
        co_await asio::async_read_until(stream, asio::dynamic_buffer(text), "\r\n\r\n", kNoThrow);
    if (error) co_return false;
    const std::size_t size = head + BodySize(text.substr(0, head));
    if (size > text.size()) {
      const auto [failed, read] = co_await asio::async_read(
          stream, asio::dynamic_buffer(text), asio::transfer_exactly(size - text.size()), kNoThrow);
      if (failed) co_return false;
    }
    self.requests.push_back(text);
    co_return true;
  }

  template <class Stream>
  static awaitable<Ending> Answer(Impl& self, Stream& stream, tcp::socket& socket) {
    if (!co_await ReadRequest(self, stream)) co_return Ending::kCut;
    ScriptedAnswer answer{"HTTP/1.1 500 nothing written down\r\nContent-Length: 0\r\n\r\n"};
    if (!self.answers.empty()) {
      answer = std::move(self.answers.front());
      self.answers.pop_front();
    }
    const std::size_t piece = answer.piece == 0 ? answer.bytes.size() : answer.piece;
    for (std::size_t at = 0; at < answer.bytes.size(); at += piece) {
      const std::size_t size = std::min(piece, answer.bytes.size() - at);
      const auto [error, written] = co_await asio::async_write(
          stream, asio::buffer(answer.bytes.data() + at, size), kNoThrow);
      if (error) co_return Ending::kCut;
    }
    if (answer.ending == Ending::kReset) {
      socket.set_option(asio::socket_base::linger(true, 0));
      socket.close();  // the destructor would see to it that nothing is lost
    }
    if (answer.ending == Ending::kHold) {
      char unused = 0;
      co_await stream.async_read_some(asio::buffer(&unused, 1), kNoThrow);
    }
    co_return answer.ending;
  }

  void Close() {
    acceptor.close();
    for (asio::steady_timer* timer : holding) timer->cancel();
  }

  asio::io_context& io;
  const Options options;
  tcp::acceptor acceptor;
  asio::ssl::context tls;
  std::deque<ScriptedAnswer> answers;
  std::vector<std::string> requests;
  std::string server_name;
  std::vector<asio::steady_timer*> holding;
  int connections = 0;
  int open = 0;
};

ScriptedServer::ScriptedServer(asio::io_context& io, Options options)
    : impl_(std::make_shared<Impl>(io, std::move(options))) {
  asio::co_spawn(io, Impl::Accept(impl_), asio::detached);
}

ScriptedServer::~ScriptedServer() { impl_->Close(); }

std::uint16_t ScriptedServer::port() const { return impl_->acceptor.local_endpoint().port(); }
void ScriptedServer::Answer(ScriptedAnswer answer) { impl_->answers.push_back(std::move(answer)); }
const std::vector<std::string>& ScriptedServer::requests() const { return impl_->requests; }
const std::string& ScriptedServer::server_name() const { return impl_->server_name; }
int ScriptedServer::connections() const { return impl_->connections; }
int ScriptedServer::open_connections() const { return impl_->open; }

}  // namespace weft::testing
