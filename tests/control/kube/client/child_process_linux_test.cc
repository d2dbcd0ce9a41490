// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "control/child_process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/control/kube/client/test_plugin.h"
#include "tests/support/test_path.h"
#include "tests/support/wait.h"

namespace weft::control {
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

// As a shell without job control, or an old supervisor, starts flanneld.
TEST(ChildProcessLinuxTest, ItsEndIsSeenWhereSigchldWasIgnored) {
  std::signal(SIGCHLD, SIG_IGN);
  const auto result =
      RunChild({"/bin/sh", {"-c", "/bin/true; exit 3"}, {}, std::chrono::minutes(1)}, kNever);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 3);
}

// A process group is not enough.
TEST(ChildProcessLinuxTest, WhatItStartsInASessionOfItsOwnIsKilledToo) {
  const std::string file = testing::TestPath().string();
  const std::string begin =
      "setsid flock " + file + " sleep 1000 & until [ -e " + file + " ]; do :; done; ";
  for (const bool stopped : {false, true}) {
    std::filesystem::remove(file);
    std::atomic<bool> stop{false};
    std::thread stopper([&] {
      if (!stopped) return;
      EXPECT_TRUE(
          testing::Await(std::chrono::minutes(1), [&] { return std::filesystem::exists(file); }));
      stop = true;
    });
    const auto result = RunChild({"/bin/sh",
                                  {"-c", begin + (stopped ? "exec sleep 1000" : "exit 3")},
                                  {},
                                  std::chrono::minutes(1)},
                                 stop);
    stopper.join();
    EXPECT_EQ(result.status().code(),
              stopped ? absl::StatusCode::kCancelled : absl::StatusCode::kOk);
    EXPECT_TRUE(testing::IsReleased(file)) << (stopped ? "when it is killed" : "when it ends");
  }
  std::filesystem::remove(file);
}

// A fork copies the page tables and write-protects the pages, packets' too, until the child ends.
TEST(ChildProcessLinuxTest, NoPageOfOursIsCopiedWhileItRuns) {
  const std::string file = testing::TestPath().string();
  std::vector<char> memory(std::size_t{64} << 20);
  const auto faults_of_writing = [&memory] {
    volatile char* const bytes = memory.data();
    rusage before{}, after{};
    ::getrusage(RUSAGE_THREAD, &before);
    for (std::size_t i = 0; i < memory.size(); i += 4096) bytes[i] = 1;
    ::getrusage(RUSAGE_THREAD, &after);
    return after.ru_minflt - before.ru_minflt;
  };
  for (const bool supervised : {true, false}) {
    std::filesystem::remove(file);
    std::atomic<bool> stop{false};
    ChildSpec spec{
        "/bin/sh", {"-c", ": >" + file + "; exec sleep 1000"}, {}, std::chrono::minutes(1)};
    spec.supervised = supervised;
    faults_of_writing();
    std::thread child(
        [&] { EXPECT_EQ(RunChild(spec, stop).status().code(), absl::StatusCode::kCancelled); });
    EXPECT_TRUE(
        testing::Await(std::chrono::minutes(1), [&] { return std::filesystem::exists(file); }));
    EXPECT_LT(faults_of_writing(), 1000) << "of 16384 pages; supervised: " << supervised;
    stop = true;
    child.join();
  }
  std::filesystem::remove(file);
}

// What ends before the program, and has no other parent any more, is reaped and no more.
TEST(ChildProcessLinuxTest, TheEndOfAnOrphanIsNotTheEnd) {
  const auto result = RunChild(
      {"/bin/sh",
       {"-c", "(: & echo $!) | { read orphan; while kill -0 $orphan; do :; done; exit 3; }"},
       {},
       std::chrono::minutes(1)},
      kNever);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 3);
}

TEST(ChildProcessLinuxTest, WithoutDescriptorsForItsPipesItIsNotStarted) {
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const int next = ::dup(STDERR_FILENO);
  ::close(next);
  for (const int left : {1, 3, 5}) {
    const rlimit few{static_cast<rlim_t>(next + left), usual.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    const auto result = RunChild({"/bin/true", {}, {}, std::chrono::minutes(1)}, kNever);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
    EXPECT_EQ(result.status().message(), "cannot be started: Too many open files") << left;
  }
}

TEST(FindProgramLinuxTest, OnlyAFileThatMayBeExecutedIsOne) {
  const std::filesystem::path folder = testing::TestPath(), file = folder / "file",
                              loop = folder / "loop";
  std::filesystem::create_directory(folder);
  std::ofstream(file) << "#!/bin/sh\n";
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  for (const auto& path : {folder, file, folder / "none", file / "below"}) {
    EXPECT_EQ(FindProgram(path.string(), "", "").status().message(),
              "\"" + path.string() + "\" is no program");
  }
  std::filesystem::create_symlink(loop, loop);
  EXPECT_EQ(FindProgram(loop.string(), "", "").status().message(),
            "\"" + loop.string() + "\" is no program (" + loop.string() +
                ": Too many levels of symbolic links)");
  std::filesystem::permissions(file, std::filesystem::perms(0755));
  EXPECT_EQ(FindProgram(file.string(), "", "").value(), file.string());
  std::filesystem::remove_all(folder);
}

// It would keep the pipe open for as long as it runs.
TEST(ChildProcessLinuxTest, WhatItLeavesRunningIsNotAwaited) {
  const auto result =
      RunChild({"/bin/sh", {"-c", "sleep 1000 & echo done"}, {}, std::chrono::minutes(1)}, kNever);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->output, "done\n");
}

}  // namespace
}  // namespace weft::control
