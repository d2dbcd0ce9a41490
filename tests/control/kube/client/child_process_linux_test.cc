// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>

#include "control/kube/client/child_process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::kube {
namespace {

const std::atomic<bool> kNever{false};

TEST(ChildProcessLinuxTest, NoneOfOurDescriptorsIsInherited) {
  const int open = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  const auto result = RunChild({"/bin/ls", {"/proc/self/fd"}, {}, std::chrono::minutes(1)}, kNever);
  ::close(open);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->output, "0\n1\n2\n3\n");  // 3: the folder that ls reads
}

// flanneld ignores SIGPIPE; a plugin expects it.
TEST(ChildProcessLinuxTest, SignalsAreAtTheirDefaults) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  const auto result =
      RunChild({"/bin/sh", {"-c", "kill -PIPE $$"}, {}, std::chrono::minutes(1)}, kNever);
  std::signal(SIGPIPE, before);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 128 + SIGPIPE);
}

// It would keep the pipe open for as long as it runs.
TEST(ChildProcessLinuxTest, WhatItLeavesRunningIsNotAwaited) {
  const auto result =
      RunChild({"/bin/sh", {"-c", "sleep 1000 & echo done"}, {}, std::chrono::minutes(1)}, kNever);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->output, "done\n");
}

}  // namespace
}  // namespace weft::kube
