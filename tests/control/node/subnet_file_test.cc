// SPDX-License-Identifier: Apache-2.0
#include "control/node/subnet_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "control/file_io.h"
#include "control/own_files.h"
#include "tests/support/files/foreign_file.h"
#include "tests/support/test_path.h"

namespace weft::node {
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

TEST_F(SubnetFileTest, WritesTheWholeTextAndNoOtherFile) {
  SubnetFile file(path_.string());
  EXPECT_FALSE(file.written());
  ASSERT_TRUE(file.Write("A=1\n").ok());
  EXPECT_TRUE(file.written());
  EXPECT_EQ(ReadText(path_), "A=1\n");
  EXPECT_EQ(FilesInFolder(), 1u);
}

TEST_F(SubnetFileTest, WhatKilledWritesLeftIsRemoved) {
  const fs::path left = path_.string() + ".weft-0123456789abcdef";
  for (const fs::path& each : {left, fs::path(path_.string() + ".backup")})
    std::ofstream(each) << "A=0\n";
  SubnetFile file(path_.string());
  ASSERT_TRUE(file.Write("A=1\n").ok());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_EQ(FilesInFolder(), 2u) << "the copy stays";
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

TEST_F(SubnetFileTest, DetectsThatItWasAlteredOrDeleted) {
  SubnetFile file(path_.string());
  ASSERT_TRUE(file.Write("A=1\n").ok());
  EXPECT_TRUE(file.Matches("A=1\n"));
  Put("A=1\n\n");
  EXPECT_FALSE(file.Matches("A=1\n"));
  fs::remove(path_);
  EXPECT_FALSE(file.Matches("A=1\n"));
  ASSERT_TRUE(file.Write("A=1\n").ok());
  EXPECT_TRUE(file.Matches("A=1\n"));
}

// The file that the CNI plugin reads must be ours, whatever its content.
TEST_F(SubnetFileTest, AFileWritableByOtherUsersIsReplacedAndReported) {
  Put("A=1\n");
  ASSERT_TRUE(weft::testing::AllowOtherUsersToWrite(path_.string()));
  SubnetFile file(path_.string());
  ASSERT_TRUE(file.Write("A=1\n").ok());
  EXPECT_TRUE(control::CheckOwn(path_.string()).ok());
  EXPECT_EQ(FilesInFolder(), 2u) << "the foreign file is next to it";
  EXPECT_THAT(file.foreign().text(), ::testing::HasSubstr("subnet.env may be written by "));
  EXPECT_TRUE(file.Matches("A=1\n"));
  ASSERT_TRUE(weft::testing::AllowOtherUsersToWrite(path_.string()));
  EXPECT_FALSE(file.Matches("A=1\n")) << "it is put back";
}

// It may hold more than our file.
TEST_F(SubnetFileTest, AnotherUsersFolderStaysAndIsReported) {
  const std::string folder = (folder_ / "flannel").string();
  fs::create_directories(folder);
  std::ofstream(folder + "/subnet.env") << "A=1\n";
  ASSERT_TRUE(weft::testing::GiveAway(folder));
  SubnetFile file(folder + "/subnet.env");
  ASSERT_TRUE(file.Write("A=1\n").ok());
  EXPECT_FALSE(control::CheckOwn(folder).ok());
  EXPECT_EQ(ReadText(fs::path(folder) / "subnet.env"), "A=1\n");
  EXPECT_THAT(file.foreign().text(), ::testing::HasSubstr(folder + " belongs to "));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(SubnetFileTest, ALargeFileIsForeign) {
  const SubnetFile file(path_.string());
  for (const std::size_t size : {64 * 1024, 64 * 1024 + 1}) {
    const std::string text(size, 'A');
    Put(text);
    EXPECT_EQ(file.Matches(text), size <= 64 * 1024) << size;
  }
}

// ---- withdrawn for one reason

SubnetEnv Lease(const char* subnet = "10.244.3.0/24", const char* network = "10.244.0.0/16") {
  SubnetEnv env;
  env.v4 = SubnetEnvFamily{*IpPrefix::Parse(network), *IpPrefix::Parse(subnet)};
  return env;
}

TEST_F(SubnetFileTest, OnlyAFileOfAnotherLeaseIsWithdrawn) {
  const struct {
    const char* description;
    std::string text;
    const char* other;  // empty: it stays
  } rows[] = {
      {"ours", Text(Lease()), ""},
      {"another MTU and IPMASQ",
       "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.3.1/24\nFLANNEL_MTU=9000\n"
       "FLANNEL_IPMASQ=true\n",
       ""},
      {"another order, spelling and line end",
       "FLANNEL_SUBNET=10.244.3.77/24\r\nFLANNEL_NETWORK=10.244.9.9/16\r\n", ""},
      {"half of it", "FLANNEL_SUBNET=10.244.3.1/24\n", ""},
      {"nothing", "", ""},
      {"cut within the length", "FLANNEL_SUBNET=10.244.3.1/2", "FLANNEL_SUBNET 0.0.0.0/2"},
      {"no block", "FLANNEL_SUBNET=none\n", ""},
      {"another subnet", Text(Lease("10.244.9.0/24")), "FLANNEL_SUBNET 10.244.9.0/24"},
      {"a shorter subnet", Text(Lease("10.244.2.0/23")), "FLANNEL_SUBNET 10.244.2.0/23"},
      {"another Network", Text(Lease("10.244.3.0/24", "10.0.0.0/8")), "FLANNEL_NETWORK 10.0.0.0/8"},
      {"one more Network", "FLANNEL_NETWORK=10.244.0.0/16,10.9.0.0/16\n",
       "FLANNEL_NETWORK 10.9.0.0/16"},
      {"a family that is not ours", "FLANNEL_IPV6_SUBNET=fd00:1::1/64\n",
       "FLANNEL_IPV6_SUBNET fd00:1::/64"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.description);
    Put(row.text);
    SubnetFile file(path_.string());
    const auto other = file.WithdrawUnlessOf(Lease());
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_EQ(*other, row.other);
    EXPECT_EQ(fs::exists(path_), *row.other == '\0');
  }
}

TEST_F(SubnetFileTest, NeitherClockNorAgeWithdrawsAFile) {
  Put(Text(Lease()));
  fs::last_write_time(path_, fs::file_time_type::clock::now() - std::chrono::hours(24 * 3650));
  EXPECT_EQ(*SubnetFile(path_.string()).WithdrawUnlessOf(Lease()), "");
  EXPECT_TRUE(fs::exists(path_));
}

TEST_F(SubnetFileTest, MissingFilesAndFoldersAreNotWithdrawn) {
  SubnetFile file(path_.string());
  EXPECT_EQ(*file.WithdrawUnlessOf(Lease()), "");
  fs::create_directories(path_ / "full");
  EXPECT_EQ(*file.WithdrawUnlessOf(Lease()), "");
  EXPECT_TRUE(fs::exists(path_));
}

TEST_F(SubnetFileTest, AFileThatCannotBeReadMayBeOfAnotherLease) {
  std::error_code error;
  fs::create_symlink(path_, path_, error);
  if (error) return;  // this file system has no links
  const auto other = SubnetFile(path_.string()).WithdrawUnlessOf(Lease());
  EXPECT_TRUE(absl::IsUnavailable(other.status())) << other.status();
  EXPECT_THAT(std::string(other.status().message()),
              ::testing::HasSubstr("may be of another lease: it cannot be opened: "));
}

TEST_F(SubnetFileTest, AWithdrawnFileIsNotWritten) {
  SubnetFile file(path_.string());
  ASSERT_TRUE(file.Write(Text(Lease("10.244.9.0/24"))).ok());
  ASSERT_NE(*file.WithdrawUnlessOf(Lease()), "");
  EXPECT_FALSE(file.written());
}

// ---- kept

class KeptSubnetFileTest : public SubnetFileTest {
 protected:
  // Whether the file is ours after a poll now, and whether a condition is reported.
  bool Keep(const std::string& text = "A=1\n") {
    condition_ = std::string(file_.Keep(text, now_).message());
    return file_.Matches(text);
  }

  SubnetFile file_{path_.string()};
  control::TimePoint now_{std::chrono::hours(1)};
  std::string condition_;
};

TEST_F(KeptSubnetFileTest, AChangedFileIsRestoredAtOnce) {
  ASSERT_TRUE(Keep());
  EXPECT_EQ(file_.replaced(), "");
  Put("A=2\nB=3\n");
  EXPECT_TRUE(Keep());
  EXPECT_EQ(condition_, "");
  EXPECT_EQ(file_.replaced(), R"(it had "A=2\nB=3\n")");
  EXPECT_TRUE(Keep());
  EXPECT_EQ(file_.replaced(), "");
  now_ += std::chrono::hours(1);
  Keep();
  fs::remove(path_);
  EXPECT_TRUE(Keep());
  EXPECT_EQ(file_.replaced(), "it was missing");
  now_ += std::chrono::hours(1);
  Keep();
  Put(std::string(64 * 1024 + 1, 'A'));
  EXPECT_TRUE(Keep());
  EXPECT_EQ(file_.replaced(), "it could not be read");
  now_ += std::chrono::hours(1);
  Keep();
  ASSERT_TRUE(weft::testing::AllowOtherUsersToWrite(path_.string()));
  EXPECT_TRUE(Keep());
  EXPECT_EQ(file_.replaced(), "another user could alter it");
}

TEST_F(KeptSubnetFileTest, OurOwnNewTextIsNoForeignChange) {
  for (int i = 0; i < 9; ++i) {
    EXPECT_TRUE(Keep("A=" + std::to_string(i) + "\n"));
    EXPECT_EQ(condition_, "");
  }
}

// Two daemons, for an hour: each restores its text at every poll.
TEST_F(KeptSubnetFileTest, TwoProgramsDoNotRewriteInALoop) {
  SubnetFile other(path_.string());
  int ours = 0, theirs = 0;
  bool complained = true;
  for (int second = 0; second < 3600; ++second, now_ += std::chrono::seconds(1)) {
    const bool held = file_.Matches("A=1\n");
    Keep();
    ours += held ? 0 : file_.Matches("A=1\n");
    const bool other_held = other.Matches("A=2\n");
    const absl::Status status = other.Keep("A=2\n", now_);
    theirs += other_held ? 0 : other.Matches("A=2\n");
    if (second > 60) complained = complained && !condition_.empty() && !status.ok();
  }
  EXPECT_LE(ours, 20);
  EXPECT_LE(theirs, 20);
  EXPECT_TRUE(complained) << "both report it all the time";
}

TEST_F(KeptSubnetFileTest, AConflictEndsWhenForeignWritesStop) {
  ASSERT_TRUE(Keep());
  Put("A=2\n");
  ASSERT_TRUE(Keep());
  Put("A=2\n");
  EXPECT_FALSE(Keep()) << "left to the other program";
  now_ += std::chrono::seconds(10);
  EXPECT_TRUE(Keep());
  EXPECT_THAT(condition_,
              ::testing::AllOf(::testing::HasSubstr(path_.string()),
                               ::testing::HasSubstr("another program keeps changing it"),
                               ::testing::HasSubstr("--subnet-file")));
  EXPECT_THAT(condition_, ::testing::HasSubstr("restored 2 times, last 0 s ago"));
  now_ += std::chrono::seconds(99);  // two pauses of 20 s and a minute, but one second
  Keep();
  EXPECT_THAT(condition_, ::testing::HasSubstr("last 99 s ago; if that is")) << "not sure yet";
  now_ += std::chrono::seconds(1);
  Keep();
  EXPECT_EQ(condition_, "");
  Put("A=2\n");
  EXPECT_TRUE(Keep()) << "at once again";
}

TEST_F(SubnetFileTest, IsReadableByAll) {
  ASSERT_TRUE(SubnetFile(path_.string()).Write("A=1\n").ok());
  const fs::perms all = fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
  EXPECT_EQ(fs::status(path_).permissions() & all, all);
}

}  // namespace
}  // namespace weft::node
