// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/remote/remote_server.h"

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "control/admin/byte_stream.h"
#include "control/emulator/remote/remote_protocol.h"

namespace weft::hns::emulator {
namespace {

namespace asio = boost::asio;

// A connection of the listener, for the thread that serves it: waits while `io` does the I/O.
class AcceptedConnection final : public Stream {
 public:
  AcceptedConnection(asio::io_context& io, std::shared_ptr<admin::ByteStream> stream)
      : io_(io), stream_(std::move(stream)) {}
  ~AcceptedConnection() override { Shutdown(); }

  absl::Status Write(std::string_view bytes) override {
    const auto write = [stream = stream_, bytes]() -> asio::awaitable<bool> {
      co_return co_await stream->Write(bytes);
    };
    return asio::co_spawn(io_, write, asio::use_future).get()
               ? absl::OkStatus()
               : absl::UnavailableError("the connection has ended");
  }
  absl::StatusOr<std::size_t> Read(std::span<char> into) override {
    const auto read = [stream = stream_, into]() -> asio::awaitable<std::size_t> {
      co_return co_await stream->Read(into);
    };
    return asio::co_spawn(io_, read, asio::use_future).get();
  }
  bool HasInput() override { return false; }  // only clients use it
  void Shutdown() override {
    asio::post(io_, [stream = stream_] { stream->Close(); });
  }

 private:
  asio::io_context& io_;
  const std::shared_ptr<admin::ByteStream> stream_;
};

// Writes a subscriber's notifications on a thread, so that a subscriber that does not read delays
// no other.
class NoticeWriter {
 public:
  explicit NoticeWriter(Stream& stream) : stream_(stream) {}
  // From here on nothing else may write to the stream.
  void Begin() {
    thread_ = std::thread([this] { Run(); });
  }
  // Writes what is left.
  ~NoticeWriter() {
    {
      const std::scoped_lock lock(mutex_);
      ending_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  // Any thread; never waits. A reader that is kMostWaiting notices behind loses the connection.
  void Add(Notification type, std::string_view data) {
    {
      const std::scoped_lock lock(mutex_);
      if (waiting_.size() >= kMostWaiting) return stream_.Shutdown();
      waiting_.push_back(Encode(Notice{type, std::string(data)}));
    }
    changed_.notify_one();
  }

 private:
  static constexpr std::size_t kMostWaiting = 100'000;

  void Run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const std::string document = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      WriteDocument(stream_, document);
      lock.lock();
    }
  }

  Stream& stream_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> waiting_;  // guarded by mutex_
  bool ending_ = false;              // guarded by mutex_
  std::thread thread_;
};

constexpr Handle kUnknownHandle = static_cast<Handle>(~0ull);

}  // namespace

// The service for one of several client processes: its handles are invalid for other processes, and
// end with the process. Any thread. `service` outlives it.
class RemoteServer::ClientView {
 public:
  explicit ClientView(Api& service) : service_(service) {}
  explicit ClientView(std::unique_ptr<Api> process)
      : process_(std::move(process)), service_(*process_) {}
  // Closes all open handles. No call may be in progress.
  ~ClientView() {
    for (const Handle handle : subscriptions_) service_.Unsubscribe(handle);
    for (const auto& [kind, handle] : open_) service_.Close(kind, handle);
  }

  // A handle that is not this process's becomes one that does not exist, which the service refuses.
  Reply Make(ApiCall call) {
    {
      const std::scoped_lock lock(mutex_);
      const Kind kind = call.operation == Operation::kCreate ? Kind::kNetwork : call.kind;
      const bool known = call.operation == Operation::kUnsubscribe
                             ? subscriptions_.erase(call.handle) != 0
                             : open_.contains({kind, call.handle});
      if (!known && call.handle != Handle::kNone) call.handle = kUnknownHandle;
      if (call.operation == Operation::kClose) open_.erase({kind, call.handle});
    }
    Reply reply = service_.Make(call);
    if (reply.handle == Handle::kNone) return reply;
    const std::scoped_lock lock(mutex_);
    if (call.operation == Operation::kSubscribe)
      subscriptions_.insert(reply.handle);
    else
      open_.emplace(call.kind, reply.handle);
    return reply;
  }

 private:
  const std::unique_ptr<Api> process_;  // may be null
  Api& service_;
  std::mutex mutex_;
  std::set<std::pair<Kind, Handle>> open_;  // guarded by mutex_
  std::set<Handle> subscriptions_;          // guarded by mutex_
};

// The listener and the thread that works for it and all connections.
class RemoteServer::Acceptor {
 public:
  explicit Acceptor(RemoteServer& server) : server_(server) {}
  ~Acceptor() {
    work_.reset();
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Listen() {
    absl::StatusOr<std::shared_ptr<admin::Listener>> listener =
        admin::OpenLocalListener(io_, server_.path_);
    if (!listener.ok()) return listener.status();
    listener_ = *std::move(listener);
    accepting_ = asio::co_spawn(io_, Accept(), asio::use_future);
    thread_ = std::thread([this] { io_.run(); });
    return absl::OkStatus();
  }
  // No connection is added after this.
  void Close() {
    if (!listener_) return;
    asio::post(io_, [this] {
      closed_ = true;
      listener_->Close();
    });
    accepting_.get();
  }

 private:
  asio::awaitable<void> Accept() {
    asio::steady_timer pause(io_);
    while (!closed_) {
      std::shared_ptr<admin::ByteStream> stream = co_await listener_->Accept();
      if (stream) {
        server_.Add(std::make_unique<AcceptedConnection>(io_, std::move(stream)));
      } else {  // closed, or out of file descriptors
        pause.expires_after(std::chrono::milliseconds(10));
        co_await pause.async_wait(asio::use_awaitable);
      }
    }
  }

  RemoteServer& server_;
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::shared_ptr<admin::Listener> listener_;
  std::future<void> accepting_;
  bool closed_ = false;  // used by thread_ only
  std::thread thread_;
};

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
    Shutdown();  // also ends a writer that waits for the client
    Unsubscribe();
    EndWatch();
    view_.reset();
    ended_ = true;
  }

  // False: the connection has ended, or the request is invalid.
  bool ServeOne() {
    const absl::StatusOr<std::string> document = ReadDocument(*stream_);
    if (!document.ok()) return false;
    const absl::StatusOr<Request> request = ParseRequest(*document);
    if (!request.ok()) return false;
    const auto is = [&](Operation operation) { return request->call.operation == operation; };
    if (view_ == nullptr && request->kind != RequestKind::kHello) return false;
    if (writer_ && !is(Operation::kUnsubscribe)) return false;
    const Reply reply = Answer(*request);
    if (server_.answered_) server_.answered_();
    if (!WriteDocument(*stream_, Encode(reply))) return false;
    const bool notices = is(Operation::kSubscribe) || request->kind == RequestKind::kWatchHost;
    if (notices && writer_) writer_->Begin();
    return true;
  }

  Reply Answer(const Request& request);

  Reply Subscribe() {
    writer_ = std::make_unique<NoticeWriter>(*stream_);
    Reply reply =
        view_->Make({.operation = Operation::kSubscribe,
                     .notify = [writer = writer_.get()](Notification type, std::string_view data) {
                       writer->Add(type, data);
                     }});
    subscription_ = reply.handle;
    if (!reply.ok()) writer_.reset();
    return reply;
  }
  Hresult Unsubscribe() {
    if (!writer_ || host_watch_) return hresult::kInvalidHandle;
    const Reply reply =
        view_->Make({.operation = Operation::kUnsubscribe, .handle = subscription_});
    writer_.reset();
    return reply.code;
  }

  Reply WatchHost() {
    writer_ = std::make_unique<NoticeWriter>(*stream_);
    host_watch_ =
        server_.host_ == nullptr
            ? nullptr
            : server_.host_->Watch([writer = writer_.get()] { writer->Add(kHostChanged, ""); });
    if (host_watch_) return Reply();
    writer_.reset();
    return {hresult::kRequestUnsupported};
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
  std::shared_ptr<void> host_watch_;  // while it watches the host; writer_ then writes for that
  std::atomic<bool> ended_ = false;
  std::thread thread_;  // begins last
};

Reply RemoteServer::Connection::Answer(const Request& request) {
  const ApiCall& call = request.call;
  switch (request.kind) {
    case RequestKind::kHello:
      view_ = server_.ViewOf(call.text);
      return {};
    case RequestKind::kApi:
      if (call.operation == Operation::kSubscribe) return Subscribe();
      if (call.operation == Operation::kUnsubscribe) return {Unsubscribe()};
      return view_->Make(call);
    case RequestKind::kControl:
      return server_.control_(call.text);
    case RequestKind::kHost:
      if (server_.host_ != nullptr) return server_.host_->Answer(call.text);
      break;
    case RequestKind::kWatchHost:
      return WatchHost();
  }
  return {hresult::kRequestUnsupported};
}

absl::StatusOr<std::unique_ptr<RemoteServer>> RemoteServer::Start(const std::string& path,
                                                                  Api& service, OnControl control,
                                                                  HostFace* host,
                                                                  NewProcess process,
                                                                  std::function<void()> answered) {
  std::unique_ptr<RemoteServer> server(new RemoteServer(path, service, std::move(control), host,
                                                        std::move(process), std::move(answered)));
  if (absl::Status status = server->acceptor_->Listen(); !status.ok()) return status;
  return server;
}

RemoteServer::RemoteServer(std::string path, Api& service, OnControl control, HostFace* host,
                           NewProcess process, std::function<void()> answered)
    : path_(std::move(path)),
      service_(service),
      control_(std::move(control)),
      host_(host),
      process_(std::move(process)),
      answered_(std::move(answered)),
      acceptor_(std::make_unique<Acceptor>(*this)) {}

RemoteServer::~RemoteServer() {
  acceptor_->Close();
  for (const auto& connection : connections_) connection->Shutdown();
  connections_.clear();
}

void RemoteServer::Add(std::unique_ptr<Stream> stream) {
  const std::scoped_lock lock(mutex_);
  connections_.remove_if([](const auto& connection) { return connection->ended(); });
  connections_.push_back(std::make_unique<Connection>(*this, std::move(stream)));
}

std::shared_ptr<RemoteServer::ClientView> RemoteServer::ViewOf(const std::string& identity) {
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
