// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/remote/remote_api.h"

#include <thread>
#include <utility>

namespace weft::hns::emulator {
namespace {

Request Make(RequestKind operation, Kind kind, Handle handle, const Guid& id, std::string text) {
  Request request;
  request.operation = operation;
  request.kind = kind;
  request.handle = handle;
  request.id = id;
  request.text = std::move(text);
  return request;
}

}  // namespace

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
    Request request;
    request.operation = RequestKind::kUnsubscribe;
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

Reply RemoteApi::Send(const Request& request) { return client_.Send(request); }

Reply RemoteApi::Enumerate(Kind kind, const std::string& query) {
  return Send(Make(RequestKind::kEnumerate, kind, Handle::kNone, Guid(), query));
}

Reply RemoteApi::Create(Kind kind, Handle parent, const Guid& id, const std::string& settings) {
  return Send(Make(RequestKind::kCreate, kind, parent, id, settings));
}

Reply RemoteApi::Open(Kind kind, const Guid& id) {
  return Send(Make(RequestKind::kOpen, kind, Handle::kNone, id, ""));
}

Reply RemoteApi::Modify(Kind kind, Handle handle, const std::string& settings) {
  return Send(Make(RequestKind::kModify, kind, handle, Guid(), settings));
}

Reply RemoteApi::Query(Kind kind, Handle handle, const std::string& query) {
  return Send(Make(RequestKind::kQuery, kind, handle, Guid(), query));
}

Reply RemoteApi::Delete(Kind kind, const Guid& id) {
  return Send(Make(RequestKind::kDelete, kind, Handle::kNone, id, ""));
}

Hresult RemoteApi::Close(Kind kind, Handle handle) {
  return Send(Make(RequestKind::kClose, kind, handle, Guid(), "")).code;
}

Reply RemoteApi::Call(const std::string& method, const std::string& path,
                      const std::string& request) {
  Request call = Make(RequestKind::kCall, Kind::kNetwork, Handle::kNone, Guid(), request);
  call.method = method;
  call.path = path;
  return Send(call);
}

Reply RemoteApi::Control(const std::string& command) {
  return Send(Make(RequestKind::kControl, Kind::kNetwork, Handle::kNone, Guid(), command));
}

Reply RemoteApi::Subscribe(OnNotification notify) {
  auto [reply, connection] =
      client_.Begin(Make(RequestKind::kSubscribe, Kind::kNetwork, Handle::kNone, Guid(), ""));
  if (!reply.ok()) return reply;
  const std::scoped_lock lock(mutex_);
  subscriptions_[reply.handle] =
      std::make_unique<Subscription>(std::move(connection), std::move(notify));
  return reply;
}

Hresult RemoteApi::Unsubscribe(Handle handle) {
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
