// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/health.h"

#include <gtest/gtest.h>

namespace weft::daemon {
namespace {

using admin::Check;
using admin::Request;
using admin::Response;
using Ms = std::chrono::milliseconds;

Response Get(std::vector<Check> checks, std::string path, bool verbose = false) {
  Request request{"GET", std::move(path), {}, false};
  if (verbose) request.query["verbose"] = "";
  return HealthHandler([checks] { return checks; }, [] { return "weft_ready 1\n"; })(request);
}

const std::vector<Check> kGood = {{"source", true, "file nodes.json"}, {"tunnels", true, ""}};
const std::vector<Check> kBad = {{"source", true, ""},
                                 {"own-node", false, "node \"a\" is not there"}};

// The bodies are upstream's: probes and scripts compare them.
TEST(Health, LivenessIsAlwaysOk) {
  for (const auto& checks : {kGood, kBad}) {
    for (const char* path : {"/healthz", "/livez"}) {
      EXPECT_EQ(Get(checks, path).status, 200);
      EXPECT_EQ(Get(checks, path).body, "flanneld is running");
      EXPECT_EQ(Get(checks, path).content_type, "text/plain; charset=utf-8");
    }
  }
}

TEST(Health, ReadyWhenEveryCheckIs) {
  EXPECT_EQ(Get(kGood, "/readyz").status, 200);
  EXPECT_EQ(Get(kGood, "/readyz").body, "flanneld is ready");
  EXPECT_EQ(Get({}, "/readyz").status, 200);
}

TEST(Health, NotReadyOtherwise) {
  EXPECT_EQ(Get(kBad, "/readyz").status, 503);
  EXPECT_EQ(Get(kBad, "/readyz").body,
            "flanneld is not ready yet: own-node: node \"a\" is not there");
  EXPECT_EQ(Get({{"sinks", false, ""}, {"subnet-file", false, "not written"}}, "/readyz").body,
            "flanneld is not ready yet: sinks");
}

TEST(Health, VerboseHasALineForEachCheck) {
  EXPECT_EQ(Get(kGood, "/readyz", true).body,
            "[+]source ok: file nodes.json\n"
            "[+]tunnels ok\n"
            "flanneld is ready");
  EXPECT_EQ(Get(kBad, "/readyz", true).body,
            "[+]source ok\n"
            "[-]own-node failed: node \"a\" is not there\n"
            "flanneld is not ready yet: own-node: node \"a\" is not there");
  EXPECT_EQ(Get(kBad, "/readyz", true).status, 503);
}

// Any pod may send requests at any rate.
TEST(Health, ChecksAreReadAtMostTenTimesASecond) {
  int reads = 0;
  RecentChecks checks([&reads] {
    ++reads;
    return reads == 1 ? std::vector<Check>() : kBad;
  });
  const RecentChecks::TimePoint start{std::chrono::hours(1)};
  for (const int at : {0, 1, 50, 100}) EXPECT_TRUE(checks.At(start + Ms(at)).empty()) << at;
  EXPECT_EQ(reads, 1);
  EXPECT_EQ(checks.At(start + Ms(101)), kBad);
  EXPECT_EQ(reads, 2);
}

TEST(Health, MetricsAreServedWhateverTheChecksSay) {
  for (const auto& checks : {kGood, kBad}) {
    const Response metrics = Get(checks, "/metrics");
    EXPECT_EQ(metrics.status, 200);
    EXPECT_EQ(metrics.body, "weft_ready 1\n");
    EXPECT_EQ(metrics.content_type, "text/plain; version=0.0.4; charset=utf-8");
  }
}

TEST(Health, UnknownPathsAreNotFound) {
  for (const char* path : {"/", "/metrics/", "/healthz/", "/Healthz", ""}) {
    EXPECT_EQ(Get(kGood, path).status, 404) << path;
    EXPECT_EQ(Get(kGood, path).body, "404 page not found\n") << path;
  }
}

}  // namespace
}  // namespace weft::daemon
