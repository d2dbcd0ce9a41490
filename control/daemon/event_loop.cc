// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/event_loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <utility>

namespace weft::daemon {

EventLoop::EventLoop() : io_(std::make_unique<boost::asio::io_context>(1)) {}
EventLoop::~EventLoop() = default;

void EventLoop::Run() {
  io_->restart();  // after a Stop
  const auto work = boost::asio::make_work_guard(*io_);
  io_->run();
}

void EventLoop::Stop() { io_->stop(); }

void EventLoop::Post(std::function<void()> handler) { boost::asio::post(*io_, std::move(handler)); }

struct Timer::Impl {
  explicit Impl(boost::asio::io_context& io) : timer(io) {}
  boost::asio::steady_timer timer;
  std::uint64_t round =
      0;  // a handler already queued when Set or Cancel came is of an earlier round
};

Timer::Timer(EventLoop& loop) : impl_(std::make_shared<Impl>(loop.io())) {}
Timer::~Timer() { Cancel(); }

void Timer::Set(std::chrono::steady_clock::time_point when, std::function<void()> handler) {
  const std::uint64_t round = ++impl_->round;
  impl_->timer.expires_at(when);
  impl_->timer.async_wait(
      [impl = impl_, round, handler = std::move(handler)](const boost::system::error_code& error) {
        if (!error && impl->round == round) handler();
      });
}

void Timer::Cancel() {
  ++impl_->round;
  impl_->timer.cancel();
}

}  // namespace weft::daemon
