// SPDX-License-Identifier: Apache-2.0
#include "control/admin/http_server.h"

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <initializer_list>
#include <list>
#include <set>
#include <utility>
#include <vector>

#include "control/admin/http_codec.h"
#include "control/admin/socket_stream.h"

namespace weft::admin {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::steady_timer;
using StreamPtr = std::shared_ptr<ByteStream>;

constexpr auto kNoThrow = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::milliseconds kAcceptPause{100};  // after the system refused a connection
constexpr std::chrono::milliseconds kRefusalDeadline{1'000};
// At a time; a further one is closed without a response.
constexpr std::size_t kMostRefused = 16;
constexpr std::size_t kDrainBytes = 64 * 1024;  // at most

// Closes the stream when its time is over, unless stopped before.
void Arm(steady_timer& timer, StreamPtr stream, std::chrono::milliseconds time) {
  timer.expires_after(time);
  timer.async_wait([stream = std::move(stream)](const boost::system::error_code& error) {
    if (!error) stream->Close();
  });
}

// A coroutine ends by itself; an exception (no memory) ends its one connection and nothing else.
void Spawn(asio::io_context& io, awaitable<void> work) {
  asio::co_spawn(io, std::move(work), [](std::exception_ptr) {});
}

}  // namespace

struct HttpServer::Impl : std::enable_shared_from_this<Impl> {
  Impl(asio::io_context& context, Handler handle, HttpLimits limit)
      : io(context), handler(std::move(handle)), limits(limit) {}

  absl::StatusOr<std::uint16_t> Listen(absl::StatusOr<std::shared_ptr<Listener>> listener) {
    if (!listener.ok()) return listener.status();
    listeners.push_back(*listener);
    Spawn(io, AcceptAll(shared_from_this(), *listener));
    return (*listener)->port();
  }

  // Only Close ends it: out of memory, one connection is dropped, and the next one may succeed.
  static awaitable<void> AcceptAll(std::shared_ptr<Impl> self, std::shared_ptr<Listener> listener) {
    steady_timer pause(self->io);
    for (bool failed = false; !self->closed;) {
      try {
        if (failed) {
          pause.expires_after(kAcceptPause);
          co_await pause.async_wait(kNoThrow);
        }
        StreamPtr stream = co_await listener->Accept();
        failed = !stream;
        if (stream && !self->closed) Spawn(self->io, Serve(self, std::move(stream)));
      } catch (...) {
        failed = true;
      }
    }
  }

  enum class Phase : std::uint8_t { kReads, kHeld, kWrites };

  // A connection while it is served.
  struct Open {
    Open(std::shared_ptr<Impl> server, StreamPtr opened)
        : self(std::move(server)), stream(std::move(opened)), deadline(self->io) {
      self->open.push_back(this);
    }
    ~Open() { Cut(); }
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;

    // Its coroutine ends when it resumes.
    void Cut() {
      deadline.cancel();
      stream->Close();
      self->bytes -= std::exchange(bytes, 0);
      self->open.remove(this);
    }

    std::shared_ptr<Impl> self;
    StreamPtr stream;
    steady_timer deadline;
    Phase phase = Phase::kReads;
    std::size_t bytes = 0;  // of its response, until the client has read them
  };

  // The oldest in one of these phases, except `but`.
  Open* Oldest(std::initializer_list<Phase> phases, const Open* but) const {
    for (Open* each : open) {
      if (each != but && std::find(phases.begin(), phases.end(), each->phase) != phases.end())
        return each;
    }
    return nullptr;
  }

  // False: all others are on hold.
  bool MakeRoom(const Open& newest) {
    if (open.size() <= limits.connections) return true;
    Open* const oldest = Oldest({Phase::kReads, Phase::kWrites}, &newest);
    if (oldest) oldest->Cut();
    return oldest != nullptr;
  }

  static awaitable<void> Serve(std::shared_ptr<Impl> self, StreamPtr accepted) {
    if (self->closed) co_return;
    Open open(self, std::move(accepted));
    if (self->MakeRoom(open)) {
      co_await Exchange(open);
    } else if (self->open.size() <= self->limits.connections + kMostRefused) {
      Arm(open.deadline, open.stream, kRefusalDeadline);
      Response refusal{.status = 503, .body = "too many connections; try again later\n"};
      co_await SendAndDrain(open, std::move(refusal), /*head=*/false);
    }
  }

  static awaitable<void> Exchange(Open& open) {
    Impl& self = *open.self;
    Arm(open.deadline, open.stream, self.limits.deadline);
    RequestReader reader(self.limits.header_bytes, self.limits.post, self.limits.any_method);
    Reading reading = Reading::kMore;
    std::array<char, 2048> buffer;
    while (reading == Reading::kMore) {
      const std::size_t size = co_await open.stream->Read(buffer);
      if (size == 0) co_return;
      reading = reader.Take({buffer.data(), size});
    }
    open.deadline.cancel();
    open.phase = Phase::kHeld;
    Response response = reader.refusal();
    if (reading == Reading::kDone) response = co_await Answer(self, reader.request());
    if (self.closed) co_return;
    Arm(open.deadline, open.stream, self.limits.deadline);
    co_await SendAndDrain(open, std::move(response), reader.request().method == "HEAD");
  }

  // Discards what the client still sends: closing with unread bytes would reset the connection
  // before the client has the response.
  static awaitable<void> SendAndDrain(Open& open, Response response, bool head) {
    Impl& self = *open.self;
    open.phase = Phase::kWrites;
    {
      const std::string bytes = WriteResponse(std::exchange(response, {}), head);
      self.bytes += open.bytes = bytes.size();
      while (self.bytes > self.limits.response_bytes) {
        Open* const oldest = self.Oldest({Phase::kWrites}, &open);
        if (!oldest) break;
        oldest->Cut();
      }
      if (!co_await open.stream->Write(bytes)) co_return;
    }
    self.bytes -= std::exchange(open.bytes, 0);
    open.stream->FinishWriting();
    std::array<char, 2048> buffer;
    for (std::size_t drained = 0; drained < kDrainBytes;) {
      const std::size_t size = co_await open.stream->Read(buffer);
      if (size == 0) break;
      drained += size;
    }
  }

  static awaitable<Response> Answer(Impl& self, Request request) {
    steady_timer hold(self.io);
    bool first = true;
    while (!self.closed) {
      Response response = self.Call(request);
      if (response.hold <= std::chrono::milliseconds::zero() || request.held) co_return response;
      if (std::exchange(first, false)) hold.expires_after(response.hold);
      self.held.insert(&hold);
      auto [error] = co_await hold.async_wait(kNoThrow);
      self.held.erase(&hold);
      request.held = !error;
    }
    co_return Response();
  }

  Response Call(const Request& request) {
    try {
      return handler(request);
    } catch (...) {
      return {.status = 500, .body = "internal error\n"};
    }
  }

  void Wake() {
    for (steady_timer* timer : held) timer->cancel();
  }

  void Close() {
    closed = true;
    for (const auto& listener : listeners) listener->Close();
    for (Open* each : open) each->stream->Close();
    Wake();
    listeners.clear();
    handler = nullptr;
  }

  asio::io_context& io;
  Handler handler;
  const HttpLimits limits;
  bool closed = false;
  std::vector<std::shared_ptr<Listener>> listeners;
  std::list<Open*> open;         // oldest first; each lives in Serve's frame
  std::size_t bytes = 0;         // of their responses, together
  std::set<steady_timer*> held;  // each lives in the frame of the Answer that waits on it
};

HttpServer::HttpServer(asio::io_context& io, Handler handler, HttpLimits limits)
    : impl_(std::make_shared<Impl>(io, std::move(handler), limits)) {}
HttpServer::~HttpServer() { Close(); }

absl::StatusOr<std::uint16_t> HttpServer::ListenTcp(const std::string& address,
                                                    std::uint16_t port) {
  return impl_->Listen(OpenTcpListener(impl_->io, address, port));
}

absl::StatusOr<std::uint16_t> HttpServer::ListenOn(std::shared_ptr<Listener> listener) {
  return impl_->Listen(std::move(listener));
}

absl::Status HttpServer::ListenLocal(const std::string& path) {
  return impl_->Listen(OpenLocalListener(impl_->io, path)).status();
}

void HttpServer::Wake() { impl_->Wake(); }
void HttpServer::Close() { impl_->Close(); }

}  // namespace weft::admin
