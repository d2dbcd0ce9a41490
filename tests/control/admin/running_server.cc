// SPDX-License-Identifier: Apache-2.0
#include "tests/control/admin/running_server.h"

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "control/admin/byte_stream.h"
#include "control/admin/endpoint.h"
#include "control/admin/local_connection.h"

namespace weft::admin {

namespace asio = boost::asio;

TemporaryFolder::TemporaryFolder() {
  std::random_device random;
  do {
    path_ = std::filesystem::temp_directory_path() / ("weft-test-" + std::to_string(random()));
  } while (!std::filesystem::create_directory(path_));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::Endpoint(std::string_view name) const {
  const std::string pipes = R"(\\.\pipe\)";
  if (!DefaultEndpoint().starts_with(pipes)) return (path_ / name).string();
  return pipes + path_.filename().string() + "-" + std::string(name);
}

struct RunningServer::Impl {
  asio::io_context io;
  std::optional<HttpServer> server;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  std::thread thread;
};

RunningServer::RunningServer(Handler handler, HttpLimits limits)
    : endpoint_(folder_.Endpoint()), impl_(std::make_unique<Impl>()) {
  impl_->server.emplace(impl_->io, std::move(handler), limits);
  const absl::Status local = impl_->server->ListenLocal(endpoint_);
  const absl::StatusOr<std::uint16_t> port = impl_->server->ListenTcp("127.0.0.1", 0);
  if (!local.ok() || !port.ok()) {
    std::fprintf(stderr, "%s %s\n", local.ToString().c_str(), port.status().ToString().c_str());
    std::abort();
  }
  tcp_port_ = *port;
  impl_->work.emplace(impl_->io.get_executor());
  impl_->thread = std::thread([this] { impl_->io.run(); });
}

RunningServer::~RunningServer() {
  Do([this](HttpServer&) {
    impl_->server.reset();
    impl_->work.reset();
  });
  impl_->thread.join();
}

void RunningServer::Do(const std::function<void(HttpServer&)>& action) {
  std::promise<void> done;
  asio::post(impl_->io, [&] {
    action(*impl_->server);
    done.set_value();
  });
  done.get_future().wait();
}

struct RawServer::Impl {
  asio::io_context io;
  std::shared_ptr<Listener> listener;
  std::thread thread;

  static asio::awaitable<void> AnswerOne(std::shared_ptr<Listener> listener, std::string bytes) {
    const std::shared_ptr<ByteStream> stream = co_await listener->Accept();
    if (!stream) co_return;
    std::array<char, 4096> request;
    co_await stream->Read(request);
    co_await stream->Write(bytes);
    stream->FinishWriting();
    stream->Close();
  }
};

RawServer::RawServer(std::string bytes)
    : endpoint_(folder_.Endpoint("raw.sock")), impl_(std::make_unique<Impl>()) {
  auto listener = OpenLocalListener(impl_->io, endpoint_);
  if (!listener.ok()) {
    std::fprintf(stderr, "%s\n", listener.status().ToString().c_str());
    std::abort();
  }
  impl_->listener = *listener;
  asio::co_spawn(impl_->io, Impl::AnswerOne(impl_->listener, std::move(bytes)), asio::detached);
  impl_->thread = std::thread([this] { impl_->io.run(); });
}

RawServer::~RawServer() {
  asio::post(impl_->io, [this] { impl_->listener->Close(); });
  impl_->thread.join();
}

std::string RawExchange(const std::string& endpoint, std::string_view bytes) {
  const auto connection = ConnectLocal(endpoint, std::chrono::seconds(30));
  if (!connection.ok()) return connection.status().ToString();
  if (absl::Status status = (*connection)->Write(bytes); !status.ok()) return status.ToString();
  std::string all;
  std::array<char, 4096> buffer;
  for (;;) {
    const absl::StatusOr<std::size_t> size = (*connection)->Read(buffer);
    if (!size.ok()) return all + size.status().ToString();
    if (*size == 0) return all;
    all.append(buffer.data(), *size);
    // A pipe's end is only seen once this side closes: the whole answer has arrived.
    if (endpoint.starts_with('\\')) return all;
  }
}

std::string RawTcpExchange(std::uint16_t port, std::string_view bytes) {
  asio::io_context io;
  asio::ip::tcp::socket socket(io);
  boost::system::error_code error;
  socket.connect({asio::ip::address_v4::loopback(), port}, error);
  if (!error) asio::write(socket, asio::buffer(bytes), error);
  std::string all;
  if (!error) asio::read(socket, asio::dynamic_buffer(all), error);
  return error == asio::error::eof ? all : all + error.message();
}

}  // namespace weft::admin
