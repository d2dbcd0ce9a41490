// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_api_listener.h"

#include <array>
#include <boost/asio.hpp>
#include <cstdio>
#include <set>
#include <string>
#include <utility>

namespace weft::testing {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::ip::tcp;

constexpr auto kNoThrow = asio::as_tuple(asio::use_awaitable);
// The interval at which an open watch is polled for events.
constexpr std::chrono::milliseconds kPollPeriod{1};

// For a head without a body.
kube::HttpRequest RequestOf(const std::string& head) {
  kube::HttpRequest request;
  const std::size_t space = head.find(' ');
  request.method = head.substr(0, space);
  request.target = head.substr(space + 1, head.find(' ', space + 1) - space - 1);
  constexpr std::string_view kAccept = "\r\nAccept: ";
  const std::size_t accept = head.find(kAccept) + kAccept.size();
  request.accept = head.substr(accept, head.find("\r\n", accept) - accept);
  return request;
}

std::string HeadText(const kube::HttpHead& head) {
  std::string text = "HTTP/1.1 " + std::to_string(head.status) +
                     " said so\r\nContent-Type: " + head.content_type +
                     "\r\nTransfer-Encoding: chunked\r\n";
  if (head.retry_after)
    text += "Retry-After: " + std::to_string(head.retry_after->count()) + "\r\n";
  return text + "\r\n";
}

std::string Chunk(const std::string& bytes) {
  std::array<char, 20> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
  return size.data() + bytes + "\r\n";
}

}  // namespace

struct FakeApiListener::Impl : std::enable_shared_from_this<Impl> {
  Impl(asio::io_context& context, FakeApiServer& its_server)
      : io(context),
        server(its_server),
        acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {}

  static awaitable<void> Accept(std::shared_ptr<Impl> self) {
    for (;;) {
      auto [error, socket] = co_await self->acceptor.async_accept(kNoThrow);
      if (error) co_return;
      if (self->away) continue;
      socket.set_option(tcp::no_delay(true));
      asio::co_spawn(self->io, Serve(self, std::move(socket)), asio::detached);
    }
  }

  static awaitable<void> Serve(std::shared_ptr<Impl> self, tcp::socket socket) {
    self->open.insert(&socket);
    co_await Answer(*self, socket);
    self->open.erase(&socket);
  }

  static awaitable<void> Answer(Impl& self, tcp::socket& socket) {
    std::string head;
    const auto [unread, size] =
        co_await asio::async_read_until(socket, asio::dynamic_buffer(head), "\r\n\r\n", kNoThrow);
    if (unread) co_return;
    const std::unique_ptr<FakeAnswer> answer = self.server.Serve(RequestOf(head));
    std::string out = HeadText(answer->head);
    asio::steady_timer timer(self.io);
    while (socket.is_open()) {
      for (const std::string& part : answer->Take()) out += Chunk(part);
      const bool ended = answer->ended();
      if (ended) out += "0\r\n\r\n";
      const auto [unwritten, written] =
          co_await asio::async_write(socket, asio::buffer(out), kNoThrow);
      if (unwritten || ended) co_return;
      out.clear();
      timer.expires_after(kPollPeriod);
      co_await timer.async_wait(kNoThrow);
    }
  }

  void CutAll() {
    for (tcp::socket* socket : open) {
      boost::system::error_code ignored;
      socket->close(ignored);
    }
  }

  asio::io_context& io;
  FakeApiServer& server;
  tcp::acceptor acceptor;
  std::set<tcp::socket*> open;
  bool away = false;
};

FakeApiListener::FakeApiListener(asio::io_context& io, FakeApiServer& server)
    : impl_(std::make_shared<Impl>(io, server)) {
  asio::co_spawn(io, Impl::Accept(impl_), asio::detached);
}

FakeApiListener::~FakeApiListener() {
  impl_->acceptor.close();
  impl_->CutAll();
}

std::uint16_t FakeApiListener::port() const { return impl_->acceptor.local_endpoint().port(); }

void FakeApiListener::GoAway() {
  impl_->away = true;
  impl_->CutAll();
}

void FakeApiListener::Resume() { impl_->away = false; }

}  // namespace weft::testing
