// SPDX-License-Identifier: Apache-2.0
// A Windows program that a test runs.
#pragma once

#include <windows.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

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

// A program whose output is written to files; the destructor ends it.
class Program {
 public:
  Program(const std::string& program, const std::vector<std::string>& words,
          std::filesystem::path out, std::filesystem::path err)
      : out_(std::move(out)), err_(std::move(err)) {
    std::string line = "\"" + program + "\"";
    for (const std::string& word : words) line += " \"" + word + "\"";
    STARTUPINFOW start{};
    start.cb = sizeof start;
    start.dwFlags = STARTF_USESTDHANDLES;
    start.hStdOutput = Inheritable(out_);
    start.hStdError = Inheritable(err_);
    std::wstring wide = std::filesystem::path(std::u8string(line.begin(), line.end())).wstring();
    EXPECT_TRUE(::CreateProcessW(nullptr, wide.data(), nullptr, nullptr, TRUE, CREATE_NO_WINDOW,
                                 nullptr, nullptr, &start, &process_))
        << line << ": " << ::GetLastError();
    ::CloseHandle(start.hStdOutput);
    ::CloseHandle(start.hStdError);
  }
  ~Program() {
    if (Running()) ::TerminateProcess(process_.hProcess, 99);
    Wait();
    ::CloseHandle(process_.hThread);
    ::CloseHandle(process_.hProcess);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  bool Running() const { return ::WaitForSingleObject(process_.hProcess, 0) == WAIT_TIMEOUT; }
  DWORD id() const { return process_.dwProcessId; }
  DWORD Wait() const {
    DWORD code = 4711;
    EXPECT_EQ(::WaitForSingleObject(process_.hProcess, 30'000), DWORD{WAIT_OBJECT_0});
    ::GetExitCodeProcess(process_.hProcess, &code);
    return code;
  }
  std::string output() const { return ReadText(out_); }
  std::string error() const { return ReadText(err_); }

 private:
  const std::filesystem::path out_, err_;
  PROCESS_INFORMATION process_{};
};

}  // namespace weft::testing
