// SPDX-License-Identifier: Apache-2.0
#include "tests/emulated_host/remote_host.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft::emulator {
namespace {

using hns::emulator::RemoteClient;
using hns::emulator::RequestKind;
using hns::emulator::Stream;

constexpr auto kDialAgain = std::chrono::seconds(1);

absl::Status FailureOf(const hns::Reply& reply, const RemoteClient& client) {
  const std::string start =
      absl::StrCat("; start one: flannelctl hns emulate --listen ", client.path());
  if (reply.code == hns::hresult::kNoMoreEndpoints)
    return absl::UnavailableError(
        absl::StrCat("host emulator: no server at ", client.path(), start));
  if (reply.code == hns::hresult::kRpcCallFailed)
    return absl::UnavailableError(
        absl::StrCat("host emulator: the one at ", client.path(), " ended during a call", start));
  return absl::UnimplementedError(absl::StrCat(
      "host emulator: ", client.path(), " serves no host", reply.error_record.empty() ? "" : ": ",
      reply.error_record, "; use programs of one version of weft"));
}

}  // namespace

// A connection that receives notices, and its thread.
class RemoteHost::RemoteWatch final : public host::Watch {
 public:
  RemoteWatch(std::shared_ptr<RemoteClient> client, std::unique_ptr<Stream> stream,
              std::function<void()> changed)
      : client_(std::move(client)), changed_(std::move(changed)), stream_(std::move(stream)) {
    thread_ = std::thread([this] { Run(); });
  }
  ~RemoteWatch() override {
    {
      const std::scoped_lock lock(mutex_);
      ending_ = true;
      if (stream_) stream_->Shutdown();
    }
    wake_.notify_one();
    thread_.join();
  }

  static std::pair<hns::Reply, std::unique_ptr<Stream>> Connect(RemoteClient& client) {
    return client.Begin({RequestKind::kWatchHost, {}});
  }

 private:
  void Run() {
    for (;;) {
      if (stream_) {
        while (hns::emulator::ReadDocument(*stream_).ok()) Notify();
        Put(nullptr);
        Notify();
      }
      if (!Pause()) return;
      std::unique_ptr<Stream> stream = Connect(*client_).second;
      if (!stream) continue;
      Put(std::move(stream));
      Notify();  // changes may have been missed
    }
  }

  void Put(std::unique_ptr<Stream> stream) {
    const std::scoped_lock lock(mutex_);
    stream_ = std::move(stream);
    if (stream_ && ending_) stream_->Shutdown();
  }
  // False: the watch ends.
  bool Pause() {
    std::unique_lock lock(mutex_);
    return !wake_.wait_for(lock, kDialAgain, [this] { return ending_; });
  }
  void Notify() {
    {
      const std::scoped_lock lock(mutex_);
      if (ending_) return;
    }
    changed_();
  }

  const std::shared_ptr<RemoteClient> client_;
  const std::function<void()> changed_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;             // guarded by mutex_
  std::unique_ptr<Stream> stream_;  // only thread_ changes it, under mutex_
  std::thread thread_;
};

RemoteHost::RemoteHost(std::string path)
    : client_(std::make_shared<RemoteClient>(std::move(path))) {}

HostAnswer RemoteHost::Send(const HostCall& call) {
  const hns::Reply reply = client_->Send({RequestKind::kHost, {.text = Encode(call)}});
  absl::StatusOr<HostAnswer> answer =
      reply.ok() ? ParseHostAnswer(reply.text) : FailureOf(reply, *client_);
  if (answer.ok()) return *std::move(answer);
  HostAnswer failed;
  failed.status = answer.status();
  return failed;
}

std::vector<absl::Status> RemoteHost::SendRoutes(HostOperation operation,
                                                 const std::vector<host::Route>& routes) {
  HostCall call;
  call.operation = operation;
  call.routes = routes;
  HostAnswer answer = Send(call);
  if (answer.status.ok() && answer.results.size() != routes.size())
    answer.status = absl::InternalError(
        absl::StrCat("host emulator: ", client_->path(), " answered for ", answer.results.size(),
                     " routes of ", routes.size(), "; use programs of one version of weft"));
  if (!answer.status.ok()) answer.results.assign(routes.size(), answer.status);
  return answer.results;
}

absl::StatusOr<std::vector<host::Adapter>> RemoteHost::Adapters() {
  HostCall call;
  call.operation = HostOperation::kAdapters;
  HostAnswer answer = Send(call);
  if (!answer.status.ok()) return answer.status;
  return std::move(answer.adapters);
}

absl::StatusOr<std::vector<host::Route>> RemoteHost::Routes(IpFamily family,
                                                            std::uint32_t adapter_index) {
  HostCall call;
  call.operation = HostOperation::kRoutes;
  call.family = family;
  call.adapter = adapter_index;
  HostAnswer answer = Send(call);
  if (!answer.status.ok()) return answer.status;
  return std::move(answer.routes);
}

absl::StatusOr<std::vector<IpAddress>> RemoteHost::NameServers() {
  HostCall call;
  call.operation = HostOperation::kNameServers;
  HostAnswer answer = Send(call);
  if (!answer.status.ok()) return answer.status;
  return std::move(answer.name_servers);
}

absl::StatusOr<host::Route> RemoteHost::RouteTo(const IpAddress& destination) {
  HostCall call;
  call.operation = HostOperation::kRouteTo;
  call.address = {destination, 0};
  HostAnswer answer = Send(call);
  if (!answer.status.ok()) return answer.status;
  if (answer.routes.size() != 1)
    return absl::InternalError(absl::StrCat("host emulator: ", client_->path(), " named ",
                                            answer.routes.size(), " routes to ",
                                            destination.ToString()));
  return answer.routes.front();
}

absl::Status RemoteHost::SetLinkUp(std::uint32_t adapter_index, std::uint32_t mtu) {
  HostCall call;
  call.operation = HostOperation::kSetLinkUp;
  call.adapter = adapter_index;
  call.mtu = mtu;
  return Send(call).status;
}

absl::StatusOr<host::StaticIp> RemoteHost::ReadStaticIp(std::uint32_t adapter_index) {
  HostCall call;
  call.operation = HostOperation::kReadStaticIp;
  call.adapter = adapter_index;
  HostAnswer answer = Send(call);
  if (!answer.status.ok()) return answer.status;
  return std::move(answer.static_ip);
}

absl::Status RemoteHost::PutStaticIp(std::uint32_t adapter_index, const host::StaticIp& settings) {
  HostCall call;
  call.operation = HostOperation::kPutStaticIp;
  call.adapter = adapter_index;
  call.static_ip = settings;
  return Send(call).status;
}

absl::Status RemoteHost::AddAddress(std::uint32_t adapter_index,
                                    const host::AssignedAddress& address) {
  HostCall call;
  call.operation = HostOperation::kAddAddress;
  call.adapter = adapter_index;
  call.address = address;
  return Send(call).status;
}

std::vector<absl::Status> RemoteHost::PutRoutes(const std::vector<host::Route>& routes) {
  return SendRoutes(HostOperation::kPutRoutes, routes);
}

std::vector<absl::Status> RemoteHost::ReplaceRoutes(const std::vector<host::Route>& routes) {
  return SendRoutes(HostOperation::kReplaceRoutes, routes);
}

std::vector<absl::Status> RemoteHost::RemoveRoutes(const std::vector<host::Route>& routes) {
  return SendRoutes(HostOperation::kRemoveRoutes, routes);
}

absl::Status RemoteHost::SetForwarding(std::uint32_t adapter_index, IpFamily family, bool on) {
  HostCall call;
  call.operation = HostOperation::kSetForwarding;
  call.family = family;
  call.adapter = adapter_index;
  call.on = on;
  return Send(call).status;
}

absl::StatusOr<bool> RemoteHost::Forwarding(std::uint32_t adapter_index, IpFamily family) {
  HostCall call;
  call.operation = HostOperation::kForwarding;
  call.family = family;
  call.adapter = adapter_index;
  const HostAnswer answer = Send(call);
  if (!answer.status.ok()) return answer.status;
  return answer.on;
}

absl::StatusOr<std::string> RemoteHost::AllowUdpIn(const host::FirewallRule& rule) {
  HostCall call;
  call.operation = HostOperation::kAllowUdpIn;
  call.rule = rule;
  HostAnswer answer = Send(call);
  if (!answer.status.ok()) return answer.status;
  return std::move(answer.corrected);
}

absl::StatusOr<host::RuleOwner> RemoteHost::FindFirewallRule(const std::string& name) {
  HostCall call;
  call.operation = HostOperation::kFindFirewallRule;
  call.rule.name = name;
  const HostAnswer answer = Send(call);
  if (!answer.status.ok()) return answer.status;
  return answer.owner;
}

absl::Status RemoteHost::RemoveFirewallRule(const std::string& name) {
  HostCall call;
  call.operation = HostOperation::kRemoveFirewallRule;
  call.rule.name = name;
  return Send(call).status;
}

absl::StatusOr<std::unique_ptr<host::Watch>> RemoteHost::WatchChanges(
    std::function<void()> changed) {
  auto [reply, stream] = RemoteWatch::Connect(*client_);
  if (!reply.ok()) return FailureOf(reply, *client_);
  return std::make_unique<RemoteWatch>(client_, std::move(stream), std::move(changed));
}

}  // namespace weft::emulator
