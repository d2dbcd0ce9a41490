// SPDX-License-Identifier: Apache-2.0
// Users without a number, and files that are reached by another name. Needs root.
#include "control/own_files_linux.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "control/file_io.h"
#include "tests/support/test_path.h"

namespace weft::control {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr uid_t kNobody = 65534;

TEST(IsNobodyUnknownTest, WhereNoUserHasTheNumber) {
  constexpr std::int64_t kExt4 = 0xef53, kNfs = 0x6969;
  const struct {
    const char* description;
    const char* uid_map;
    std::int64_t file_system;
    bool unknown;
  } rows[] = {
      {"a host", "         0          0 4294967295\n", kExt4, false},
      {"a host's NFS", "         0          0 4294967295\n", kNfs, true},
      {"one user", "0 1000 1\n", kExt4, true},
      {"several ranges", "0 1000 1\n1 100000 65533\n", kExt4, true},
      {"the last of a range", "0 1000 1\n1 100000 65534\n", kExt4, false},
      {"a container's 65536 users", "0 100000 65536\n", kExt4, false},
      {"none yet", "", kExt4, true},
      {"a range behind it", "65535 0 4294967295\n", kExt4, true},
      {"what is not understood", "x\n", kExt4, false},
      {"too many words", "0 0 1 x\n", kExt4, false},
      {"no first user", "x 0 1\n", kExt4, false},
      {"no count", "0 0 x\n", kExt4, false},
  };
  for (const auto& row : rows)
    EXPECT_EQ(IsNobodyUnknown(row.uid_map, row.file_system), row.unknown) << row.description;
}

// The exit status of a child that calls `act`.
int InChild(const std::function<int()>& act) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(act());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class OwnFilesLinuxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::ofstream(path_) << "theirs";
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string Text() const { return ReadFileText(path_).value_or("none"); }

  const fs::path folder_ = weft::testing::TestPath();
  const std::string path_ = (folder_ / "file").string();
};

TEST_F(OwnFilesLinuxTest, NobodyIsAUserWhereTheNamespaceHasOne) {
  ASSERT_EQ(::chown(path_.c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(CheckOwn(path_).message(), path_ + " belongs to user 65534");
  EXPECT_EQ(InChild([&] {
              const rlimit none{0, 0};  // the map cannot be read
              if (::setrlimit(RLIMIT_NOFILE, &none) != 0) return 1;
              return absl::IsPermissionDenied(CheckOwn(path_)) ? 0 : 2;
            }),
            0);
  ASSERT_EQ(::chmod(path_.c_str(), 0666), 0);
  EXPECT_EQ(InChild([&] {
              if (::unshare(CLONE_NEWUSER) != 0) return 1;
              std::ofstream("/proc/self/uid_map") << "0 0 1\n" << std::flush;
              if (CheckOwn(path_).message() != path_ + " may be written by other users") return 2;
              // It is not taken for another user's, but its mode is its owner's.
              return CreateOwnFile(path_).status().message() == "Operation not permitted" ? 0 : 3;
            }),
            0);
  EXPECT_EQ(Text(), "theirs");
}

TEST_F(OwnFilesLinuxTest, RootsFilesAndOurOwnAreTrusted) {
  ASSERT_EQ(::chown(path_.c_str(), 12345, 12345), 0);
  std::ofstream(folder_ / "root's") << "theirs";
  fs::permissions(folder_ / "root's", fs::perms(0666));
  fs::permissions(folder_, fs::perms(0755));
  EXPECT_EQ(InChild([&] {
              // By names in the current folder: those above it may be closed to that user.
              if (::chdir(folder_.c_str()) != 0 || ::seteuid(12345) != 0) return 1;
              if (!CheckOwn("file").ok() || !CheckOwn(".").ok()) return 2;
              if (!CreateOwnFile("file").ok()) return 3;
              return CreateOwnFile("root's").status().message().starts_with("it is another") ? 0
                                                                                             : 4;
            }),
            0);
}

TEST_F(OwnFilesLinuxTest, AGroupThatMayWriteIsOfOthersUnlessItIsRootsOrOurs) {
  const auto is_own = [this](gid_t group, mode_t mode) {
    return ::chown(path_.c_str(), 0, group) == 0 && ::chmod(path_.c_str(), mode) == 0 &&
           CheckOwn(path_).ok();
  };
  EXPECT_TRUE(is_own(12345, 0640));
  EXPECT_FALSE(is_own(12345, 0660));
  EXPECT_EQ(InChild([&] {
              if (::setegid(12345) != 0) return 1;
              return is_own(12345, 0660) && is_own(0, 0660) && !is_own(7, 0660) ? 0 : 2;
            }),
            0);
}

TEST_F(OwnFilesLinuxTest, WhatCannotBeInspectedIsNotTrusted) {
  fs::remove(path_);
  EXPECT_TRUE(CheckOwn(path_).ok());
  const fs::path loop = folder_ / "loop";
  fs::create_symlink(loop, loop);
  const absl::Status status = CheckOwn((loop / "file").string());
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("loop/file cannot be inspected: "));
  EXPECT_EQ(SetForeignAside((loop / "file").string()).status(), status) << "nothing is renamed";
  EXPECT_FALSE(CheckOwnFolder(loop.string()).ok());
}

TEST_F(OwnFilesLinuxTest, AFolderThatOthersMayWriteToIsNoPlaceForAFile) {
  EXPECT_TRUE(CheckOwnFolder(folder_.string()).ok());
  const std::string above = WhoElseMayChange(path_);
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  EXPECT_TRUE(CheckOwn(folder_.string()).ok()) << "it is no file";
  EXPECT_EQ(WhoElseMayChange(path_), folder_.string() + " may be written by other users" +
                                         (above.empty() ? "" : "; " + above));
  ASSERT_EQ(::chmod(folder_.c_str(), 01777), 0);
  EXPECT_TRUE(CheckOwnFolder(folder_.string()).ok()) << "sticky, as /tmp";
  // By the folder of the file that a link leads to.
  fs::create_directories(folder_ / "open");
  ASSERT_EQ(::chmod((folder_ / "open").c_str(), 0777), 0);
  fs::rename(path_, folder_ / "open" / "file");
  fs::create_symlink(folder_ / "open" / "file", path_);
  EXPECT_THAT(WhoElseMayChange(path_), HasSubstr("open may be written by other users"));
}

// Only flanneld uses its default folders.
TEST_F(OwnFilesLinuxTest, AnotherUsersFolderInADefaultPlaceIsSetAside) {
  EXPECT_EQ(InChild([] {
              if (::unshare(CLONE_NEWNS) != 0 ||
                  ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
                  ::mount("none", "/run", "tmpfs", 0, nullptr) != 0)
                return 1;
              const std::string folder = "/run/flannel";
              fs::create_directory(folder);
              std::ofstream(folder + "/subnet.env") << "theirs";
              if (::chown(folder.c_str(), 12345, 12345) != 0) return 2;
              const auto made = MakeOwnFolder(folder);
              if (!made.ok() || made->find(".foreign-") == made->npos) return 3;
              return CheckOwn(folder).ok() && fs::is_empty(folder) ? 0 : 4;
            }),
            0);
}

TEST_F(OwnFilesLinuxTest, ANewFileIsClosedAndNeverAnother) {
  ASSERT_EQ(::chmod(path_.c_str(), 0666), 0);
  ASSERT_TRUE(CreateOwnFile(path_).ok()) << "our own, of an earlier run";
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(info.st_size, 0);

  std::ofstream(path_) << "theirs";
  const std::string link = (folder_ / "link").string(), second = (folder_ / "second").string();
  fs::create_symlink(path_, link);
  EXPECT_THAT(std::string(CreateOwnFile(link).status().message()), HasSubstr("it is a link"));
  fs::create_hard_link(path_, second);
  EXPECT_THAT(std::string(CreateOwnFile(second).status().message()), HasSubstr("a second name"));
  fs::remove(second);
  ASSERT_EQ(::mkfifo(second.c_str(), 0600), 0);
  EXPECT_FALSE(CreateOwnFile(second).ok()) << "and does not wait for its reader";
  const int reader = ::open(second.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  EXPECT_THAT(std::string(CreateOwnFile(second).status().message()), HasSubstr("no regular file"));
  ::close(reader);
  ASSERT_EQ(::chown(path_.c_str(), kNobody, kNobody), 0);
  EXPECT_FALSE(CreateOwnFile(path_).ok());
  EXPECT_EQ(Text(), "theirs");
}

}  // namespace
}  // namespace weft::control
