// SPDX-License-Identifier: Apache-2.0
// The body of /metrics: Prometheus' text format 0.0.4.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "control/metrics/histogram.h"
#include "control/metrics/metric_table.h"

namespace weft::metrics {

inline constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

class Exposition {
 public:
  // The values of the metric's labels, in the order of its row.
  using Values = std::initializer_list<std::string_view>;

  void Add(Metric metric, Values labels, std::uint64_t value);
  void AddReal(Metric metric, Values labels, double value);
  void AddHistogram(Metric metric, Values labels, const Histogram& histogram);
  // In the order of the table, whatever the order of the calls; metrics without samples are left
  // out.
  std::string Text() const;

 private:
  std::array<std::string, kMetrics> samples_;
};

// As a label's value between quotes: backslash, quote and newline are escaped, and bytes that are
// not UTF-8 become U+FFFD, since one such byte makes Prometheus discard the whole answer.
std::string EscapedLabel(std::string_view value);

}  // namespace weft::metrics
