// SPDX-License-Identifier: Apache-2.0
#include "control/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>

#include "control/condition.h"
#include "control/file_io.h"
#include "nlohmann/json.hpp"
#include "tests/support/test_path.h"

namespace weft::control {
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

// A Node's name or annotation must not forge a log line.
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
  const std::string line = Format(LogFormat::kJson, LineOf(Severity::kError, "bad \xff byte"));
  EXPECT_TRUE(nlohmann::json::accept(line)) << line;
}

// ---- a condition is logged once, then at most every five minutes

// The output of the log on stderr.
std::string OutputOf(const std::function<void()>& run) {
  ::testing::internal::CaptureStderr();
  StartLog(LogFormat::kKlog, 0);
  run();
  return ::testing::internal::GetCapturedStderr();
}

std::size_t LinesOf(const std::function<void()>& run) {
  const std::string text = OutputOf(run);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(ConditionTest, OneThatCountsOrFlapsIsLoggedEveryFiveMinutes) {
  Condition condition;
  control::TimePoint now{std::chrono::hours(1)};
  EXPECT_EQ(LinesOf([&] {
              for (int second = 0; second < 600; ++second, now += std::chrono::seconds(1)) {
                condition.Set("HcnOpenNetwork has been under way for " + std::to_string(second) +
                                  " s, flapping",
                              now);
                if (second % 7 == 0) condition.Set("", now);
              }
            }),
            2u);
  EXPECT_EQ(condition.times(), 600u / 7 + 2) << "as often as it began, not as often as it counted";
  EXPECT_EQ(condition.text(), "HcnOpenNetwork has been under way for 599 s, flapping");
}

TEST(ConditionTest, OneThatFlapsAndThenLastsIsLogged) {
  Condition condition;
  control::TimePoint now{std::chrono::hours(1)};
  condition.Set("eth0 lost its carrier 1 times", now);
  condition.Set("", now);
  // With another number, because the log itself limits repeated text, by another clock.
  EXPECT_EQ(LinesOf([&] {
              for (int minute = 0; minute < 20; ++minute, now += std::chrono::minutes(1))
                condition.Set("eth0 lost its carrier 2 times", now);
            }),
            1u);
  EXPECT_EQ(LinesOf([&] { condition.Set("eth0 lost its carrier 2 times", now); }), 0u)
      << "it lasts";
  EXPECT_EQ(condition.times(), 2u);
}

TEST(ConditionTest, AnotherConditionIsLoggedAtOnce) {
  Condition condition;
  EXPECT_EQ(LinesOf([&] {
              condition.Set("eth0 has no address (at once)");
              condition.Set("eth0 has no MTU (at once)");
              condition.Set("");
              condition.Set("eth0 has no address (at once)");
            }),
            2u);
  EXPECT_EQ(condition.times(), 3u);
}

TEST(LogTest, EachSeverityHasItsLetter) {
  EXPECT_THAT(OutputOf([] { LogInfo("an event"); }), ::testing::StartsWith("I"));
  EXPECT_THAT(OutputOf([] { LogWarning("a warning"); }), ::testing::StartsWith("W"));
  EXPECT_THAT(OutputOf([] { LogError("an error"); }), ::testing::StartsWith("E"));
}

TEST(LogTest, ItGoesToAFileToo) {
  const std::string folder = weft::testing::Utf8(weft::testing::TestPath());
  StartLog(LogFormat::kKlog, 0, /*to_stderr=*/false, LogFile{folder, 1000, 1});
  LogInfo("an event");
  EXPECT_THAT(ReadFileText(folder + "/flanneld.log").value(), ::testing::HasSubstr("] an event"));
  StartLog(LogFormat::kKlog, 0, /*to_stderr=*/false, LogFile{folder + "/flanneld.log", 1000, 1});
  EXPECT_THAT(PollLogFile(std::chrono::steady_clock::now()), ::testing::HasSubstr("missing there"));
  StartLog(LogFormat::kKlog, 0);
  std::filesystem::remove_all(PathOf(folder));
}

TEST(LogTest, AWarningOfAnyPartIsNotRepeated) {
  EXPECT_EQ(LinesOf([] {
              for (int i = 0; i < 5; ++i) {
                LogWarning("the same warning");
                LogError("the same error");
                LogInfo("an event");
              }
            }),
            7u);
}

}  // namespace
}  // namespace weft::control
