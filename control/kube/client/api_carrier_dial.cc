// SPDX-License-Identifier: Apache-2.0
// The connection to the server: everything before the request.
#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/kube/client/api_carrier.h"
#include "control/kube/client/api_carrier_request.h"
#include "control/kube/client/api_carrier_system.h"
#include "control/kube/client/url.h"

namespace weft::kube {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Outcome = CarrierStream::Outcome;
using std::chrono::milliseconds;

constexpr milliseconds kShortestTry = std::chrono::seconds(2);  // of one address among several
constexpr std::size_t kMostTriesNamed = 4;

class ProxyAnswer final : public AnswerSink {
 public:
  bool OnHead(const HttpHead& head) override {
    status = head.status;
    return true;
  }
  bool OnBody(std::string_view) override { return true; }
  int status = 0;
};

}  // namespace

Carrier::Task<absl::StatusOr<std::vector<tcp::endpoint>>> Carrier::Resolve(std::string host,
                                                                           std::uint16_t port) {
  error_code not_literal;
  const auto literal = asio::ip::make_address(host, not_literal);
  if (!not_literal) co_return std::vector<tcp::endpoint>{{literal, port}};
  const auto [error, found] = co_await resolver_.async_resolve(
      host, std::to_string(port), tcp::resolver::numeric_service, kErrorsReturned);
  if (over()) co_return Abandoned();
  if (error) {
    co_return absl::UnavailableError(
        absl::StrCat("no address of ", host, " can be found: ", CauseOf(error),
                     "; correct the name, or check this machine's DNS"));
  }
  std::vector<tcp::endpoint> all;
  for (const auto& entry : found) all.push_back(entry.endpoint());
  co_return all;
}

// Empty: connected. Otherwise the cause.
Carrier::Task<std::string> Carrier::Connect(tcp::endpoint to, milliseconds limit) {
  tcp::socket& socket = stream_.socket();
  error_code error;
  socket.close(error);
  socket.open(to.protocol(), error);
  if (!error) socket.non_blocking(true, error);
  if (error) co_return CauseOf(error);
  socket.set_option(tcp::no_delay(true), error);
  KeepAlive(socket);
  late_ = false;
  connect_timer_.expires_after(limit);
  connect_timer_.async_wait([self = shared_from_this(), attempt = ++attempt_](const error_code&) {
    if (attempt != self->attempt_) return;
    self->late_ = true;
    error_code ignored;
    self->stream_.socket().close(ignored);
  });
  const auto [result] = co_await socket.async_connect(to, kErrorsReturned);
  ++attempt_;
  connect_timer_.cancel();
  if (late_) co_return "no answer";
  co_return result ? CauseOf(result) : std::string();
}

Carrier::Task<absl::Status> Carrier::Dial(std::string host, std::uint16_t port) {
  const std::string proxy =
      options_.access->proxy ? absl::StrCat("proxy ", HostAndPort(host, port), ": ") : "";
  const auto found = co_await Resolve(host, port);
  if (over()) co_return Abandoned();
  if (!found.ok())
    co_return absl::Status(found.status().code(), absl::StrCat(proxy, found.status().message()));
  std::vector<std::string> tries;
  for (std::size_t i = 0; i < found->size(); ++i) {
    // Limits each try, so that an address that does not answer leaves time for the others.
    const auto rest =
        std::chrono::duration_cast<milliseconds>(dial_timer_.expiry() - Timer::clock_type::now());
    const auto share = rest / static_cast<int>(found->size() - i);
    const std::string cause = co_await Connect((*found)[i], std::max(share, kShortestTry));
    if (over()) co_return Abandoned();
    if (cause.empty()) {
      if (options_.reached) *options_.reached = (*found)[i].address().to_string();
      co_return absl::OkStatus();
    }
    const std::string address = (*found)[i].address().to_string();
    tries.push_back(address == host ? cause : absl::StrCat(address, ": ", cause));
  }
  if (tries.size() > kMostTriesNamed) {
    tries.resize(kMostTriesNamed);
    tries.push_back("and so on");
  }
  co_return absl::UnavailableError(absl::StrCat(
      proxy, absl::StrJoin(tries, ", "),
      proxy.empty() ? kCheckServer : "; check that it runs and that no firewall blocks it"));
}

Carrier::Task<absl::Status> Carrier::Tunnel() {
  const ClusterAccess& access = *options_.access;
  const std::string proxy =
      absl::StrCat("proxy ", HostAndPort(access.proxy->host, access.proxy->port), ": ");
  absl::Status status = co_await Send(WriteConnect(access, options_.user_agent));
  ProxyAnswer answer;
  if (status.ok()) {
    AnswerParser parser(AnswerParser::To::kConnect, answer);
    status = co_await Receive(parser);
  }
  if (!status.ok()) co_return absl::Status(status.code(), absl::StrCat(proxy, status.message()));
  if (answer.status / 100 == 2) co_return absl::OkStatus();
  co_return absl::UnavailableError(
      absl::StrCat(proxy, "it refuses a connection to ", HostAndPort(access.host, access.port),
                   " with HTTP status ", answer.status,
                   answer.status == 407 ? "; give a user name and password in the proxy's URL"
                                        : "; allow it there, or name the API server in NO_PROXY"));
}

Carrier::Task<absl::Status> Carrier::Handshake() {
  for (;;) {
    const Outcome outcome = stream_.Handshake();
    if (outcome == Outcome::kDone) co_return absl::OkStatus();
    const absl::Status waited = co_await Wait(outcome);
    if (!waited.ok()) co_return waited;
  }
}

}  // namespace weft::kube
