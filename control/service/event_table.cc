// SPDX-License-Identifier: Apache-2.0
#include "control/service/event_table.h"

#include <cstddef>

namespace weft::service {
namespace {

constexpr EventSeverity kInfo = EventSeverity::kInformational, kWarning = EventSeverity::kWarning,
                        kError = EventSeverity::kError;

constexpr EventRow kTable[] = {
    {Event::kRunning, kInfo, "running", "flanneld runs: %1"},
    {Event::kStopped, kInfo, "stopped", "flanneld stopped: %1"},
    {Event::kFailed, kError, "failed", "flanneld ended with exit status %1: %2"},
    {Event::kReady, kInfo, "ready", "This node's pod network is ready."},
    {Event::kNotReady, kWarning, "not-ready", "This node's pod network is not ready: %1"},
    {Event::kCondition, kWarning, "condition", "For more than a minute: %1: %2"},
    {Event::kConditionOver, kInfo, "condition-over", "No longer: %1: %2"},
    {Event::kRestored, kWarning, "restored", "flanneld %1"},
};

}  // namespace

constexpr std::string_view kSeverities[] = {"Informational", "Warning", "Error"};
std::string_view Name(EventSeverity severity) {
  return kSeverities[static_cast<std::size_t>(severity) - 1];
}

std::span<const EventRow> EventTable() { return kTable; }

const EventRow& RowOf(Event event) { return kTable[static_cast<std::size_t>(event) - 1]; }

std::uint32_t MessageId(const EventRow& row) {
  return static_cast<std::uint32_t>(row.severity) << 30 | static_cast<std::uint32_t>(row.event);
}

}  // namespace weft::service
