// SPDX-License-Identifier: Apache-2.0
#include "control/metrics/exposition.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace weft::metrics {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

TEST(Exposition, GroupsSamplesByMetricInTheOrderOfTheTable) {
  Histogram rounds;
  for (const auto took : {milliseconds(1), milliseconds(2), milliseconds(40)}) rounds.Add(took);
  rounds.Add(minutes(3));
  Exposition exposition;
  exposition.Add(Metric::kRoutes, {"hns", "desired"}, 18446744073709551615u);
  exposition.AddHistogram(Metric::kReconcileDuration, {}, rounds);
  exposition.Add(Metric::kReady, {}, 1);
  exposition.Add(Metric::kRoutes, {"hns", "applied"}, 0);
  exposition.AddReal(Metric::kSyncAge, {}, 0.25);
  EXPECT_EQ(exposition.Text(), R"(# HELP weft_ready 1 while /readyz answers 200.
# TYPE weft_ready gauge
weft_ready 1
# HELP weft_lease_sync_age_seconds Since the source of leases last answered: an event or bookmark of the API server, which come at least each minute, or a reading of the lease file. Missing before the first snapshot.
# TYPE weft_lease_sync_age_seconds gauge
weft_lease_sync_age_seconds 0.25
# HELP weft_routes Routes to peers: desired, applied (read back), failed.
# TYPE weft_routes gauge
weft_routes{sink="hns",state="desired"} 18446744073709551615
weft_routes{sink="hns",state="applied"} 0
# HELP weft_reconcile_duration_seconds How long the control thread worked on each round of changes.
# TYPE weft_reconcile_duration_seconds histogram
weft_reconcile_duration_seconds_bucket{le="0.001"} 1
weft_reconcile_duration_seconds_bucket{le="0.005"} 2
weft_reconcile_duration_seconds_bucket{le="0.01"} 2
weft_reconcile_duration_seconds_bucket{le="0.05"} 3
weft_reconcile_duration_seconds_bucket{le="0.1"} 3
weft_reconcile_duration_seconds_bucket{le="0.25"} 3
weft_reconcile_duration_seconds_bucket{le="0.5"} 3
weft_reconcile_duration_seconds_bucket{le="1"} 3
weft_reconcile_duration_seconds_bucket{le="2.5"} 3
weft_reconcile_duration_seconds_bucket{le="5"} 3
weft_reconcile_duration_seconds_bucket{le="10"} 3
weft_reconcile_duration_seconds_bucket{le="30"} 3
weft_reconcile_duration_seconds_bucket{le="120"} 3
weft_reconcile_duration_seconds_bucket{le="+Inf"} 4
weft_reconcile_duration_seconds_sum 180.043
weft_reconcile_duration_seconds_count 4
)");
}

TEST(Exposition, NumbersThatAreNone) {
  for (const auto& [value, text] : {std::pair(std::nan(""), "NaN"), std::pair(HUGE_VAL, "+Inf"),
                                    std::pair(-HUGE_VAL, "-Inf"), std::pair(1e300, "1e+300")}) {
    Exposition exposition;
    exposition.AddReal(Metric::kSyncAge, {}, value);
    EXPECT_TRUE(exposition.Text().ends_with(" " + std::string(text) + "\n")) << exposition.Text();
  }
}

TEST(Exposition, AHistogramHasItsLabelsBeforeLe) {
  Exposition exposition;
  exposition.AddHistogram(Metric::kHnsCallDuration, {"HcnOpenNetwork", "ok"}, Histogram());
  EXPECT_NE(exposition.Text().find("weft_hns_call_duration_seconds_bucket{op=\"HcnOpenNetwork\","
                                   "result=\"ok\",le=\"0.001\"} 0\n"),
            std::string::npos);
}

TEST(Exposition, LabelValuesAreEscaped) {
  constexpr char kUnknown[] = "\xef\xbf\xbd";
  const std::pair<std::string, std::string> rows[] = {
      {"", ""},
      {"no-route", "no-route"},
      {"a\"} 1\nweft_ready 0", "a\\\"} 1\\nweft_ready 0"},
      {"C:\\run\\", "C:\\\\run\\\\"},
      {"K\xc3\xb6ln \xe2\x82\xac \xf0\x9f\x90\x8b", "K\xc3\xb6ln \xe2\x82\xac \xf0\x9f\x90\x8b"},
      {"a\xff"
       "b",
       std::string("a") + kUnknown + "b"},                            // no such byte
      {"\xc3", kUnknown},                                             // cut
      {"\xc0\xaf", std::string(kUnknown) + kUnknown},                 // overlong
      {"\xed\xa0\x80", std::string(kUnknown) + kUnknown + kUnknown},  // a surrogate
      {"\xe2\x82\"", std::string(kUnknown) + kUnknown + "\\\""},      // cut before a quote
  };
  // The least and greatest of each length, and what lies next to them.
  for (const char* valid : {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                            "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(EscapedLabel(valid), valid);
  for (const std::string_view invalid :
       {"\x80", "\xbf", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    std::string unknown;
    for (std::size_t i = 0; i < invalid.size(); ++i) unknown += kUnknown;
    EXPECT_EQ(EscapedLabel(invalid), unknown);
  }
  for (const auto& [in, out] : rows) EXPECT_EQ(EscapedLabel(in), out) << in;
  EXPECT_EQ(EscapedLabel(std::string_view("\xc3\xb6").substr(0, 1)), kUnknown);
}

// What Prometheus and its linter require of names and help.
TEST(MetricTable, FollowsTheConventions) {
  // Whose values are few on any cluster: none is a node, a pod or an address.
  const std::set<std::string_view> labels = {
      "",   "backend", "check",   "dataplane", "dir",  "event", "family",  "kind",
      "op", "reason",  "request", "result",    "sink", "state", "subject", "version"};
  std::set<std::string_view> names;
  for (const MetricRow& row : MetricTable()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(row.name.starts_with("weft_") || row.name == "process_start_time_seconds");
    EXPECT_EQ(row.name.ends_with("_total"), row.type == Type::kCounter) << row.name;
    for (const std::string_view suffix : {"_count", "_sum", "_bucket", "_info"})
      EXPECT_TRUE(!row.name.ends_with(suffix) || row.name == "weft_build_info") << row.name;
    EXPECT_EQ(row.help.find_first_of("\\\n"), std::string_view::npos)
        << "not escaped: " << row.name;
    EXPECT_TRUE(row.help.ends_with('.')) << row.name;
    for (const std::string_view label : row.labels)
      EXPECT_TRUE(labels.contains(label)) << row.name << ": " << label;
  }
}

}  // namespace
}  // namespace weft::metrics
