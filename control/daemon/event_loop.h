// SPDX-License-Identifier: Apache-2.0
// The control thread's loop and its timers, so that their users need not compile Asio.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace weft::daemon {

class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  boost::asio::io_context& io() { return *io_; }
  // Runs handlers on this thread until Stop; may be called again. Exceptions of a handler
  // propagate.
  void Run();
  void Stop();                               // any thread
  void Post(std::function<void()> handler);  // any thread

 private:
  std::unique_ptr<boost::asio::io_context> io_;
};

// One handler at a time. Control thread. The loop outlives it; after its end the handler is not
// called.
class Timer {
 public:
  explicit Timer(EventLoop& loop);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Replaces what was set before.
  void Set(std::chrono::steady_clock::time_point when, std::function<void()> handler);
  void Cancel();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::daemon
