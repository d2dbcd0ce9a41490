// SPDX-License-Identifier: Apache-2.0
// A file that another user of the machine made in the place of ours is not trusted, and blocks
// nothing.
#include "control/own_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "control/file_io.h"
#include "tests/support/files/foreign_file.h"
#include "tests/support/test_path.h"

namespace weft::control {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class OwnFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  const fs::path folder_ = weft::testing::TestPath();
  const std::string path_ = (folder_ / "ledger.json").string();
};

TEST_F(OwnFilesTest, OurOwnAndMissingFilesAreTrusted) {
  EXPECT_TRUE(CheckOwn(path_).ok()) << "there is none";
  ASSERT_TRUE(ReplaceFileText(path_, "ours").ok());
  EXPECT_TRUE(CheckOwn(path_).ok()) << CheckOwn(path_);
  EXPECT_TRUE(CheckOwn(folder_.string()).ok()) << CheckOwn(folder_.string());
  EXPECT_EQ(SetForeignAside(path_).value(), "");
  EXPECT_EQ(MakeOwnFolder(folder_.string()).value(), "");
  EXPECT_EQ(Names(), std::vector<std::string>{"ledger.json"});
}

TEST(OwnFilesNames, TrailingSlashesAreNoPartOfAName) {
  const std::pair<const char*, const char*> rows[] = {{"/var/lib/weft/", "/var/lib/weft"},
                                                      {"/var/lib/weft", "/var/lib/weft"},
                                                      {"weft//", "weft"},
                                                      {"C:/", "C:/"},
                                                      {"/", "/"},
                                                      {"", ""}};
  for (const auto& [folder, name] : rows) EXPECT_EQ(WithoutEndSlash(folder), name);
  constexpr bool kWindows = fs::path::preferred_separator == '\\';
  EXPECT_EQ(WithoutEndSlash("C:\\weft\\"), kWindows ? "C:\\weft" : "C:\\weft\\");
  EXPECT_EQ(WithoutEndSlash("C:\\"), "C:\\");
}

TEST_F(OwnFilesTest, AFileWritableByOtherUsersIsSetAsideWhole) {
  std::ofstream(path_) << "theirs";
  ASSERT_TRUE(testing::AllowOtherUsersToWrite(path_));
  EXPECT_TRUE(absl::IsPermissionDenied(CheckOwn(path_)));
  const auto aside = SetForeignAside(path_);
  ASSERT_TRUE(aside.ok()) << aside.status();
  EXPECT_THAT(*aside, AllOf(StartsWith(path_ + " may be written by "),
                            HasSubstr("; it is now " + path_ + ".foreign-")));
  ASSERT_EQ(Names().size(), 1u);
  std::ifstream in(folder_ / Names()[0]);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "theirs");
}

// It may have more than our files: /etc/kubernetes has an owner of its own, too.
TEST_F(OwnFilesTest, AnotherUsersFolderStays) {
  const std::string state = (folder_ / "state").string();
  fs::create_directories(state);
  std::ofstream(state + "/admin.conf") << "theirs";
  ASSERT_TRUE(testing::GiveAway(state));
  const absl::Status made = MakeOwnFolder(state).status();
  EXPECT_TRUE(absl::IsPermissionDenied(made)) << made;
  EXPECT_THAT(std::string(made.message()), StartsWith(state + " belongs to "));
  EXPECT_EQ(Names(), std::vector<std::string>{"state"});
  EXPECT_TRUE(fs::exists(state + "/admin.conf"));
}

TEST_F(OwnFilesTest, WhoElseMayChangeAFileIsNamedWithItsFolders) {
  const fs::path deep = folder_ / "kubernetes" / "flannel";
  fs::create_directories(deep);
  const std::string file = (deep / "config").string();
  ASSERT_TRUE(ReplaceFileText(file, "ours").ok());
  const std::string before = WhoElseMayChange(file);  // of the folders above this test's
  ASSERT_TRUE(testing::GiveAway(deep.parent_path().string()));
  EXPECT_THAT(WhoElseMayChange(file),
              HasSubstr(deep.parent_path().generic_string() + " belongs to "));
  ASSERT_TRUE(testing::AllowOtherUsersToWrite(file));
  EXPECT_THAT(WhoElseMayChange(file),
              StartsWith((deep / "config").generic_string() + " may be written by "));
  EXPECT_EQ(WhoElseMayChange((folder_ / "none").string()), before);
}

std::string TextOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(OwnFilesTest, ANewFileOfOursReplacesOnlyOurs) {
  for (const char* const text : {"a long text", "short"}) {
    const auto file = CreateOwnFile(path_);
    ASSERT_TRUE(file.ok()) << file.status();
    std::fputs(text, file->get());
  }
  EXPECT_EQ(TextOf(path_), "short");
  ASSERT_TRUE(testing::GiveAway(path_));
  EXPECT_TRUE(absl::IsPermissionDenied(CreateOwnFile(path_).status()));
  EXPECT_EQ(TextOf(path_), "short");
  EXPECT_FALSE(CreateOwnFile(path_ + "/none").ok());
  EXPECT_FALSE(CreateOwnFile(folder_.string()).ok());
}

TEST_F(OwnFilesTest, AFolderIsCreatedWithItsParents) {
  const std::string deep = (folder_ / "var" / "lib" / "weft").string();
  EXPECT_EQ(MakeOwnFolder(deep).value(), "");
  EXPECT_TRUE(fs::is_directory(deep));
  EXPECT_TRUE(CheckOwn(deep).ok());
  std::ofstream(path_) << "a file";
  for (const std::string& under : {path_, path_ + "/state"}) {
    EXPECT_THAT(std::string(MakeOwnFolder(under).status().message()),
                StartsWith("cannot make the folder: "))
        << under;
  }
}

TEST(RandomNameTest, DiffersEachTime) {
  EXPECT_EQ(RandomName().size(), 16u);
  EXPECT_NE(RandomName(), RandomName());
}

TEST(DefaultFoldersTest, AreWholePaths) {
  EXPECT_TRUE(fs::path(DefaultStateFolder()).is_absolute());
  EXPECT_TRUE(fs::path(OnSystemDrive("/run/flannel/subnet.env")).is_absolute());
  for (const char* path : {"subnet.env", "run/subnet.env", ""})
    EXPECT_EQ(OnSystemDrive(path), path) << "relative: to the current folder";
}

}  // namespace
}  // namespace weft::control
