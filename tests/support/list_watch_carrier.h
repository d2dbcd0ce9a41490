// SPDX-License-Identifier: Apache-2.0
// Executes a ListWatch's actions against a FakeApiServer, step by step, under the test's control.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "control/kube/list_watch.h"
#include "tests/support/fake_api_server.h"
#include "tests/support/manual_clock.h"

namespace weft::testing {

class ListWatchCarrier {
 public:
  ListWatchCarrier(ManualClock& clock, FakeApiServer& server, kube::ListWatch& machine)
      : clock_(clock), server_(server), machine_(machine) {}

  // Several servers: called before each request; false: its connection is refused.
  std::function<bool()> on_send;
  // Called with the status of each answer; 0: the connection was refused.
  std::function<void(int)> on_answer;
  // Called with each fault that an action names, before the exchange ends.
  std::function<void(const std::string&)> on_fault;

  void Start() { Do(machine_.Start()); }

  // Delivers the next part, the head or up to `most` bytes or the end; false: there is nothing.
  bool Step(std::size_t most = std::string::npos) {
    if (!answer_) return false;
    if (refused_) {
      if (on_answer) on_answer(0);
      Fail();
      return true;
    }
    if (!head_carried_) {
      head_carried_ = true;
      if (on_answer) on_answer(answer_->head.status);
      Do(machine_.OnHead(answer_->head));
      return true;
    }
    for (const std::string& part : answer_->Take()) bytes_ += part;
    if (!bytes_.empty()) {
      // Copied: the exchange may be gone before the machine returns.
      const std::string part = bytes_.substr(0, most);
      bytes_.erase(0, part.size());
      Do(machine_.OnBody(part));
      return true;
    }
    if (!answer_->ended()) return false;
    End(absl::OkStatus());
    return true;
  }
  // Until only waiting is left.
  void Run() {
    while (Step()) {
    }
  }
  // The exchange ends; what was not carried is lost.
  void End(const absl::Status& status) {
    if (answer_) Do(machine_.OnEnd(status));
  }
  void Cut() { End(absl::UnavailableError("connection reset")); }
  // A request is sent and the server cannot be reached.
  void Fail(const absl::Status& status = absl::UnavailableError("connection refused")) {
    End(status);
  }
  // The clock advances by itself.
  void Time() { Do(machine_.OnTime()); }
  void ToDeadline() {
    clock_.AdvanceTo(std::max(clock_.Now(), deadline()));
    Time();
  }
  // For this long deadlines are kept and answers delivered.
  void RunFor(control::Duration time) {
    const control::TimePoint end = clock_.Now() + time;
    Run();
    while (deadline() <= end) {
      ToDeadline();
      Run();
    }
    clock_.AdvanceTo(end);
  }

  // The same, one byte in each `pause`.
  void RunSlowlyFor(std::chrono::seconds time, std::chrono::milliseconds pause) {
    for (std::chrono::milliseconds i(0); i < time; i += pause) {
      Step(1);
      clock_.Advance(pause);
      if (deadline() <= clock_.Now()) Time();
    }
  }

  const kube::Action& action() const { return action_; }
  control::TimePoint deadline() const {
    if (const auto* send = std::get_if<kube::Send>(&action_)) return send->deadline;
    if (const auto* read = std::get_if<kube::Read>(&action_)) return read->deadline;
    return std::get<kube::Wait>(action_).until;
  }
  bool waits() const { return std::holds_alternative<kube::Wait>(action_); }
  bool live() const { return answer_ != nullptr; }
  FakeAnswer* answer() { return answer_.get(); }
  // Sent by now.
  std::size_t sent() const { return sent_; }

 private:
  void Do(kube::Action action) {
    action_ = std::move(action);
    if (std::holds_alternative<kube::Read>(action_)) return;
    const auto* const sent = std::get_if<kube::Send>(&action_);
    const std::string& fault = sent ? sent->fault : std::get<kube::Wait>(action_).fault;
    if (on_fault && !fault.empty()) on_fault(fault);
    answer_.reset();
    bytes_.clear();
    head_carried_ = false;
    if (const auto* send = std::get_if<kube::Send>(&action_)) {
      ++sent_;
      refused_ = on_send && !on_send();
      answer_ = server_.Serve(send->request);
    }
  }

  ManualClock& clock_;
  FakeApiServer& server_;
  kube::ListWatch& machine_;
  kube::Action action_ = kube::Wait{};
  std::unique_ptr<FakeAnswer> answer_;  // of the exchange that runs
  bool head_carried_ = false;
  bool refused_ = false;
  std::string bytes_;  // arrived, not carried yet
  std::size_t sent_ = 0;
};

}  // namespace weft::testing
