// SPDX-License-Identifier: Apache-2.0
// A disk on which the text has no room, played by the largest file that this process may write, and
// what is made durable or fails, by calls in the place of the C library's.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "control/file_io.h"
#include "control/process_lock.h"
#include "tests/support/test_path.h"

namespace {

std::function<void(const std::string& path)> on_sync;
// The errors of the next calls, by their names.
std::multimap<std::string, int> errors;

bool Fails(const char* call) {
  const auto next = errors.find(call);
  if (next == errors.end()) return false;
  errno = next->second;
  errors.erase(next);
  return true;
}

}  // namespace

extern "C" ssize_t write(int file, const void* bytes, std::size_t size) {
  return Fails("write") ? -1 : ::syscall(SYS_write, file, bytes, size);
}
extern "C" int fchmod(int file, mode_t mode) noexcept {
  return Fails("fchmod") ? -1 : static_cast<int>(::syscall(SYS_fchmod, file, mode));
}
extern "C" int close(int file) {
  const auto closed = static_cast<int>(::syscall(SYS_close, file));
  return Fails("close") ? -1 : closed;
}
extern "C" int fsync(int file) {
  if (Fails("fsync")) return -1;
  std::error_code error;
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  if (on_sync) on_sync(std::filesystem::read_symlink(link, error).string());
  return 0;
}

namespace weft::control {
namespace {

// A power cut leaves the old text or the new one.
TEST(FileIoLinuxTest, ATextIsDurableBeforeItsNameLeadsToItAndThenTheNameIs) {
  const std::string folder = weft::testing::TestPath().string(), path = folder + "/subnet.env";
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(ReplaceFileText(path, "old\n").ok());
  // What is made durable, its text, and the one that the name leads to then.
  std::vector<std::vector<std::string>> synced;
  on_sync = [&](const std::string& file) {
    const std::string text = file == folder ? "" : ReadFileText(file).value_or("none");
    synced.push_back({file.substr(0, path.size()), text, ReadFileText(path).value_or("none")});
  };
  using Synced = std::vector<std::string>;
  EXPECT_TRUE(ReplaceFileText(path, "new\n").ok());
  EXPECT_THAT(std::exchange(synced, {}),
              ::testing::ElementsAre(Synced{path, "new\n", "old\n"}, Synced{folder, "", "new\n"}));
  EXPECT_TRUE(AppendFileText(path, 4, "more\n").ok());
  EXPECT_THAT(std::exchange(synced, {}),
              ::testing::ElementsAre(Synced{path, "new\nmore\n", "new\nmore\n"}));
  std::filesystem::remove(path);
  EXPECT_TRUE(AppendFileText(path, 0, "one\n").ok());
  EXPECT_THAT(synced,
              ::testing::ElementsAre(Synced{path, "one\n", "one\n"}, Synced{folder, "", "one\n"}));
  on_sync = nullptr;
  std::filesystem::remove_all(folder);
}

TEST(FileIoLinuxTest, OnAFullDiskTheOldTextStaysWhole) {
  const std::filesystem::path folder = weft::testing::TestPath();
  const std::string path = (folder / "subnet.env").string();
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(ReplaceFileText(path, "old\n").ok());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &usual), 0);
  const rlimit small{16, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status status = ReplaceFileText(path, std::string(100, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &usual), 0);
  EXPECT_THAT(std::string(status.message()), ::testing::StartsWith("cannot write it"));
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "old\n");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  std::filesystem::remove_all(folder);
}

TEST(FileIoLinuxTest, TheFirstCallThatFailsIsTheCauseAndTheOldTextStays) {
  const std::filesystem::path folder = weft::testing::TestPath();
  const std::string path = (folder / "subnet.env").string();
  std::filesystem::create_directories(folder);
  const struct {
    std::multimap<std::string, int> errors;
    const char* cause;
    bool is_full;
  } rows[] = {
      {{{"write", ENOSPC}}, "No space left on device", true},
      {{{"write", EDQUOT}}, "Disk quota exceeded", true},
      {{{"write", EIO}}, "Input/output error", false},
      {{{"fchmod", EIO}}, "Input/output error", false},
      {{{"fsync", EIO}}, "Input/output error", false},
      {{{"close", EIO}}, "Input/output error", false},
      {{{"write", ENOSPC}, {"fchmod", EIO}}, "No space left on device", true},
      {{{"write", ENOSPC}, {"close", EIO}}, "No space left on device", true},
  };
  for (const auto& row : rows) {
    ASSERT_TRUE(ReplaceFileText(path, "old\n").ok());
    errors = row.errors;
    const absl::Status status = ReplaceFileText(path, "new\n");
    errors.clear();
    EXPECT_EQ(status.message(), std::string("cannot write it: ") + row.cause);
    EXPECT_EQ(absl::IsResourceExhausted(status), row.is_full) << row.cause;
    EXPECT_EQ(ReadFileText(path).value(), "old\n");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  }
  errors = {{"write", EINTR}};
  EXPECT_TRUE(ReplaceFileText(path, "new\n").ok()) << "a signal is no failure";
  EXPECT_EQ(ReadFileText(path).value(), "new\n");
  std::filesystem::remove_all(folder);
}

// Its writer may never end.
TEST(FileIoLinuxTest, OfAPipeNoMoreIsReadThanIsWanted) {
  const std::filesystem::path path = weft::testing::TestPath();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const int writer = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  const std::string text(8192, 'x');
  ASSERT_EQ(::write(writer, text.data(), text.size()), 8192);
  EXPECT_TRUE(absl::IsResourceExhausted(ReadFileText(path.string(), 100).status()));
  EXPECT_EQ(AppendFileText(path.string(), 0, "one\n").message(),
            "cannot write it: Invalid argument");
  ::close(writer);
  std::filesystem::remove(path);
}

TEST(FileIoLinuxTest, AnAppendCutByAFullDiskIsTruncatedByTheNext) {
  const std::string path = weft::testing::TestPath().string();
  ASSERT_TRUE(AppendFileText(path, 0, "one\n").ok());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &usual), 0);
  const rlimit small{16, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status status = AppendFileText(path, 4, std::string(100, 'x') + "\n");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &usual), 0);
  EXPECT_THAT(std::string(status.message()), ::testing::StartsWith("cannot write it"));
  EXPECT_TRUE(AppendFileText(path, 4, "two\n").ok());
  EXPECT_EQ(ReadFileText(path).value(), "one\ntwo\n");
  std::filesystem::remove(path);
}

TEST(FileIoLinuxTest, WithoutDescriptorsTheDiskIsNotFull) {
  const std::string path = weft::testing::TestPath().string();
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit none{0, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const absl::Status status = AppendFileText(path, 0, "one\n");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_THAT(std::string(status.message()), ::testing::StartsWith("cannot open it"));
  EXPECT_THAT(StepToWrite(status, "--state-dir"), ::testing::Not(::testing::HasSubstr("room")));
}

// A link to itself: opening it fails, and that is not absence.
TEST(FileIoLinuxTest, WhatCannotBeReadIsNotMissing) {
  const std::filesystem::path path = weft::testing::TestPath();
  std::filesystem::create_symlink(path, path);
  EXPECT_TRUE(MayExist(path.string()));
  EXPECT_EQ(ReadFileText(path.string()).status(),
            absl::UnavailableError("it cannot be opened: Too many levels of symbolic links"));
  std::filesystem::remove(path);
  EXPECT_FALSE(MayExist(path.string()));
  EXPECT_FALSE(MayExist("/dev/null/below")) << "no file is below a file";
  EXPECT_EQ(ReadFileText(path.string()).status(), absl::NotFoundError("it does not exist"));
}

TEST(FileIoLinuxTest, ALinkIsNotAppendedTo) {
  const std::filesystem::path path = weft::testing::TestPath();
  const std::filesystem::path other = path.string() + ".other";
  std::ofstream(other) << "theirs";
  std::filesystem::create_symlink(other, path);
  EXPECT_FALSE(AppendFileText(path.string(), 0, "ours").ok());
  EXPECT_EQ(ReadFileText(other.string()).value(), "theirs");
  std::filesystem::remove(path);
  std::filesystem::remove(other);
}

// The CNI plugin may run under another account.
TEST(FileIoLinuxTest, AllUsersMayReadIt) {
  const std::string path = weft::testing::TestPath().string();
  ASSERT_TRUE(ReplaceFileText(path, "A=1\n").ok());
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms{0644});
  std::filesystem::remove(path);
}

// A user who may open it could lock it, and disable the ledger.
TEST(ProcessLockLinuxTest, NoOtherUserMayOpenIt) {
  const std::filesystem::path path = weft::testing::TestPath();
  std::ofstream(path) << "";  // of an earlier version, mode 0644
  ASSERT_TRUE(ProcessLock::TryTake(path.string()).ok());
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms{0600});
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  ASSERT_TRUE(ProcessLock::TryTakeHostLocal(path.string()).ok());
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms{0644})
      << "host-local's";
  std::filesystem::remove(path);
  const std::filesystem::path other = path.string() + ".other";
  std::ofstream(other) << "";
  std::filesystem::create_symlink(other, path);
  EXPECT_FALSE(ProcessLock::TryTake(path.string()).ok()) << "a link leads elsewhere";
  std::filesystem::remove(path);
  std::filesystem::remove(other);
}

TEST(ProcessLockLinuxTest, AnotherUsersStaysAsItIs) {
  const std::filesystem::path folder = weft::testing::TestPath(), path = folder / "lock";
  std::filesystem::create_directory(folder);
  std::ofstream(path) << "";
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  if (::chown(path.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "needs root";
  EXPECT_TRUE(ProcessLock::TryTake(path.string()).ok());
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms{0644});
  std::filesystem::remove_all(folder);
}

TEST(FileIoLinuxTest, AMissingFolderIsNamed) {
  const std::string folder = weft::testing::TestPath().string();
  const absl::Status status = ReplaceFileText(folder + "/subnet.env", "A=1\n");
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              ::testing::StartsWith("cannot make a file in " + folder));
  EXPECT_THAT(std::string(ReplaceFileText(std::string(300, 'x'), "A=1\n").message()),
              ::testing::StartsWith("cannot make a file in .: "));
}

}  // namespace
}  // namespace weft::control
