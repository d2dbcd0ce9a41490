// SPDX-License-Identifier: Apache-2.0
// The log's file: its mode, links and pipes in its place, a disk that fills up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spdlog/logger.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "control/log_file.h"
#include "tests/support/test_path.h"

namespace weft::control {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class LogFileLinuxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::signal(SIGXFSZ, SIG_IGN);  // or the first byte too many ends the process
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    Limit(before_.rlim_cur);
    logger_.reset();
    sink_.reset();
    std::filesystem::remove_all(folder_);
  }
  void Limit(rlim_t bytes) const {
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  std::string Open(std::uint64_t bytes = 1 << 20) {
    sink_ = std::make_shared<LogFileSink>(
        LogFile{.folder = folder_.string(), .bytes = bytes, .files = 2});
    logger_ = std::make_unique<spdlog::logger>("", sink_);
    logger_->set_pattern("%v");
    return Poll();
  }
  std::string Poll() {
    now_ += LogFileSink::kRetry;
    return sink_->Poll(now_);
  }
  std::string Text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  mode_t Mode() const {
    struct stat info {};
    EXPECT_EQ(::stat(path_.c_str(), &info), 0);
    return info.st_mode & 0777;
  }

  rlimit before_{};
  const std::filesystem::path folder_ = weft::testing::TestPath();
  const std::filesystem::path path_ = folder_ / "flanneld.log";
  TimePoint now_{std::chrono::hours(1)};
  std::shared_ptr<LogFileSink> sink_;
  std::unique_ptr<spdlog::logger> logger_;
};

TEST_F(LogFileLinuxTest, OthersCannotReadIt) {
  ASSERT_EQ(Open(10), "");
  EXPECT_EQ(Mode(), 0640u);
  for (int i = 0; i < 3; ++i) logger_->info("12345678");
  EXPECT_EQ(Mode(), 0640u) << "also after a rotation";
}

TEST_F(LogFileLinuxTest, ALinkIsNotFollowedAndAPipeDoesNotBlock) {
  std::filesystem::create_symlink(folder_ / "elsewhere", path_);
  EXPECT_THAT(Open(), HasSubstr("it is no regular file"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere"));
  std::filesystem::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(Open(), HasSubstr("it is no regular file"));
}

TEST_F(LogFileLinuxTest, AnotherUsersFileIsSetAside) {
  std::ofstream(path_) << "forged\n";
  if (::chown(path_.c_str(), 1234, 1234) != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(Open(), "");
  logger_->info("own");
  EXPECT_EQ(Text(), "own\n");
}

TEST_F(LogFileLinuxTest, AFullDiskLosesLinesUntilThereIsRoomAgain) {
  ASSERT_EQ(Open(), "");
  logger_->info("before");
  Limit(10);  // of "before\n" and some of the next line
  logger_->info("partly");
  logger_->info("lost");
  EXPECT_THAT(Poll(), AllOf(HasSubstr("flanneld.log: File too large"),
                            HasSubstr("; 2 lines are missing there")));
  EXPECT_NE(Poll(), "") << "still full";
  Limit(before_.rlim_cur);
  EXPECT_EQ(Poll(), "");
  logger_->info("after");
  EXPECT_THAT(Text(), AllOf(::testing::StartsWith("before\npar\n"),
                            HasSubstr("\n2 lines are missing here: "), EndsWith("\nafter\n")));
}

TEST_F(LogFileLinuxTest, AFolderThatDisappearsIsMadeAgainAtTheNextRotation) {
  ASSERT_EQ(Open(100), "");
  std::filesystem::remove_all(folder_);
  EXPECT_EQ(Poll(), "");
  EXPECT_FALSE(std::filesystem::exists(folder_)) << "an open file is not opened again";
  for (int i = 0; i < 4; ++i) logger_->info(std::string(50, 'x'));
  EXPECT_EQ(Poll(), "");
  logger_->info("after");
  EXPECT_THAT(Text(), HasSubstr("after\n"));
}

}  // namespace
}  // namespace weft::control
