// SPDX-License-Identifier: Apache-2.0
// Stream sockets of any kind as ByteStream and Listener. Internal. asio::generic keeps TCP and
// Unix-domain sockets one type.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "control/admin/byte_stream.h"

namespace weft::admin {

// `Stream` is an Asio stream: a socket, or a Windows pipe handle.
template <class Stream>
class AsioByteStream : public ByteStream {
 public:
  explicit AsioByteStream(Stream stream) : stream_(std::move(stream)) {}

  boost::asio::awaitable<std::size_t> Read(std::span<char> into) override {
    auto [error, size] =
        co_await stream_.async_read_some(boost::asio::buffer(into.data(), into.size()), kNoThrow);
    co_return error ? 0 : size;
  }
  boost::asio::awaitable<bool> Write(std::string_view bytes) override {
    auto [error, size] =
        co_await boost::asio::async_write(stream_, boost::asio::buffer(bytes), kNoThrow);
    co_return !error;
  }
  void FinishWriting() override {}
  void Close() override {
    boost::system::error_code ignored;
    stream_.close(ignored);
  }

 protected:
  static constexpr auto kNoThrow = boost::asio::as_tuple(boost::asio::use_awaitable);
  Stream stream_;
};

class SocketStream : public AsioByteStream<boost::asio::generic::stream_protocol::socket> {
 public:
  using AsioByteStream::AsioByteStream;
  void FinishWriting() override {
    boost::system::error_code ignored;
    stream_.shutdown(boost::asio::socket_base::shutdown_send, ignored);
  }
};

class SocketListener : public Listener {
 public:
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;
  SocketListener(Acceptor acceptor, std::uint16_t port)
      : acceptor_(std::move(acceptor)), port_(port) {}

  boost::asio::awaitable<std::shared_ptr<ByteStream>> Accept() override {
    auto [error, socket] =
        co_await acceptor_.async_accept(boost::asio::as_tuple(boost::asio::use_awaitable));
    if (error) co_return nullptr;
    co_return std::make_shared<SocketStream>(std::move(socket));
  }
  void Close() override {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
  }
  std::uint16_t port() const override { return port_; }

 private:
  Acceptor acceptor_;
  std::uint16_t port_;
};

}  // namespace weft::admin
