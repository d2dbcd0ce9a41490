// SPDX-License-Identifier: Apache-2.0
// Decides which events a service writes: few, and always the latest state.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/clock.h"
#include "control/service/event_table.h"
#include "control/service/supervisor.h"

namespace weft::service {

// Writes one event; the strings replace %1, %2.
using WriteEvent = std::function<void(Event, const std::vector<std::string>&)>;

// One thread. After a burst of kBurst events Report writes one in kPause; what changed back in
// between is not written.
class EventReporter {
 public:
  static constexpr int kBurst = 8;
  static constexpr control::Duration kPause = std::chrono::minutes(5);
  static constexpr control::Duration kLasting = std::chrono::minutes(1);

  explicit EventReporter(WriteEvent write) : write_(std::move(write)) {}

  void Running(std::string_view description);
  void Ended(int status, std::string_view cause);
  // Ready and not ready at once, but not ready at the start, and conditions, when they have lasted
  // kLasting. What was restored, the latest of it, at once.
  void Report(const Health& health, control::TimePoint now);

 private:
  struct Condition {
    control::TimePoint since;
    std::string text;
    bool present = true;
    bool written = false;
  };

  void ReportReadiness(const Health& health, control::TimePoint now);
  void ReportConditions(const Health& health, control::TimePoint now);
  bool Allows(control::TimePoint now);
  void Write(Event event, const std::vector<std::string>& strings);

  const WriteEvent write_;
  std::optional<bool> ready_;                        // as written
  std::optional<control::TimePoint> unready_since_;  // before the first event of readiness
  std::map<std::string, Condition> conditions_;      // by subject
  std::uint64_t restored_ = 0;                       // as written
  int burst_ = kBurst;
  std::optional<control::TimePoint> refilled_;
};

}  // namespace weft::service
