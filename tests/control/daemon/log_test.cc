// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"

namespace weft::daemon {
namespace {

// 2026-01-12 15:04:05.000123 UTC
constexpr std::int64_t kTime = 1'768'230'245'000'123'000;

LogLine LineOf(Severity severity, std::string_view text) {
  return {severity, kTime, 4711, "/build/control/daemon/daemon.cc", 42, text};
}

// What scrapers of Kubernetes nodes parse: severity, month and day, local time, process padded to
// seven, file:line.
TEST(KlogLine, HasKlogsColumns) {
  const std::string line = Format(LogFormat::kKlog, LineOf(Severity::kInfo, "ready"));
  EXPECT_THAT(line, ::testing::StartsWith("I01"));
  EXPECT_THAT(line, ::testing::EndsWith(":05.000123    4711 daemon.cc:42] ready"));
  EXPECT_EQ(line.size(),
            std::string_view("I0112 15:04:05.000123    4711 daemon.cc:42] ready").size());
}

TEST(KlogLine, BeginsWithItsSeverity) {
  EXPECT_EQ(Format(LogFormat::kKlog, LineOf(Severity::kInfo, "")).front(), 'I');
  EXPECT_EQ(Format(LogFormat::kKlog, LineOf(Severity::kWarning, "")).front(), 'W');
  EXPECT_EQ(Format(LogFormat::kKlog, LineOf(Severity::kError, "")).front(), 'E');
}

// A Node's name or annotation must not forge a line of its own.
TEST(KlogLine, StaysOneLine) {
  const std::string line =
      Format(LogFormat::kKlog, LineOf(Severity::kInfo, "node \"a\nI0112 forged\r\x1b[2J\x7f\""));
  EXPECT_THAT(line, ::testing::EndsWith("node \"a\\x0aI0112 forged\\x0d\\x1b[2J\\x7f\""));
  EXPECT_EQ(line.find_first_of("\n\r\x1b\x7f"), line.npos);
}

TEST(KlogLine, KeepsUtf8) {
  EXPECT_THAT(Format(LogFormat::kKlog, LineOf(Severity::kInfo, "Ethernet é")),
              ::testing::EndsWith("] Ethernet é"));
}

TEST(JsonLine, IsOneObject) {
  const std::string line = Format(LogFormat::kJson, LineOf(Severity::kWarning, "a \"b\"\nc"));
  EXPECT_EQ(line.find('\n'), line.npos);
  const auto object = nlohmann::json::parse(line);
  EXPECT_EQ(object["time"], "2026-01-12T15:04:05.000123Z");
  EXPECT_EQ(object["level"], "warning");
  EXPECT_EQ(object["pid"], 4711);
  EXPECT_EQ(object["caller"], "daemon.cc:42");
  EXPECT_EQ(object["message"], "a \"b\"\nc");
}

TEST(JsonLine, SurvivesTextThatIsNotUtf8) {
  const std::string line = Format(LogFormat::kJson, LineOf(Severity::kError, "bad \xff octet"));
  EXPECT_TRUE(nlohmann::json::accept(line)) << line;
}

}  // namespace
}  // namespace weft::daemon
