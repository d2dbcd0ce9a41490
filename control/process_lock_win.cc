// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "control/file_io.h"
#include "control/own_files_win.h"
#include "control/process_lock.h"

namespace weft::control {

// Ours is open without sharing.
absl::StatusOr<ProcessLock> ProcessLock::Take(const std::string& path, bool ours) {
  const std::filesystem::path wide = PathOf(path);
  HANDLE file = INVALID_HANDLE_VALUE;
  const auto open = [&](SECURITY_ATTRIBUTES* attributes) -> DWORD {
    file = ::CreateFileW(wide.c_str(), GENERIC_READ | GENERIC_WRITE,
                         ours ? 0 : FILE_SHARE_READ | FILE_SHARE_WRITE, attributes, OPEN_ALWAYS,
                         FILE_ATTRIBUTE_NORMAL, nullptr);
    return file == INVALID_HANDLE_VALUE ? ::GetLastError() : NO_ERROR;
  };
  DWORD error = ours ? WithOwnAttributes(open) : open(nullptr);
  if (error == NO_ERROR) {
    ProcessLock lock(reinterpret_cast<std::intptr_t>(file));
    OVERLAPPED at{};
    if (ours ||
        ::LockFileEx(file, LOCKFILE_FAIL_IMMEDIATELY | LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &at))
      return lock;
    error = ::GetLastError();
  }
  if (error == ERROR_SHARING_VIOLATION || error == ERROR_LOCK_VIOLATION ||
      error == ERROR_IO_PENDING)
    return absl::FailedPreconditionError(absl::StrCat("another process holds ", path));
  return absl::UnavailableError(
      absl::StrCat("cannot open the lock ", path, ": ",
                   std::system_category().message(static_cast<int>(error)), " (", error, ")"));
}

ProcessLock::~ProcessLock() {
  if (file_ == kNone) return;
  const HANDLE file = reinterpret_cast<HANDLE>(file_);
  OVERLAPPED at{};
  // Closing releases host-local's too, but Windows does not say when.
  ::UnlockFileEx(file, 0, 1, 0, &at);
  ::CloseHandle(file);
}

}  // namespace weft::control
