// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/api_client.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "control/kube/client/api_carrier.h"
#include "control/kube/client/url.h"
#include "control/kube/codec/answer_reader.h"
#include "control/kube/codec/api_status.h"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

// A request that is abandoned without an answer after this many times the limit of a connection was
// not answered in time.
constexpr int kAnswerLimit = 2;
// An answer that ends with an error before this time is no sign of a working server.
constexpr seconds kCutSoon(5);

std::string NameOf(const ClusterAccess& access) {
  return absl::StrCat(access.tls ? "https://" : "http://", HostAndPort(access.host, access.port),
                      access.path, " (", access.origin, ")");
}

// Why another server may answer the same request better than the one that answers so; empty: it may
// not. A 503 with Retry-After is a busy server's.
std::string FaultOf(const HttpRequest& request, const HttpHead& head) {
  constexpr std::string_view kNodes = "/api/v1/nodes";
  const bool all_nodes =
      std::string_view(request.target).substr(0, request.target.find('?')) == kNodes;
  switch (head.status) {
    case 200:
      if (EncodingOf(head.content_type)) return "";
      return absl::StrCat("it answers 200 with the Content-Type ", Quoted(head.content_type),
                          ", not the API's");
    case 404:
      return all_nodes ? absl::StrCat("it answers 404 for ", kNodes) : "";
    case 503:
      if (head.retry_after) return "";
      [[fallthrough]];
    case 500:
    case 502:
      return absl::StrCat("it answers ", head.status);
    default:
      return "";
  }
}

constexpr int kTimeout = 504;
constexpr std::size_t kMostTimeoutText = std::size_t{64} << 10;

}  // namespace

struct ApiClient::Impl {
  Impl(boost::asio::io_context& loop, ClusterServers servers);
  void Failed(std::size_t server, const std::string& why);
  absl::StatusOr<std::string> OpenFallback();

  boost::asio::io_context& io;
  std::vector<std::shared_ptr<const ClusterAccess>> accesses;  // null: not read yet
  std::vector<std::shared_ptr<ExecCredentials>> plugins;       // null: without
  std::function<absl::StatusOr<ClusterAccess>()> fallback;
  ServerChoice choice;
  CarrierOptions options;
  std::function<void(const std::string&)> on_switch;

 private:
  std::vector<ServerChoice::Server> Rows(ClusterServers servers);
};

std::vector<ServerChoice::Server> ApiClient::Impl::Rows(ClusterServers servers) {
  std::vector<ServerChoice::Server> rows;
  for (ClusterAccess& access : servers.servers) {
    rows.push_back({NameOf(access)});
    plugins.push_back(access.exec ? std::make_shared<ExecCredentials>(io, access, absl::Now)
                                  : nullptr);
    accesses.push_back(std::make_shared<const ClusterAccess>(std::move(access)));
  }
  if (servers.fallback) {
    fallback = std::move(servers.fallback);
    accesses.emplace_back();
    plugins.emplace_back();
    rows.push_back({std::move(servers.fallback_name), [this] { return OpenFallback(); }});
  }
  return rows;
}

ApiClient::Impl::Impl(boost::asio::io_context& loop, ClusterServers servers)
    : io(loop), choice(Rows(std::move(servers))) {}

absl::StatusOr<std::string> ApiClient::Impl::OpenFallback() {
  absl::StatusOr<ClusterAccess> access = fallback();
  if (!access.ok()) return access.status();
  accesses.back() = std::make_shared<const ClusterAccess>(*std::move(access));
  return NameOf(*accesses.back());
}

void ApiClient::Impl::Failed(std::size_t server, const std::string& why) {
  if (!choice.Failed(server, why) || !on_switch) return;
  on_switch(absl::StrCat("the API server ", choice.name(server), " failed: ", why, "; ",
                         choice.name(choice.current()), " is used from now on"));
}

namespace {

// Reports to the client what an exchange shows of its server.
class Observed final : public Exchange, private ExchangeHandler {
 public:
  struct Reports {
    std::function<void()> answered;
    std::function<bool(const std::string&)> failed;  // true: another server is used now
  };
  Observed(boost::asio::io_context& io, CarrierOptions options, HttpRequest request,
           ExchangeHandler& handler, Reports reports)
      : handler_(handler),
        reports_(std::move(reports)),
        request_(request),
        server_(options.server),
        limit_(kAnswerLimit * options.dial_limit) {
    carrier_ = std::make_shared<Carrier>(io, std::move(options), std::move(request),
                                         static_cast<ExchangeHandler&>(*this));
    carrier_->Start();
  }
  ~Observed() override {
    carrier_->Abandon();
    JudgeTimeout();
    const auto age = Clock::now() - began_;
    if (ended_ || head_at_ || !carrier_->dialled() || age < limit_) return;
    reports_.failed(
        absl::StrCat("no answer within ", std::chrono::duration_cast<seconds>(age).count(), " s"));
  }
  void Fail(const std::string& why) override { reports_.failed(why); }

 private:
  // The exchange may be destroyed within the handler's functions.
  void OnHead(const HttpHead& head) override {
    head_at_ = Clock::now();
    HttpHead shown = head;
    if (head.status == kTimeout) {
      timeout_ = head;
    } else if (const std::string fault = FaultOf(request_, head); fault.empty()) {
      reports_.answered();
    } else if (reports_.failed(fault)) {
      shown.retry_after.reset();  // of that server
    }
    handler_.OnHead(shown);
  }
  void OnBody(std::string_view bytes) override {
    if (timeout_) timeout_text_.append(bytes.substr(0, kMostTimeoutText - timeout_text_.size()));
    handler_.OnBody(bytes);
  }
  void OnEnd(const absl::Status& status) override {
    ended_ = true;
    JudgeTimeout();
    const bool cut_soon = head_at_ && Clock::now() - *head_at_ < kCutSoon;
    const bool too_late = absl::IsDeadlineExceeded(status);
    if (!status.ok() && carrier_->dialled() && (!head_at_ || cut_soon || too_late)) {
      // The message begins with the server's name.
      std::string_view why = status.message();
      if (why.starts_with(server_)) why.remove_prefix(std::min(server_.size() + 2, why.size()));
      reports_.failed(std::string(why));
    }
    handler_.OnEnd(status);
  }

  // A server whose cache is behind the requested version works. Another one that has this version
  // may have it because it still shows an etcd from before a restore.
  void JudgeTimeout() {
    const std::optional<HttpHead> head = std::exchange(timeout_, std::nullopt);
    if (!head) return;
    if (DecodeApiStatus(head->status, head->content_type, timeout_text_).resource_version_too_large)
      reports_.answered();
    else
      reports_.failed(absl::StrCat("it answers ", head->status));
  }

  ExchangeHandler& handler_;
  const Reports reports_;
  const HttpRequest request_;
  const std::string server_;
  const std::chrono::milliseconds limit_;
  const Clock::time_point began_ = Clock::now();
  std::optional<Clock::time_point> head_at_;
  std::optional<HttpHead> timeout_;  // not judged yet
  std::string timeout_text_;
  bool ended_ = false;
  std::shared_ptr<Carrier> carrier_;
};

}  // namespace

ApiClient::ApiClient(boost::asio::io_context& io, ClusterServers servers, std::string user_agent,
                     std::chrono::milliseconds dial_limit)
    : impl_(std::make_shared<Impl>(io, std::move(servers))) {
  impl_->options.user_agent = std::move(user_agent);
  impl_->options.dial_limit =
      impl_->choice.size() == 1 ? dial_limit : std::min(dial_limit, kDialLimitOfSeveral);
  if (impl_->choice.size() > 1)
    impl_->options.head_limit = kHeadLimitOfSeveral * impl_->options.dial_limit;
  impl_->options.reached = std::make_shared<std::string>();
}

ApiClient::~ApiClient() { impl_->on_switch = nullptr; }

std::unique_ptr<Exchange> ApiClient::Start(HttpRequest request, ExchangeHandler& handler,
                                           std::chrono::milliseconds limit) {
  const std::size_t server = impl_->choice.current();
  CarrierOptions options = impl_->options;
  options.access = impl_->accesses[server];
  options.exec = impl_->plugins[server];
  options.server = impl_->choice.name(server);
  options.limit = limit;
  Observed::Reports reports;
  reports.answered = [impl = impl_, server] { impl->choice.Answered(server); };
  reports.failed = [impl = impl_, server](const std::string& why) {
    impl->Failed(server, why);
    return impl->choice.current() != server;
  };
  return std::make_unique<Observed>(impl_->io, std::move(options), std::move(request), handler,
                                    std::move(reports));
}

std::string ApiClient::Describe() const { return impl_->choice.name(impl_->choice.current()); }

std::vector<ServerState> ApiClient::Servers() const { return impl_->choice.States(); }

void ApiClient::OnSwitch(std::function<void(const std::string&)> on_switch) {
  impl_->on_switch = std::move(on_switch);
}

std::vector<IpAddress> ApiClient::ServerAddresses() const {
  std::vector<std::string> texts;
  for (const auto& access : impl_->accesses)
    if (access) texts.push_back(access->host);
  texts.push_back(*impl_->options.reached);
  std::vector<IpAddress> addresses;
  for (const std::string& text : texts) {
    const auto address = IpAddress::Parse(text.substr(0, text.find('%')));
    if (address && std::find(addresses.begin(), addresses.end(), *address) == addresses.end())
      addresses.push_back(*address);
  }
  return addresses;
}

}  // namespace weft::kube
