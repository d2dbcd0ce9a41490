// SPDX-License-Identifier: Apache-2.0
// Where a test writes: tests run side by side, and two suites may name a test alike.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#ifdef _WIN32
#include <process.h>
#else
#include <unistd.h>
#endif

namespace weft::testing {

// The running test and its process, "WaitsForItsNode-4711": fit for a file's name, short enough for
// a socket's.
inline std::string TestName() {
#ifdef _WIN32
  const int process = ::_getpid();
#else
  const int process = ::getpid();
#endif
  std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::replace(name.begin(), name.end(), '/', '_');
  return name + "-" + std::to_string(process);
}

// A path of the running test's own. Nothing makes or removes what it names.
inline std::filesystem::path TestPath() {
  return std::filesystem::path(::testing::TempDir()) / ("weft-" + TestName());
}

inline std::string Utf8(const std::filesystem::path& path) {
  const std::u8string text = path.u8string();
  return {text.begin(), text.end()};
}

// TestPath() for a local socket: on Windows a pipe's name. Another `suffix`, another socket.
inline std::string TestSocket(const std::string& suffix = "") {
#ifdef _WIN32
  return R"(\\.\pipe\weft-)" + TestName() + suffix;
#else
  return TestPath().string() + suffix;
#endif
}

}  // namespace weft::testing
