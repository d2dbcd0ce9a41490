// SPDX-License-Identifier: Apache-2.0
// A file is replaced atomically: a CNI plugin reads the old or the new text of subnet.env.
#include "control/file_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/support/files/open_file.h"
#include "tests/support/test_path.h"

namespace weft::control {
namespace {

using testing::OpenFile;

class FileIoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(PathOf(folder_));
    std::filesystem::create_directories(PathOf(folder_));
  }
  void TearDown() override { std::filesystem::remove_all(PathOf(folder_)); }
  std::size_t FilesInFolder() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(PathOf(folder_)), {}));
  }
  // Windows refuses, by name, while another program has the file open; that is the only allowed
  // failure.
  bool Replace(int version) const {
    const absl::Status status = ReplaceFileText(path_, Text(version));
    if (!status.ok())
      EXPECT_THAT(std::string(status.message()), ::testing::StartsWith("cannot replace it: "));
    return status.ok();
  }
  // Each text repeats one letter and has its own size, so that a part or a mixture is detected.
  static std::string Text(int version) {
    return std::string(static_cast<std::size_t>(6000 + version % 10 * 1000),
                       static_cast<char>('a' + version % 10));
  }
  static bool IsWhole(const std::string& text) {
    return !text.empty() && text == Text(text[0] - 'a');
  }

  const std::string folder_ = ::testing::TempDir() + "/file-io-\u00e9-" + weft::testing::TestName();
  const std::string path_ = folder_ + "/subnet.env";
};

TEST_F(FileIoTest, AnAppendTruncatesWhatFollowsItsOffset) {
  EXPECT_TRUE(AppendFileText(path_, 0, "one\n").ok());
  EXPECT_TRUE(AppendFileText(path_, 4, "torn").ok());
  EXPECT_TRUE(AppendFileText(path_, 4, "two\n").ok());
  EXPECT_EQ(ReadFileText(path_).value(), "one\ntwo\n");
  EXPECT_TRUE(absl::IsOutOfRange(AppendFileText(path_, 9, "three\n")));
  EXPECT_EQ(ReadFileText(path_).value(), "one\ntwo\n");
  EXPECT_FALSE(AppendFileText(folder_ + "/none/ledger.changes", 0, "one\n").ok());
}

// A reader that opened it before reads the old text to its end, however late.
TEST_F(FileIoTest, AnOpenReaderKeepsTheOldTextWhole) {
  ASSERT_TRUE(Replace(9));
  OpenFile before(path_);
  ASSERT_TRUE(before.is_open());
  const bool replaced = Replace(1);
  EXPECT_TRUE(before.Text() == Text(9)) << before.Text()[0];
  EXPECT_TRUE(OpenFile(path_).Text() == Text(replaced ? 1 : 9)) << OpenFile(path_).Text()[0];
  EXPECT_EQ(FilesInFolder(), 1u);
}

TEST_F(FileIoTest, AReaderNeverSeesAPartAndIsNeverBlocked) {
  ASSERT_TRUE(Replace(0));
  std::atomic<bool> stop = false;
  std::atomic<int> reads = 0;
  int refused = 0, parts = 0;
  std::thread reader([&] {
    while (!stop) {
      {
        OpenFile file(path_);
        if (!file.is_open()) {
          ++refused;
        } else if (!IsWhole(file.Text())) {
          ++parts;
        }
      }
      ++reads;
      for (int pause = 0; pause < 20; ++pause) std::this_thread::yield();
    }
  });
  // If a file is truncated and written, nearly half of the reads see a part.
  for (int replaced = 0; replaced < 100 || reads < 1000;) replaced += Replace(replaced) ? 1 : 0;
  stop = true;
  reader.join();
  EXPECT_EQ(parts, 0) << "of " << reads << " reads";
  EXPECT_EQ(refused, 0) << "of " << reads << " reads";
  EXPECT_EQ(FilesInFolder(), 1u);
}

TEST_F(FileIoTest, ReadsAllOrReturnsAnError) {
  const std::string text(10'000, 'x');
  ASSERT_TRUE(ReplaceFileText(path_, text).ok());
  EXPECT_EQ(ReadFileText(path_).value(), text);
  EXPECT_EQ(ReadFileText(path_, text.size()).value(), text);
  EXPECT_TRUE(absl::IsResourceExhausted(ReadFileText(path_, text.size() - 1).status()));
  EXPECT_TRUE(absl::IsNotFound(ReadFileText(path_ + ".not").status()));
  EXPECT_FALSE(ReadFileText(folder_).ok()) << "it does not throw";
}

TEST_F(FileIoTest, PiecesAreOneTextAndAnErrorKeepsTheFormerOne) {
  ASSERT_TRUE(Replace(1));
  const auto pieces = [](const absl::Status& status) {
    return [status](TextSink append) {
      append("A=1\n");
      append("B=2\n");
      return status;
    };
  };
  EXPECT_EQ(ReplaceFileText(path_, pieces(absl::AbortedError("why"))), absl::AbortedError("why"));
  EXPECT_EQ(ReadFileText(path_).value(), Text(1));
  ASSERT_TRUE(ReplaceFileText(path_, pieces(absl::OkStatus())).ok());
  EXPECT_EQ(ReadFileText(path_).value(), "A=1\nB=2\n");
  EXPECT_EQ(FilesInFolder(), 1u);
}

// A person's copies, an editor's and a package's backups, and what earlier versions left.
TEST_F(FileIoTest, OnlyOurMarkMakesATemporaryName) {
  EXPECT_TRUE(IsTemporaryOf("a.json.weft-0123456789abcdef", "a.json"));
  for (const char* const name :
       {"a.json", "a.json.backup", "a.json.before", "a.json.rpmnew", "a.json.bak.01",
        "a.json.orig99", "a.json.AbCdEf", "a.json.0123456789abcdef.tmp", "a.json.weft-backup",
        "a.json.weft-0123456789abcdeF", "a.json.weft-0123456789abcdef.old",
        "b.json.weft-0123456789abcdef", ".weft-0123456789abcdef", "a.json0123456789abcdef",
        "a.json.weft-"})
    EXPECT_FALSE(IsTemporaryOf(name, "a.json")) << name;
  const std::string temporary = TemporaryOf(path_);
  EXPECT_TRUE(IsTemporaryOf(temporary.substr(folder_.size() + 1), "subnet.env")) << temporary;
  EXPECT_NE(temporary, TemporaryOf(path_));
}

TEST_F(FileIoTest, WhatKilledWritesLeftIsRemoved) {
  ASSERT_TRUE(Replace(1));
  for (const char* const mark : {".weft-0123456789abcdef", ".weft-fedcba9876543210", ".backup"})
    std::ofstream(PathOf(path_ + mark)) << "half";
  RemoveTemporariesOf(path_);
  EXPECT_TRUE(std::filesystem::exists(PathOf(path_ + ".backup")));
  EXPECT_EQ(FilesInFolder(), 2u);
  RemoveTemporariesOf(folder_ + "/none/subnet.env");
}

TEST_F(FileIoTest, AMissingFolderIsAnErrorAndNotCreated) {
  const absl::Status status = ReplaceFileText(folder_ + "/no/subnet.env", "A=1\n");
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), ::testing::StartsWith("cannot "));
  EXPECT_EQ(FilesInFolder(), 0u);
}

TEST_F(FileIoTest, AFolderInItsPlaceStays) {
  std::filesystem::create_directories(PathOf(path_));
  const absl::Status status = ReplaceFileText(path_, "A=1\n");
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), ::testing::StartsWith("cannot "));
  EXPECT_TRUE(std::filesystem::is_directory(PathOf(path_)));
  EXPECT_EQ(FilesInFolder(), 1u) << "the new text is not left behind";
}

TEST(BootIdTest, IsTheSameUntilTheNextBoot) {
  EXPECT_NE(BootId(), "");
  EXPECT_EQ(BootId(), BootId());
}

}  // namespace
}  // namespace weft::control
