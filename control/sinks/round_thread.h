// SPDX-License-Identifier: Apache-2.0
// A thread for work that blocks inside a service and cannot be cancelled there (HNS). It runs
// rounds, one after the other, each when it is due or woken. A call that takes too long is
// reported; past its deadline its thread is left behind, and a new thread starts with new objects.
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
  // The objects of one thread. A thread that was left behind still uses its session until its call
  // returns, next to its successor, and then destroys it: share only what allows that.
  struct Session {
    // On the thread. Does what can be done now; returns when it is due again (empty: when woken).
    std::function<std::optional<Clock::time_point>()> round;
    // On any thread. The call that the round is in.
    std::function<std::optional<Call>()> call;
  };
  struct Limits {
    std::chrono::milliseconds slow = std::chrono::seconds(5);        // a longer call is reported
    std::chrono::milliseconds deadline = std::chrono::seconds(120);  // a longer call is left behind
    std::size_t most_left = 2;  // threads left behind at most; then the call is waited for
    // For a keeper (keeper_thread.h): the interval at which it finds changes that HNS does not
    // report.
    std::chrono::milliseconds poll = std::chrono::seconds(60);
    // The least time between two polls, however many notifications arrive.
    std::chrono::milliseconds poll_pause = std::chrono::seconds(1);
  };

  // Called by the constructor, and by Supervise for each new thread. `wake` wakes that thread, and
  // may be called at any time, also after the end of this object.
  using Make = std::function<Session(std::function<void()> wake)>;
  explicit RoundThread(Make make);
  RoundThread(Make make, Limits limits);
  // Waits half a second for the current round, then leaves its thread behind.
  ~RoundThread();
  RoundThread(const RoundThread&) = delete;
  RoundThread& operator=(const RoundThread&) = delete;

  // Starts a round as soon as the current one is over. Any thread.
  void Wake();
  // The owner calls this about every second. Leaves a thread behind whose call is past its
  // deadline. Returns a sentence while a call is slow or threads are left behind, else "".
  std::string Supervise(Clock::time_point now);
  // The number of threads left behind whose call has not returned yet.
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
