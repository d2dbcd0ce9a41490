// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/options_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_split.h"

namespace weft::daemon {
namespace {

using testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

struct ErrorRow {
  const char* words;
  const char* message;
};

// The options of `words`, checked under `variables`.
Options Checked(std::string_view words, Variables variables, absl::Status* status) {
  const Environment environment = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  const std::vector<std::string> list = absl::StrSplit(words, ' ', absl::SkipEmpty());
  Options options = ParseFlags(list, environment)->options;
  *status = CheckOptions(options, environment);
  return options;
}

TEST(CheckOptions, NamesTheNodeFromFlagThenVariable) {
  absl::Status status;
  EXPECT_EQ(
      Checked("--lease-source=file:x --dataplane=none --node-name=a", {{"NODE_NAME", "b"}}, &status)
          .node_name,
      "a");
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(
      Checked("--lease-source=file:x --dataplane=none", {{"NODE_NAME", "b"}}, &status).node_name,
      "b");
  EXPECT_TRUE(status.ok()) << status;
}

TEST(CheckOptions, RefusesWithRemedy) {
  const ErrorRow rows[] = {
      {"--dataplane=none", "no source of leases: give --lease-source=file:PATH"},
      {"--kube-subnet-mgr --dataplane=none",
       "--kube-subnet-mgr: reading leases from the Kubernetes API is not built yet"},
      {"--lease-source=nodes.json --dataplane=none",
       "--lease-source=nodes.json is not understood; write file:PATH"},
      {"--lease-source=file: --dataplane=none", "--lease-source=file: is not understood"},
      {"--lease-source=file:x --dataplane=hns", "--dataplane=hns is not built yet"},
      {"--lease-source=file:x --dataplane=routes", "--dataplane=routes is not built yet"},
      {"--lease-source=file:x --dataplane=none --healthz-port=65536",
       "--healthz-port=65536 is no port"},
      {"--lease-source=file:x --dataplane=none --subnet-lease-renew-margin=0",
       "--subnet-lease-renew-margin=0 must lie in"},
      {"--lease-source=file:x --dataplane=none --subnet-lease-renew-margin=1440",
       "--subnet-lease-renew-margin=1440 must lie in 1..1439"},
  };
  for (const ErrorRow& row : rows) {
    absl::Status status;
    Checked(row.words, {{"NODE_NAME", "a"}}, &status);
    EXPECT_THAT(std::string(status.message()), testing::StartsWith(row.message)) << row.words;
  }
  absl::Status status;
  Checked("--lease-source=file:x --dataplane=none", {}, &status);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("set the variable NODE_NAME, or give --node-name"));
}

}  // namespace
}  // namespace weft::daemon
