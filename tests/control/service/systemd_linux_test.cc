// SPDX-License-Identifier: Apache-2.0
// systemd's protocol. A process has one supervisor: each case is a process of its own.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>

#include "absl/strings/str_replace.h"
#include "control/service/supervisor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/test_path.h"

namespace weft::service {
namespace {

using ::testing::ExitedWithCode;

TEST(SystemdTest, TheWatchdogOfThisProcessIsPingedTwiceInItsTime) {
  const struct {
    const char* time;
    const char* process;  // "@": this one
    int milliseconds;     // zero: it is not pinged
  } rows[] = {
      {"", "", 0},         {"0", "", 0},        {"100000", "", 50}, {"100000x", "", 0},
      {"100000", "@", 50}, {"100000", "@x", 0}, {"100000", "1", 0},
  };
  for (const auto& row : rows) {
    const auto set = [](const char* name, const std::string& value) {
      if (value.empty())
        ::unsetenv(name);
      else
        ::setenv(name, value.c_str(), 1);
    };
    const auto run = [&] {
      set("NOTIFY_SOCKET", "/none");
      set("WATCHDOG_USEC", row.time);
      set("WATCHDOG_PID", absl::StrReplaceAll(row.process, {{"@", std::to_string(::getpid())}}));
      std::_Exit(RunSupervised([](Supervisor& supervisor) {
        const control::Duration period = supervisor.watchdog_period().value_or(control::Duration());
        return static_cast<int>(period / std::chrono::milliseconds(1));
      }));
    };
    EXPECT_EXIT(run(), ExitedWithCode(row.milliseconds), "") << row.time << " " << row.process;
  }
}

TEST(SystemdTest, ReadinessIsSentUntilItArrivesAndAStatusOnce) {
  const auto run = [] {
    const std::string path = weft::testing::TestPath().string(), away = path + "-away";
    const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    RunSupervised([&](Supervisor& supervisor) {
      supervisor.Report({.reason = "no network"}, {});
      std::filesystem::rename(path, away);
      supervisor.Report({.ready = true}, {});
      std::filesystem::rename(away, path);
      for (int i = 0; i < 2; ++i) supervisor.Report({.ready = true}, {});
      supervisor.Report({.reason = "no node"}, {});
      supervisor.Report({.ready = true}, {});
      for (int i = 0; i < 2; ++i) supervisor.Stopping("SIGTERM");
      return 0;
    });
    std::filesystem::remove(path);
    char text[1024];
    for (ssize_t length; (length = ::recv(socket, text, sizeof text, 0)) > 0;)
      std::cerr << std::string_view(text, static_cast<std::size_t>(length)) << "|";
    std::_Exit(0);
  };
  EXPECT_EXIT(run(), ExitedWithCode(0),
              ::testing::StrEq("STATUS=not ready: no network|READY=1\nSTATUS=ready|"
                               "STATUS=not ready: no node|STATUS=ready|"
                               "STOPPING=1\nSTATUS=stopping on SIGTERM|"));
}

}  // namespace
}  // namespace weft::service
