// SPDX-License-Identifier: Apache-2.0
#include "hns/emulator/remote/remote_server.h"

#include <atomic>
#include <utility>

#include "hns/emulator/remote/documents.h"
#include "hns/emulator/remote/notice_writer.h"
#include "hns/emulator/remote/remote_protocol.h"

namespace weft::hns::emulator {
namespace {

Reply CodeOnly(Hresult code) {
  Reply reply;
  reply.code = code;
  return reply;
}

}  // namespace

// A client's connection, with the thread that answers it.
class RemoteServer::Connection {
 public:
  Connection(RemoteServer& server, std::unique_ptr<Stream> stream)
      : server_(server), stream_(std::move(stream)), thread_([this] { Run(); }) {}
  ~Connection() {
    Shutdown();
    thread_.join();
  }
  void Shutdown() { stream_->Shutdown(); }
  bool ended() const { return ended_; }

 private:
  void Run() {
    while (ServeOne()) {
    }
    Shutdown();  // a writer that waits for the client ends with it
    Unsubscribe();
    EndWatch();
    view_.reset();
    ended_ = true;
  }

  // False: this connection is at its end, or its client makes no sense.
  bool ServeOne() {
    const absl::StatusOr<std::string> document = ReadDocument(*stream_);
    if (!document.ok()) return false;
    const absl::StatusOr<Request> request = ParseRequest(*document);
    if (!request.ok()) return false;
    if (view_ == nullptr && request->operation != RequestKind::kHello) return false;
    if (writer_ && request->operation != RequestKind::kUnsubscribe) return false;
    if (!WriteDocument(*stream_, Encode(Answer(*request)))) return false;
    const bool notices = request->operation == RequestKind::kSubscribe ||
                         request->operation == RequestKind::kWatchHost;
    if (notices && writer_) writer_->Begin();
    return true;
  }

  Reply Answer(const Request& request);

  Reply Subscribe() {
    writer_ = std::make_unique<NoticeWriter>(*stream_);
    Reply reply =
        view_->Subscribe([writer = writer_.get()](Notification type, std::string_view data) {
          writer->Add(type, data);
        });
    subscription_ = reply.handle;
    if (!reply.ok()) writer_.reset();
    return reply;
  }
  Hresult Unsubscribe() {
    if (!writer_ || host_watch_) return hresult::kInvalidHandle;
    const Hresult code = view_->Unsubscribe(subscription_);
    writer_.reset();
    return code;
  }

  Reply WatchHost() {
    writer_ = std::make_unique<NoticeWriter>(*stream_);
    host_watch_ =
        server_.host_ == nullptr
            ? nullptr
            : server_.host_->Watch([writer = writer_.get()] { writer->Add(kHostChanged, ""); });
    if (host_watch_) return Reply();
    writer_.reset();
    return CodeOnly(hresult::kRequestUnsupported);
  }
  void EndWatch() {
    host_watch_.reset();
    writer_.reset();
  }

  RemoteServer& server_;
  const std::unique_ptr<Stream> stream_;
  std::shared_ptr<ClientView> view_;
  std::unique_ptr<NoticeWriter> writer_;  // while subscribed
  Handle subscription_ = Handle::kNone;
  std::shared_ptr<void> host_watch_;  // while it watches the host: then writer_ is for that
  std::atomic<bool> ended_ = false;
  std::thread thread_;  // begins last
};

Reply RemoteServer::Connection::Answer(const Request& request) {
  const Kind kind = request.kind;
  switch (request.operation) {
    case RequestKind::kHello:
      view_ = server_.ViewOf(request.text);
      return Reply();
    case RequestKind::kEnumerate:
      return view_->Enumerate(kind, request.text);
    case RequestKind::kCreate:
      return view_->Create(kind, request.handle, request.id, request.text);
    case RequestKind::kOpen:
      return view_->Open(kind, request.id);
    case RequestKind::kModify:
      return view_->Modify(kind, request.handle, request.text);
    case RequestKind::kQuery:
      return view_->Query(kind, request.handle, request.text);
    case RequestKind::kDelete:
      return view_->Delete(kind, request.id);
    case RequestKind::kClose:
      return CodeOnly(view_->Close(kind, request.handle));
    case RequestKind::kCall:
      return view_->Call(request.method, request.path, request.text);
    case RequestKind::kSubscribe:
      return Subscribe();
    case RequestKind::kUnsubscribe:
      return CodeOnly(Unsubscribe());
    case RequestKind::kControl:
      return server_.control_(request.text);
    case RequestKind::kHost:
      return server_.host_ == nullptr ? CodeOnly(hresult::kRequestUnsupported)
                                      : server_.host_->Answer(request.text);
    case RequestKind::kWatchHost:
      return WatchHost();
  }
  return CodeOnly(hresult::kRequestUnsupported);
}

absl::StatusOr<std::unique_ptr<RemoteServer>> RemoteServer::Start(const std::string& address,
                                                                  Api& service, OnControl control,
                                                                  HostFace* host,
                                                                  NewProcess process) {
  absl::StatusOr<std::unique_ptr<Listener>> listener = Listen(address);
  if (!listener.ok()) return listener.status();
  return std::unique_ptr<RemoteServer>(new RemoteServer(
      *std::move(listener), service, std::move(control), host, std::move(process)));
}

RemoteServer::RemoteServer(std::unique_ptr<Listener> listener, Api& service, OnControl control,
                           HostFace* host, NewProcess process)
    : listener_(std::move(listener)),
      service_(service),
      control_(std::move(control)),
      host_(host),
      process_(std::move(process)) {
  acceptor_ = std::thread([this] { Accept(); });
}

RemoteServer::~RemoteServer() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  // Neither system promises that anything but a connection wakes who waits for one.
  const absl::StatusOr<std::unique_ptr<Stream>> wake = Connect(address());
  acceptor_.join();
  for (const auto& connection : connections_) connection->Shutdown();
  connections_.clear();
}

void RemoteServer::Accept() {
  for (;;) {
    std::unique_ptr<Stream> stream = listener_->Accept();
    const std::scoped_lock lock(mutex_);
    if (ending_) return;
    connections_.remove_if([](const auto& connection) { return connection->ended(); });
    if (stream) connections_.push_back(std::make_unique<Connection>(*this, std::move(stream)));
  }
}

std::shared_ptr<ClientView> RemoteServer::ViewOf(const std::string& identity) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(views_, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<ClientView>& known = views_[identity];
  std::shared_ptr<ClientView> view = known.lock();
  if (!view) {
    view = process_ ? std::make_shared<ClientView>(process_())
                    : std::make_shared<ClientView>(service_);
    known = view;
  }
  return view;
}

}  // namespace weft::hns::emulator
