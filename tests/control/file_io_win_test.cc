// SPDX-License-Identifier: Apache-2.0
// Readers that do not share the file, as on Windows most do (Go's os.ReadFile, a virus scanner).
#include <windows.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "control/file_io.h"
#include "tests/support/test_path.h"

namespace weft::control {
namespace {

class FileIoWindowsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    ASSERT_TRUE(ReplaceFileText(path_.string(), "old\n").ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  HANDLE Open(DWORD share) const {
    const HANDLE file = ::CreateFileW(path_.c_str(), GENERIC_READ, share, nullptr, OPEN_EXISTING,
                                      FILE_ATTRIBUTE_NORMAL, nullptr);
    EXPECT_NE(file, INVALID_HANDLE_VALUE) << ::GetLastError();
    return file;
  }
  std::string Text() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::size_t FilesInFolder() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  const std::filesystem::path folder_ = weft::testing::TestPath();
  const std::filesystem::path path_ = folder_ / "subnet.env";
};

// A reader that stays is waited for, then named; the file that it reads stays whole, and no other
// file is left.
TEST_F(FileIoWindowsTest, AReaderThatPreventsTheReplacementIsNamed) {
  for (const DWORD share :
       {DWORD{0}, DWORD{FILE_SHARE_READ}, DWORD{FILE_SHARE_READ | FILE_SHARE_WRITE}}) {
    const HANDLE reader = Open(share);
    const auto begin = std::chrono::steady_clock::now();
    const absl::Status status = ReplaceFileText(path_.string(), "new\n");
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(200))
        << "a scanner that takes that long is waited for";
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), ::testing::StartsWith("cannot replace it: "));
    char text[8];
    DWORD size = 0;
    EXPECT_TRUE(::ReadFile(reader, text, sizeof text, &size, nullptr));
    EXPECT_EQ(std::string(text, size), "old\n");
    ::CloseHandle(reader);
    EXPECT_EQ(Text(), "old\n");
    EXPECT_EQ(FilesInFolder(), 1u) << "no temporary file";
  }
}

TEST_F(FileIoWindowsTest, AReaderThatClosesInTimeIsNoFailure) {
  const HANDLE reader = Open(FILE_SHARE_READ);
  std::atomic<bool> over = false;
  std::thread goes([&] {
    while (FilesInFolder() == 1 && !over) std::this_thread::yield();
    ::CloseHandle(reader);  // the new text is being written
  });
  const absl::Status status = ReplaceFileText(path_.string(), "new\n");
  over = true;
  goes.join();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(Text(), "new\n");
  EXPECT_EQ(FilesInFolder(), 1u);
}

// The name of the new file cannot be guessed, so that no other user creates it first.
TEST_F(FileIoWindowsTest, AForeignTemporaryFileIsNotWrittenTo) {
  const std::filesystem::path temporary =
      folder_ / ("subnet.env.weft-" + std::to_string(::GetCurrentProcessId()));
  std::ofstream(temporary) << "theirs";
  EXPECT_TRUE(ReplaceFileText(path_.string(), "new\n").ok());
  EXPECT_EQ(Text(), "new\n");
  EXPECT_EQ(FilesInFolder(), 2u);
  std::ifstream in(temporary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "theirs");
}

TEST_F(FileIoWindowsTest, AFailedTemporaryFileReplacesNothing) {
  const std::string path = path_.string() + std::string(300, 'x');
  EXPECT_THAT(std::string(ReplaceFileText(path, "new\n").message()),
              ::testing::StartsWith("cannot write a file next to it: "));
  EXPECT_EQ(FilesInFolder(), 1u);
}

}  // namespace
}  // namespace weft::control
