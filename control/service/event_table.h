// SPDX-License-Identifier: Apache-2.0
// What flanneld's service writes to Windows' event log. The ids never change: alerts use them.
// control/service/events.mc, which becomes the texts in flanneld.exe, and REFERENCE.md are made
// from this table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace weft::service {

enum class EventSeverity : std::uint8_t { kInformational = 1, kWarning = 2, kError = 3 };

enum class Event : std::uint8_t {
  kRunning = 1,
  kStopped = 2,
  kFailed = 3,
  kReady = 4,
  kNotReady = 5,
  kCondition = 6,
  kConditionOver = 7,
  kRestored = 8,
};

struct EventRow {
  Event event;
  EventSeverity severity;
  std::string_view name;
  std::string_view text;  // with %1, %2 for what is inserted
};

std::string_view Name(EventSeverity severity);
std::span<const EventRow> EventTable();
const EventRow& RowOf(Event event);

// The identifier in the message table: the severity, then the event's number, which the Event
// Viewer shows.
std::uint32_t MessageId(const EventRow& row);

}  // namespace weft::service
