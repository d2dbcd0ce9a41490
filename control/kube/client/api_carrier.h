// SPDX-License-Identifier: Apache-2.0
// One exchange, carried over a connection of its own: resolve, connect, proxy, TLS, request,
// answer.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/http1/answer_parser.h"
#include "control/kube/client/api_carrier_stream.h"
#include "control/kube/client/cluster_access.h"
#include "control/kube/client/http_exchange.h"

namespace weft::kube {

// For operations that are awaited: their error is a result.
inline constexpr auto kErrorsReturned = boost::asio::as_tuple(boost::asio::use_awaitable);

struct CarrierOptions {
  std::shared_ptr<const ClusterAccess> access;
  std::string server;  // for people, in front of every error
  std::string user_agent;
  std::chrono::milliseconds dial_limit;
  std::chrono::milliseconds limit;         // milliseconds::max(): none
  std::shared_ptr<std::string> reached{};  // of all exchanges: the address last connected to
};

// Lives as long as its own coroutine does.
using http1::AnswerParser;
using http1::AnswerSink;

class Carrier final : public std::enable_shared_from_this<Carrier>, private AnswerSink {
 public:
  Carrier(boost::asio::io_context& io, CarrierOptions options, HttpRequest request,
          ExchangeHandler& handler);
  ~Carrier() override;

  // Begins once the loop comes round.
  void Start();
  // Nobody wants to hear of it any more.
  void Abandon();

 private:
  using Timer = boost::asio::steady_timer;
  using Endpoint = boost::asio::ip::tcp::endpoint;
  template <class T>
  using Task = boost::asio::awaitable<T>;

  Task<absl::Status> Carry();
  Task<absl::Status> Send(std::string bytes);
  Task<absl::Status> Receive(AnswerParser& parser);
  // Until the stream can go on; an error at once if it cannot.
  Task<absl::Status> Wait(CarrierStream::Outcome desired);

  // api_carrier_dial.cc
  Task<absl::Status> Dial(std::string host, std::uint16_t port);
  Task<absl::StatusOr<std::vector<Endpoint>>> Resolve(std::string host, std::uint16_t port);
  Task<std::string> Connect(Endpoint to, std::chrono::milliseconds limit);
  Task<absl::Status> Tunnel();
  Task<absl::Status> Handshake();

  bool OnHead(const HttpHead& head) override;
  bool OnBody(std::string_view bytes) override;

  void Arm(Timer& timer, std::chrono::milliseconds time, absl::Status status);
  void Finish(const absl::Status& status);
  void Close();
  bool over() const { return handler_ == nullptr; }
  static absl::Status NobodyListens() { return absl::CancelledError("nobody listens"); }

  boost::asio::io_context& io_;
  const CarrierOptions options_;
  const HttpRequest request_;
  ExchangeHandler* handler_;  // null: it is over, or nobody listens
  CarrierStream stream_;
  boost::asio::ip::tcp::resolver resolver_;
  Timer dial_timer_, limit_timer_, connect_timer_;
  std::size_t attempt_ = 0;  // connections begun
  bool late_ = false;        // the current one took too long
  std::unique_ptr<char[]> buffer_;
};

}  // namespace weft::kube
