// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/api_carrier.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "control/kube/client/api_carrier_request.h"

namespace weft::kube {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Outcome = CarrierStream::Outcome;
using Progress = CarrierStream::Progress;
using std::chrono::milliseconds;

constexpr std::size_t kBuffer = AnswerParser::kHeadLimit + (std::size_t{16} << 10);  // a TLS record
constexpr std::size_t kTurn = std::size_t{1} << 20;  // bytes, before other handlers run

std::string Seconds(milliseconds time) {
  return absl::StrCat(static_cast<double>(time.count()) / 1000, " s");
}

}  // namespace

Carrier::Carrier(asio::io_context& io, CarrierOptions options, HttpRequest request,
                 ExchangeHandler& handler)
    : io_(io),
      options_(std::move(options)),
      request_(std::move(request)),
      handler_(&handler),
      stream_(io),
      resolver_(io),
      dial_timer_(io),
      limit_timer_(io),
      connect_timer_(io),
      exec_timer_(io) {}

Carrier::~Carrier() = default;

void Carrier::ArmDial() {
  Arm(dial_timer_, options_.dial_limit,
      absl::DeadlineExceededError(
          absl::StrCat("no connection within ", Seconds(options_.dial_limit), kCheckServer)));
}

void Carrier::Start() {
  if (options_.limit != milliseconds::max()) {
    Arm(limit_timer_, options_.limit,
        absl::DeadlineExceededError(
            absl::StrCat("no complete answer within ", Seconds(options_.limit))));
  }
  asio::post(io_, [self = shared_from_this()] {
    if (self->over()) return;
    asio::co_spawn(
        self->io_, self->Carry(),
        [self](const std::exception_ptr& thrown, const absl::Status& status) {
          self->Finish(
              thrown ? absl::InternalError("an exception ended the request; check the free memory")
                     : status);
        });
  });
}

void Carrier::Abandon() {
  handler_ = nullptr;
  Close();
}

void Carrier::Arm(Timer& timer, milliseconds time, absl::Status status) {
  timer.expires_after(time);
  timer.async_wait(
      [self = shared_from_this(), status = std::move(status)](const error_code& error) {
        if (!error) self->Finish(status);
      });
}

void Carrier::Finish(const absl::Status& status) {
  ExchangeHandler* const handler = std::exchange(handler_, nullptr);
  Close();
  if (handler == nullptr) return;
  handler->OnEnd(status.ok() ? status
                             : absl::Status(status.code(),
                                            absl::StrCat(options_.server, ": ", status.message())));
}

void Carrier::Close() {
  resolver_.cancel();
  for (Timer* timer : {&dial_timer_, &limit_timer_, &connect_timer_, &exec_timer_}) timer->cancel();
  stream_.Close();
}

bool Carrier::OnHead(const HttpHead& head) {
  dial_timer_.cancel();
  if (head.status != 401) {
    handler_->OnHead(head);
    return !over();
  }
  HttpHead refused = head;
  if (exec_result_ && exec_result_->ok()) {
    options_.exec->Refused(**exec_result_);
    refused.credentials =
        absl::StrCat("what the exec plugin of ", options_.access->origin, " gave");
  } else {
    refused.credentials = DescribeCredentials(*options_.access, absl::Now());
  }
  handler_->OnHead(refused);
  return !over();
}

bool Carrier::OnBody(std::string_view bytes) {
  handler_->OnBody(bytes);
  return !over();
}

Carrier::Task<absl::StatusOr<std::shared_ptr<const ClusterAccess>>> Carrier::Credentials() {
  if (!options_.exec) co_return options_.access;
  exec_timer_.expires_at(Timer::time_point::max());
  // Called at once, or later within another function of the event loop.
  // Weak: the plugin is killed when nothing waits for it any more.
  options_.exec->Get([weak = weak_from_this()](const auto& result) {
    const auto self = weak.lock();
    if (!self) return;
    self->exec_result_ = result;
    self->exec_timer_.cancel();
  });
  if (!exec_result_) co_await exec_timer_.async_wait(kErrorsReturned);
  if (over()) co_return Abandoned();
  if (!exec_result_->ok()) co_return exec_result_->status();
  const ExecCredential& given = ***exec_result_;
  ClusterAccess access = *options_.access;
  access.token.text = given.token;
  access.client_certificate.text = given.client_certificate;
  access.client_key.text = given.client_key;
  co_return std::make_shared<const ClusterAccess>(std::move(access));
}

Carrier::Task<absl::Status> Carrier::Carry() {
  const auto credentials = co_await Credentials();
  if (!credentials.ok()) co_return credentials.status();
  const ClusterAccess& access = **credentials;
  ArmDial();
  const auto authorization = AuthorizationLine(access);
  if (!authorization.ok()) co_return authorization.status();
  std::unique_ptr<TlsSession> session;
  if (access.tls) {
    auto made = TlsSession::Make(access);
    if (!made.ok()) co_return made.status();
    session = *std::move(made);
  }
  const bool by_proxy = access.proxy.has_value();
  dialled_ = true;
  absl::Status status = co_await Dial(by_proxy ? access.proxy->host : access.host,
                                      by_proxy ? access.proxy->port : access.port);
  if (!status.ok()) co_return status;
  buffer_ = std::make_unique_for_overwrite<char[]>(kBuffer);
  if (access.tls) {
    if (by_proxy) status = co_await Tunnel();
    if (!status.ok()) co_return status;
    stream_.StartTls(std::move(session));
    status = co_await Handshake();
    if (!status.ok()) co_return status;
  }
  dial_timer_.cancel();
  if (options_.head_limit) {
    Arm(dial_timer_, *options_.head_limit,
        absl::DeadlineExceededError(
            absl::StrCat("no answer within ", Seconds(*options_.head_limit))));
  }
  status = co_await Send(WriteRequest(request_, access, options_.user_agent, *authorization));
  if (!status.ok()) co_return status;
  AnswerParser parser(AnswerParser::To::kRequest, *this);
  status = co_await Receive(parser);
  co_return status;
}

Carrier::Task<absl::Status> Carrier::Send(std::string bytes) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const Progress sent = stream_.Write(rest);
    if (sent.outcome == Outcome::kDone) {
      rest.remove_prefix(sent.bytes);
      continue;
    }
    const absl::Status waited = co_await Wait(sent.outcome);
    if (!waited.ok()) co_return waited;
  }
  co_return absl::OkStatus();
}

Carrier::Task<absl::Status> Carrier::Receive(AnswerParser& parser) {
  std::size_t held = 0;  // bytes at the start of the buffer that the parser has not consumed
  std::size_t turn = 0;
  for (;;) {
    const Progress got = stream_.Read({buffer_.get() + held, kBuffer - held});
    if (got.outcome == Outcome::kEnd) co_return parser.End();
    if (got.outcome != Outcome::kDone) {
      const absl::Status waited = co_await Wait(got.outcome);
      if (!waited.ok()) co_return waited;
      turn = 0;
      continue;
    }
    const std::size_t size = held + got.bytes;
    const absl::StatusOr<std::size_t> taken = parser.Take({buffer_.get(), size});
    if (over()) co_return Abandoned();
    if (!taken.ok()) co_return taken.status();
    if (parser.done()) co_return absl::OkStatus();
    held = size - *taken;
    std::memmove(buffer_.get(), buffer_.get() + *taken, held);
    turn += got.bytes;
    if (turn < kTurn) continue;
    co_await asio::post(io_, asio::use_awaitable);
    if (over()) co_return Abandoned();
    turn = 0;
  }
}

Carrier::Task<absl::Status> Carrier::Wait(Outcome desired) {
  if (desired == Outcome::kEnd) co_return absl::UnavailableError("it closed the connection");
  if (desired == Outcome::kFailed) co_return stream_.failure();
  const auto kind =
      desired == Outcome::kWantRead ? tcp::socket::wait_read : tcp::socket::wait_write;
  const auto [error] = co_await stream_.socket().async_wait(kind, kErrorsReturned);
  if (over()) co_return Abandoned();
  if (error) co_return absl::UnavailableError("the connection broke: " + CauseOf(error));
  co_return absl::OkStatus();
}

}  // namespace weft::kube
