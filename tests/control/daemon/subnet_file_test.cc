// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/subnet_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "control/file_io.h"
#include "tests/support/test_path.h"

namespace weft::daemon {
namespace {

namespace fs = std::filesystem;

std::string ReadText(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class SubnetFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Put(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }
  std::size_t FilesInFolder() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_.parent_path()), {}));
  }

  const fs::path folder_ = weft::testing::TestPath();
  fs::path path_ = folder_ / "subnet.env";
};

TEST_F(SubnetFileTest, WritesWholeTextAndNothingBesideIt) {
  SubnetFile file(path_.string());
  EXPECT_FALSE(file.written());
  ASSERT_TRUE(file.Write("A=1\n").ok());
  EXPECT_TRUE(file.written());
  EXPECT_EQ(ReadText(path_), "A=1\n");
  EXPECT_EQ(FilesInFolder(), 1u);
}

TEST_F(SubnetFileTest, MakesTheFolder) {
  path_ = folder_ / "run" / "flannel" / "subnet.env";
  SubnetFile file(path_.string());
  ASSERT_TRUE(file.Write("A=1\n").ok());
  EXPECT_EQ(ReadText(path_), "A=1\n");
}

TEST_F(SubnetFileTest, ReplacesALongerOne) {
  Put("A much longer text than the new one\n");
  ASSERT_TRUE(SubnetFile(path_.string()).Write("A=1\n").ok());
  EXPECT_EQ(ReadText(path_), "A=1\n");
}

TEST_F(SubnetFileTest, AFolderInItsPlaceIsAnErrorThatNamesIt) {
  fs::create_directories(path_ / "full");
  const absl::Status status = SubnetFile(path_.string()).Write("A=1\n");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(path_.string()));
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("--subnet-file"));
  EXPECT_EQ(FilesInFolder(), 1u);  // no temporary file is left
}

TEST_F(SubnetFileTest, NoticesThatItWasAlteredOrDeleted) {
  SubnetFile file(path_.string());
  ASSERT_TRUE(file.Write("A=1\n").ok());
  EXPECT_TRUE(file.Holds("A=1\n"));
  Put("A=1\n\n");
  EXPECT_FALSE(file.Holds("A=1\n"));
  fs::remove(path_);
  EXPECT_FALSE(file.Holds("A=1\n"));
  ASSERT_TRUE(file.Write("A=1\n").ok());
  EXPECT_TRUE(file.Holds("A=1\n"));
}

TEST_F(SubnetFileTest, ALargeFileIsNoneOfOurs) {
  const SubnetFile file(path_.string());
  for (const std::size_t size : {64 * 1024, 64 * 1024 + 1}) {
    const std::string text(size, 'A');
    Put(text);
    EXPECT_EQ(file.Holds(text), size <= 64 * 1024) << size;
  }
}

TEST_F(SubnetFileTest, WhatCannotBeWithdrawnIsAnError) {
  fs::create_directories(path_ / "full");
  SubnetFile file(path_.string());
  const auto other = file.WithdrawUnless("A=1\n");
  EXPECT_THAT(std::string(other.status().message()),
              ::testing::HasSubstr("it is out of date and cannot be removed"));
  std::error_code error;
  fs::last_write_time(path_, fs::file_time_type::clock::now() - std::chrono::hours(24 * 3650),
                      error);
  if (error) return;  // Windows dates no folder so
  EXPECT_TRUE(absl::IsUnavailable(file.WithdrawIfOfEarlierBoot().status()));
  EXPECT_TRUE(fs::exists(path_));
}

TEST_F(SubnetFileTest, WithdrawsAnotherLeasesFileAndKeepsOurs) {
  SubnetFile file(path_.string());
  EXPECT_FALSE(*file.WithdrawUnless("A=1\n"));  // there is none
  Put("A=1\n");
  EXPECT_FALSE(*file.WithdrawUnless("A=1\n"));
  EXPECT_TRUE(fs::exists(path_));
  EXPECT_TRUE(*file.WithdrawUnless("A=2\n"));
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(SubnetFileTest, AWithdrawnFileIsNotWritten) {
  SubnetFile file(path_.string());
  ASSERT_TRUE(file.Write("A=1\n").ok());
  ASSERT_TRUE(*file.WithdrawUnless("A=2\n"));
  EXPECT_FALSE(file.written());
}

TEST_F(SubnetFileTest, WithdrawsAFileOlderThanTheSystem) {
  SubnetFile file(path_.string());
  ASSERT_GT(control::BootTime(), 0);
  EXPECT_FALSE(*file.WithdrawIfOfEarlierBoot());  // there is none
  Put("A=1\n");
  EXPECT_FALSE(*file.WithdrawIfOfEarlierBoot());
  EXPECT_TRUE(fs::exists(path_));
  const auto age = std::chrono::system_clock::now() -
                   std::chrono::system_clock::from_time_t(control::BootTime());
  fs::last_write_time(path_, fs::file_time_type::clock::now() - age - std::chrono::hours(1));
  EXPECT_TRUE(*file.WithdrawIfOfEarlierBoot());
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(SubnetFileTest, IsReadableByAll) {
  ASSERT_TRUE(SubnetFile(path_.string()).Write("A=1\n").ok());
  const fs::perms all = fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
  EXPECT_EQ(fs::status(path_).permissions() & all, all);
}

}  // namespace
}  // namespace weft::daemon
