// SPDX-License-Identifier: Apache-2.0
#include "control/log_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "absl/strings/str_cat.h"
#include "control/file_io.h"
#include "tests/support/test_path.h"

namespace weft::control {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

class LogFileTest : public ::testing::Test {
 protected:
  void TearDown() override {
    logger_.reset();
    sink_.reset();
    fs::remove_all(folder_);
  }
  // Lines are their texts alone.
  std::string Open(std::uint64_t bytes = 1 << 20, std::size_t files = 3) {
    sink_ = std::make_shared<LogFileSink>(
        LogFile{.folder = absl::StrCat(weft::testing::Utf8(folder_), "/log"),
                .bytes = bytes,
                .files = files});
    logger_ = std::make_unique<spdlog::logger>("", sink_);
    logger_->set_pattern("%v");
    return Poll();
  }
  std::string Poll() { return sink_->Poll(now_); }
  void Line(const std::string& text) { logger_->info("{}", text); }
  std::string Text(const std::string& name = "flanneld.log") const {
    std::ifstream file(folder_ / "log" / name, std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(file), {});
    std::erase(text, '\r');
    return text;
  }
  std::set<std::string> Files() const {
    std::set<std::string> out;
    for (const auto& each : fs::directory_iterator(folder_ / "log"))
      out.insert(each.path().filename().string());
    return out;
  }

  // The name is not in any ANSI code page.
  const fs::path folder_ = weft::testing::TestPath() += PathOf("-журнал é");
  TimePoint now_{std::chrono::hours(1)};
  std::shared_ptr<LogFileSink> sink_;
  std::unique_ptr<spdlog::logger> logger_;
};

TEST_F(LogFileTest, ItMakesItsFolderAndAppends) {
  now_ = TimePoint(seconds(1));  // soon after the machine's start
  EXPECT_EQ(Open(), "");
  Line("one");
  EXPECT_EQ(Text(), "one\n") << "at once: a reader follows it";
  EXPECT_EQ(Open(), "");
  Line("two");
  EXPECT_EQ(Text(), "one\ntwo\n");
}

TEST_F(LogFileTest, ItRotatesBySizeAndKeepsThatManyFiles) {
  ASSERT_EQ(Open(100, 3), "");
  for (char c = 'a'; c <= 'z'; ++c) Line(std::string(39, c));  // 40 bytes with the line break
  EXPECT_EQ(Files(), (std::set<std::string>{"flanneld.1.log", "flanneld.2.log", "flanneld.log"}));
  EXPECT_THAT(Text(), AllOf(HasSubstr("yyy"), EndsWith("zzz\n")));
  EXPECT_THAT(Text("flanneld.1.log"), AllOf(HasSubstr("www"), EndsWith("xxx\n")));
  EXPECT_THAT(Text("flanneld.2.log"), AllOf(HasSubstr("uuu"), EndsWith("vvv\n")));
  for (const std::string& name : Files()) EXPECT_LE(Text(name).size(), 100u);
}

TEST_F(LogFileTest, OneFileIsBeginAgain) {
  ASSERT_EQ(Open(100, 1), "");
  for (char c = 'a'; c <= 'e'; ++c) Line(std::string(39, c));
  EXPECT_EQ(Files(), (std::set<std::string>{"flanneld.log"}));
  EXPECT_EQ(Text(), std::string(39, 'e') + "\n");
}

TEST_F(LogFileTest, AFolderThatCannotBeMadeIsTriedAgainEveryTenSeconds) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "log") << "a file";
  EXPECT_THAT(Open(), AllOf(HasSubstr("/flanneld.log: cannot make the folder: "),
                            HasSubstr("0 lines are missing there")));
  Line("lost");
  EXPECT_THAT(Poll(), HasSubstr("; 1 lines are missing there; flanneld tries again"));
  fs::remove(folder_ / "log");
  now_ += seconds(9);
  EXPECT_NE(Poll(), "");
  now_ += seconds(1);
  EXPECT_EQ(Poll(), "");
  Line("two");
  EXPECT_THAT(Text(), AllOf(HasSubstr("1 lines are missing here: "), EndsWith("\ntwo\n")));
}

TEST_F(LogFileTest, AFolderInTheFilesPlaceIsReported) {
  fs::create_directories(folder_ / "log" / "flanneld.log");
  EXPECT_THAT(Open(), HasSubstr("it is no regular file; remove it, or choose another --log-dir"));
}

TEST_F(LogFileTest, ALineThatWasCutIsEndedFirst) {
  fs::create_directories(folder_ / "log");
  std::ofstream(folder_ / "log" / "flanneld.log") << "cut";
  ASSERT_EQ(Open(), "");
  Line("two");
  EXPECT_EQ(Text(), "cut\ntwo\n");
}

}  // namespace
}  // namespace weft::control
