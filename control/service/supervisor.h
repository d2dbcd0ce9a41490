// SPDX-License-Identifier: Apache-2.0
// What started this process and watches it: systemd, Windows' service manager, or nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/clock.h"

namespace weft::service {

// Of the daemon, for the supervisor.
struct Health {
  bool ready = false;
  std::string reason{};                                           // why it is not ready
  std::vector<std::pair<std::string, std::string>> conditions{};  // subject and text of each
  // What was lost in HNS and restored: how much since the start, and the last as a sentence.
  std::uint64_t restored = 0;
  std::string last_restored{};
};

// Control thread, unless it says otherwise.
class Supervisor {
 public:
  virtual ~Supervisor() = default;
  // A step of the start is done.
  virtual void Progress() {}
  // The configuration is valid and the event loop turns.
  virtual void Running(std::string_view /*description*/) {}
  // At least once a second.
  virtual void Report(const Health& /*health*/, control::TimePoint /*now*/) {}
  // The stop began; again: a step of it is done.
  virtual void Stopping(std::string_view /*cause*/) {}
  // The process is about to end with `status`; `error` is why, if it is not zero. Any thread; only
  // the first call counts.
  virtual void Ended(int /*status*/, std::string_view /*error*/) {}
  // False: nobody reads stderr.
  virtual bool has_stderr() const { return true; }

  // `stop` receives the cause when the supervisor requests the stop, once: at once if it has
  // already. On any thread, until OnStop(nullptr).
  virtual void OnStop(std::function<void(std::string_view)> /*stop*/) {}

  // How often the event loop calls Alive; empty: never.
  virtual std::optional<control::Duration> watchdog_period() const { return std::nullopt; }
  virtual void Alive() {}
};

// Runs `serve`, which returns the exit status, under what started this process.
int RunSupervised(const std::function<int(Supervisor&)>& serve);

}  // namespace weft::service
