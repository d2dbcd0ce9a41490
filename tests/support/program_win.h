// SPDX-License-Identifier: Apache-2.0
// A Windows program that a test runs.
#pragma once

#include <windows.h>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/wait.h"

namespace weft::testing {

inline std::string ReadText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  std::erase(text, '\r');
  return text;
}

inline HANDLE Inheritable(const std::filesystem::path& path) {
  SECURITY_ATTRIBUTES attributes{sizeof attributes, nullptr, TRUE};
  return ::CreateFileW(path.c_str(), GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, &attributes,
                       CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
}

// A program whose output is written to files; the destructor ends it. About one in five thousand
// ends in Wine's own start-up, before main and without output: it is started once more.
class Program {
 public:
  Program(const std::string& program, const std::vector<std::string>& words,
          std::filesystem::path out, std::filesystem::path err)
      : line_("\"" + program + "\""), out_(std::move(out)), err_(std::move(err)) {
    for (const std::string& word : words) line_ += " \"" + word + "\"";
    Start();
  }
  ~Program() {
    if (Running()) ::TerminateProcess(process_.hProcess, 99);
    EXPECT_TRUE(Await(std::chrono::seconds(30), [&] { return !Running(); })) << line_;
    Close();
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  bool Running() const { return ::WaitForSingleObject(process_.hProcess, 0) == WAIT_TIMEOUT; }
  DWORD id() const { return process_.dwProcessId; }
  // Its exit status.
  DWORD Wait(std::source_location where = std::source_location::current()) {
    EXPECT_TRUE(Await({std::chrono::seconds(30), where}, [&] { return HasEnded(); })) << line_;
    return code();
  }
  // Until `text` is in its standard error.
  ::testing::AssertionResult Prints(const std::string& text,
                                    std::source_location where = std::source_location::current()) {
    const auto printed = [&] { return error().find(text) != std::string::npos; };
    auto came = Await({std::chrono::seconds(30), where}, [&] { return printed() || HasEnded(); });
    return (printed() ? came : ::testing::AssertionFailure()) << error();
  }
  std::string output() const { return ReadText(out_); }
  std::string error() const { return ReadText(err_); }

 private:
  void Start() {
    STARTUPINFOW start{};
    start.cb = sizeof start;
    start.dwFlags = STARTF_USESTDHANDLES;
    start.hStdOutput = Inheritable(out_);
    start.hStdError = Inheritable(err_);
    std::wstring wide = std::filesystem::path(std::u8string(line_.begin(), line_.end())).wstring();
    EXPECT_TRUE(::CreateProcessW(nullptr, wide.data(), nullptr, nullptr, TRUE, CREATE_NO_WINDOW,
                                 nullptr, nullptr, &start, &process_))
        << line_ << ": " << ::GetLastError();
    ::CloseHandle(start.hStdOutput);
    ::CloseHandle(start.hStdError);
  }
  void Close() const {
    ::CloseHandle(process_.hThread);
    ::CloseHandle(process_.hProcess);
  }
  DWORD code() const {
    DWORD code = 4711;
    ::GetExitCodeProcess(process_.hProcess, &code);
    return code;
  }
  bool HasEnded() {
    if (Running()) return false;
    if (code() == 0 || !output().empty() || !error().empty()) return true;
    if (restarted_) PeerFailure("ended twice without output: " + line_);
    restarted_ = true;
    Close();
    Start();
    return false;
  }

  std::string line_;
  const std::filesystem::path out_, err_;
  PROCESS_INFORMATION process_{};
  bool restarted_ = false;
};

}  // namespace weft::testing
