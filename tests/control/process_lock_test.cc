// SPDX-License-Identifier: Apache-2.0
#include "control/process_lock.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <utility>

#include "tests/support/test_path.h"

namespace weft::control {
namespace {

TEST(ProcessLockTest, OneAtATime) {
  const std::string path = weft::testing::TestPath().string();
  {
    absl::StatusOr<ProcessLock> first = ProcessLock::TryTake(path);
    ASSERT_TRUE(first.ok()) << first.status();
    const ProcessLock moved = *std::move(first);
    EXPECT_TRUE(absl::IsFailedPrecondition(ProcessLock::TryTake(path).status()));
  }
  EXPECT_TRUE(ProcessLock::TryTake(path).ok()) << "its end gives it back";
  std::filesystem::remove(path);
}

TEST(ProcessLockTest, AMissingFolderIsNamed) {
  const absl::Status status =
      ProcessLock::TryTake((weft::testing::TestPath() / "no-such/lock").string()).status();
  EXPECT_FALSE(absl::IsFailedPrecondition(status));
  EXPECT_TRUE(status.message().starts_with("cannot open the lock ")) << status;
  EXPECT_NE(status.message().find("no-such/lock"), std::string_view::npos) << status;
}

}  // namespace
}  // namespace weft::control
