// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/remote/remote_api.h"

#include <thread>
#include <utility>

namespace weft::hns::emulator {

// One connection, with a thread that passes notifications to `notify`.
class RemoteApi::Subscription {
 public:
  Subscription(Connection connection, OnNotification notify)
      : connection_(std::move(connection)),
        notify_(std::move(notify)),
        thread_([this] { Run(); }) {}
  ~Subscription() {
    connection_->Shutdown();
    if (thread_.joinable()) thread_.join();
  }

  Hresult End() {
    const Request request{RequestKind::kApi, {.operation = Operation::kUnsubscribe}};
    if (!WriteDocument(*connection_, Encode(request))) connection_->Shutdown();
    thread_.join();
    return code_;
  }

 private:
  void Run() {
    for (;;) {
      const absl::StatusOr<std::string> document = ReadDocument(*connection_);
      if (!document.ok()) break;
      const absl::StatusOr<std::variant<Reply, Notice>> answer = ParseAnswer(*document);
      if (!answer.ok()) break;
      if (const Reply* const reply = std::get_if<Reply>(&*answer)) {  // to kUnsubscribe
        code_ = reply->code;
        return;
      }
      const Notice& notice = std::get<Notice>(*answer);
      disconnect_notified_ =
          disconnect_notified_ || notice.type == Notification::kServiceDisconnect;
      notify_(notice.type, notice.data);
    }
    if (!disconnect_notified_) notify_(Notification::kServiceDisconnect, "");
  }

  const Connection connection_;
  const OnNotification notify_;
  Hresult code_ = hresult::kOk;       // set by thread_, read after its end
  bool disconnect_notified_ = false;  // the end of the service was notified
  std::thread thread_;                // starts last
};

RemoteApi::RemoteApi(std::string path) : client_(std::move(path)) {}

RemoteApi::~RemoteApi() = default;

Reply RemoteApi::Make(const ApiCall& call) {
  if (call.operation == Operation::kSubscribe) return BeginSubscription(call);
  if (call.operation == Operation::kUnsubscribe) return {EndSubscription(call.handle)};
  return client_.Send({RequestKind::kApi, call});
}

Reply RemoteApi::Control(const std::string& command) {
  return client_.Send({RequestKind::kControl, {.text = command}});
}

Reply RemoteApi::BeginSubscription(const ApiCall& call) {
  auto [reply, connection] = client_.Begin({RequestKind::kApi, call});
  if (!reply.ok()) return reply;
  const std::scoped_lock lock(mutex_);
  subscriptions_[reply.handle] = std::make_unique<Subscription>(std::move(connection), call.notify);
  return reply;
}

Hresult RemoteApi::EndSubscription(Handle handle) {
  std::unique_ptr<Subscription> subscription;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = subscriptions_.find(handle);
    if (found == subscriptions_.end()) return hresult::kInvalidHandle;
    subscription = std::move(found->second);
    subscriptions_.erase(found);
  }
  return subscription->End();
}

}  // namespace weft::hns::emulator
