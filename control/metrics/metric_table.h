// SPDX-License-Identifier: Apache-2.0
// Every metric of /metrics: name, type, labels and help. Its documentation in REFERENCE.md is made
// from this table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft::metrics {

enum class Metric : std::uint8_t {
  kBuildInfo,
  kProcessStart,
  kReady,
  kCheckOk,
  kConditionActive,
  kLeases,
  kNodesWithoutLease,
  kSyncAge,
  kRoutes,
  kReconcileDuration,
  kHnsCallDuration,
  kHnsCallsInProgress,
  kHnsRestarts,
  kHnsDriftRepairs,
  kNetworkBlip,
  kApiWatchRestarts,
  kApiLists,
  kApiErrors,
  kEncapPackets,
  kEncapBytes,
  kDropPackets,
  kIcmpErrors,
  kKernelEvents,
  kCount,
};

inline constexpr std::size_t kMetrics = static_cast<std::size_t>(Metric::kCount);
inline constexpr std::size_t kMostLabels = 3;

enum class Type : std::uint8_t { kGauge, kCounter, kHistogram };
std::string_view Name(Type type);

// The values of every label come from a fixed set; `labels` are in the order in which Exposition
// receives them.
struct MetricRow {
  std::string_view name;
  Type type;
  std::string_view labels[kMostLabels];  // empty: none
  std::string_view help;
};

// In the order of Metric.
std::span<const MetricRow, kMetrics> MetricTable();

}  // namespace weft::metrics
