// SPDX-License-Identifier: Apache-2.0
// One exchange on a connection of its own: resolve, connect, proxy, TLS, request, answer.
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
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/http1/answer_parser.h"
#include "control/kube/client/api_carrier_stream.h"
#include "control/kube/client/cluster_access.h"
#include "control/kube/client/exec_credentials.h"
#include "control/kube/client/http_exchange.h"

namespace weft::kube {

// For operations that are awaited: their error is a result.
inline constexpr auto kErrorsReturned = boost::asio::as_tuple(boost::asio::use_awaitable);

// The next step where no connection comes about.
inline constexpr char kCheckServer[] =
    "; check that the API server runs, that no firewall blocks it and, where this is the address "
    "of the Service kubernetes, that kube-proxy runs on this node";

struct CarrierOptions {
  std::shared_ptr<const ClusterAccess> access;
  std::string server;  // for people, in front of every error
  std::string user_agent;
  std::chrono::milliseconds dial_limit;
  std::chrono::milliseconds limit;  // milliseconds::max(): none
  // From the request until the answer begins; empty: no limit.
  std::optional<std::chrono::milliseconds> head_limit{};
  std::shared_ptr<ExecCredentials> exec{};  // if `access` has a plugin
  std::shared_ptr<std::string> reached{};   // shared by all exchanges: the last connected address
};

// Exists as long as its coroutine.
using http1::AnswerParser;
using http1::AnswerSink;

class Carrier final : public std::enable_shared_from_this<Carrier>, private AnswerSink {
 public:
  Carrier(boost::asio::io_context& io, CarrierOptions options, HttpRequest request,
          ExchangeHandler& handler);
  ~Carrier() override;

  // Starts in the next iteration of the event loop.
  void Start();
  // Ends the exchange without calling the handler.
  void Abandon();
  // The credentials could be read, and a connection was tried.
  bool dialled() const { return dialled_; }

 private:
  using Timer = boost::asio::steady_timer;
  using Endpoint = boost::asio::ip::tcp::endpoint;
  template <class T>
  using Task = boost::asio::awaitable<T>;

  Task<absl::Status> Carry();
  Task<absl::Status> Send(std::string bytes);
  Task<absl::Status> Receive(AnswerParser& parser);
  // Waits until the stream is ready; returns an error at once if it has failed.
  Task<absl::Status> Wait(CarrierStream::Outcome desired);

  // The server's access with the credentials of this exchange.
  Task<absl::StatusOr<std::shared_ptr<const ClusterAccess>>> Credentials();

  // api_carrier_dial.cc
  Task<absl::Status> Dial(std::string host, std::uint16_t port);
  Task<absl::StatusOr<std::vector<Endpoint>>> Resolve(std::string host, std::uint16_t port);
  Task<std::string> Connect(Endpoint to, std::chrono::milliseconds limit);
  Task<absl::Status> Tunnel();
  Task<absl::Status> Handshake();

  bool OnHead(const HttpHead& head) override;
  bool OnBody(std::string_view bytes) override;

  void ArmDial();
  void Arm(Timer& timer, std::chrono::milliseconds time, absl::Status status);
  void Finish(const absl::Status& status);
  void Close();
  bool over() const { return handler_ == nullptr; }
  static absl::Status Abandoned() { return absl::CancelledError("the request was abandoned"); }

  boost::asio::io_context& io_;
  const CarrierOptions options_;
  const HttpRequest request_;
  ExchangeHandler* handler_;  // null: finished or abandoned
  CarrierStream stream_;
  boost::asio::ip::tcp::resolver resolver_;
  Timer dial_timer_, limit_timer_, connect_timer_, exec_timer_;
  std::optional<absl::StatusOr<ExecCredentials::Credential>> exec_result_;
  std::size_t attempt_ = 0;  // number of connection attempts
  bool dialled_ = false;
  bool late_ = false;  // the current attempt timed out
  std::unique_ptr<char[]> buffer_;
};

}  // namespace weft::kube
