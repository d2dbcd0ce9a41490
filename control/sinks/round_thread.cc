// SPDX-License-Identifier: Apache-2.0
#include "control/sinks/round_thread.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft::control {
namespace {

constexpr auto kGrace = std::chrono::milliseconds(500);  // the process is to end within a second

constexpr std::string_view kIfThatFails = "if that does not help, reboot this node";

std::int64_t SecondsSince(RoundThread::Clock::time_point since,
                          RoundThread::Clock::time_point now) {
  return std::chrono::duration_cast<std::chrono::seconds>(now - since).count();
}

}  // namespace

// Owned by its thread as well, because that may outlive the RoundThread.
struct RoundThread::Worker {
  void Run() {
    std::unique_lock lock(mutex);
    while (!stop) {
      woken = false;
      lock.unlock();
      const std::optional<Clock::time_point> due = session.round();
      lock.lock();
      const auto called = [this] { return woken || stop; };
      if (due) {
        changed.wait_until(lock, *due, called);
      } else {
        changed.wait(lock, called);
      }
    }
    lock.unlock();
    session = {};  // closes its handles before `ended` is reported
    lock.lock();
    ended = true;
    changed.notify_all();
  }

  void Stop() {
    const std::lock_guard lock(mutex);
    stop = true;
    changed.notify_all();
  }

  void Wake() {
    const std::lock_guard lock(mutex);
    woken = true;
    changed.notify_all();
  }

  bool HasEnded() {
    const std::lock_guard lock(mutex);
    return ended;
  }

  Session session;  // as made, before the thread begins
  std::mutex mutex;
  std::condition_variable changed;
  bool woken = false;
  bool stop = false;
  bool ended = false;
};

RoundThread::RoundThread(Make make) : RoundThread(std::move(make), Limits()) {}

RoundThread::RoundThread(Make make, Limits limits) : make_(std::move(make)), limits_(limits) {
  Begin();
}

RoundThread::~RoundThread() {
  worker_->Stop();
  std::unique_lock lock(worker_->mutex);
  worker_->changed.wait_for(lock, kGrace, [this] { return worker_->ended; });
}

void RoundThread::Begin() {
  worker_ = std::make_shared<Worker>();
  worker_->session = make_([weak = std::weak_ptr(worker_)] {
    if (const std::shared_ptr<Worker> worker = weak.lock()) worker->Wake();
  });
  // Detached, because its call may never return.
  std::thread([worker = worker_] { worker->Run(); }).detach();
}

void RoundThread::Wake() { worker_->Wake(); }

std::string RoundThread::Supervise(Clock::time_point now) {
  std::erase_if(left_, [](const auto& worker) { return worker->HasEnded(); });
  const std::optional<Call> call = worker_->session.call();
  if (!call || now - call->since < limits_.slow) {
    if (left_.empty()) return "";
    return absl::StrCat(left_.size(), " threads hang in HNS, the service of Windows that makes ",
                        "networks; a new thread does its work; restart it (Restart-Service hns); ",
                        kIfThatFails);
  }
  const std::int64_t seconds = SecondsSince(call->since, now);
  if (now - call->since < limits_.deadline)
    return absl::StrCat(call->what, " has been under way for ", seconds, " s");
  if (left_.size() >= limits_.most_left) {
    return absl::StrCat(call->what, " has been under way for ", seconds, " s, and ", left_.size(),
                        " threads hang already: nothing is changed until it returns; restart the "
                        "service (Restart-Service hns); ",
                        kIfThatFails);
  }
  worker_->Stop();
  left_.push_back(worker_);
  Begin();
  return absl::StrCat(call->what, " did not return within ", seconds,
                      " s and is left behind; everything is read again before the next change");
}

std::size_t RoundThread::left_behind() const {
  return static_cast<std::size_t>(std::count_if(
      left_.begin(), left_.end(), [](const auto& worker) { return !worker->HasEnded(); }));
}

}  // namespace weft::control
