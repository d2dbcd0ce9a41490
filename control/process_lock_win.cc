// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "control/file_io.h"
#include "control/own_files_win.h"
#include "control/process_lock.h"

namespace weft::control {

// The lock is a file that is open without sharing.
absl::StatusOr<ProcessLock> ProcessLock::TryTake(const std::string& path) {
  const std::filesystem::path wide = PathOf(path);
  HANDLE file = INVALID_HANDLE_VALUE;
  const DWORD error = WithOwnAttributes([&](SECURITY_ATTRIBUTES* attributes) -> DWORD {
    file = ::CreateFileW(wide.c_str(), GENERIC_READ | GENERIC_WRITE, 0, attributes, OPEN_ALWAYS,
                         FILE_ATTRIBUTE_NORMAL, nullptr);
    return file == INVALID_HANDLE_VALUE ? ::GetLastError() : NO_ERROR;
  });
  if (error == NO_ERROR) return ProcessLock(reinterpret_cast<std::intptr_t>(file));
  if (error == ERROR_SHARING_VIOLATION)
    return absl::FailedPreconditionError(absl::StrCat("another process holds ", path));
  return absl::UnavailableError(
      absl::StrCat("cannot open the lock ", path, ": ",
                   std::system_category().message(static_cast<int>(error)), " (", error, ")"));
}

ProcessLock::~ProcessLock() {
  if (file_ != kNone) ::CloseHandle(reinterpret_cast<HANDLE>(file_));
}

}  // namespace weft::control
