// SPDX-License-Identifier: Apache-2.0
// A thread for work that blocks inside a service and cannot be cancelled there (HNS): rounds, one
// after the other, each when it is due or woken. A call that takes too long is told; past its
// deadline its thread is left behind and a new one begins with new objects.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft::control {

class RoundThread {
 public:
  using Clock = std::chrono::steady_clock;

  // A call into the service.
  struct Call {
    std::string what;  // "HcnModifyNetwork"
    Clock::time_point since;
  };
  // What one thread works with. It shares nothing with others that they could not share with a
  // thread that has been left behind: that one ends its call some day, and drops the session.
  struct Session {
    // On the thread. Does what can be done now; when it wants to be called again (empty: when
    // woken).
    std::function<std::optional<Clock::time_point>()> round;
    // On any thread: the call that the round is in.
    std::function<std::optional<Call>()> call;
  };
  struct Limits {
    std::chrono::milliseconds slow = std::chrono::seconds(5);        // from then on it is told
    std::chrono::milliseconds deadline = std::chrono::seconds(120);  // from then on it is given up
    std::size_t most_left = 2;  // threads that hang; beyond, the last is waited for
    // Of a keeper (keeper_thread.h): what nobody tells of is found this late.
    std::chrono::milliseconds look = std::chrono::seconds(60);
    // However much is told, looks are no closer to each other than this.
    std::chrono::milliseconds news_pause = std::chrono::seconds(1);
  };

  // Called here, and by Look for each new thread. `wake` is Wake for that thread, and may be called
  // whenever, also after the end of this object.
  using Make = std::function<Session(std::function<void()> wake)>;
  explicit RoundThread(Make make);
  RoundThread(Make make, Limits limits);
  // Waits half a second for the round under way, then leaves its thread behind.
  ~RoundThread();
  RoundThread(const RoundThread&) = delete;
  RoundThread& operator=(const RoundThread&) = delete;

  // A round as soon as the one under way is over. Any thread.
  void Wake();
  // By the owner about every second. One sentence while a call is slow or threads are left behind;
  // empty: all is well.
  std::string Look(Clock::time_point now);
  // Threads left behind that have not come back yet.
  std::size_t left_behind() const;

 private:
  struct Worker;
  void Begin();

  const Make make_;
  const Limits limits_;
  std::shared_ptr<Worker> worker_;
  std::vector<std::shared_ptr<Worker>> left_;
};

}  // namespace weft::control
