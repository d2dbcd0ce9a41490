// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "control/cni/host_local_lock.h"
#include "control/file_io.h"

namespace weft::cni {

absl::StatusOr<HostLocalLock> HostLocalLock::TryTake(const std::string& path) {
  const std::filesystem::path wide = control::PathOf(path);
  const auto failure = [&](const char* what, DWORD error) {
    return absl::UnavailableError(
        absl::StrCat(what, path, ": ", std::system_category().message(static_cast<int>(error)),
                     " (", error, ")"));
  };
  const HANDLE file =
      ::CreateFileW(wide.c_str(), GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                    nullptr, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return failure("cannot open the lock ", ::GetLastError());
  HostLocalLock lock(reinterpret_cast<std::intptr_t>(file));
  OVERLAPPED at{};
  if (::LockFileEx(file, LOCKFILE_FAIL_IMMEDIATELY | LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &at))
    return lock;
  const DWORD error = ::GetLastError();
  if (error == ERROR_LOCK_VIOLATION || error == ERROR_IO_PENDING)
    return absl::FailedPreconditionError(absl::StrCat("another process holds ", path));
  return failure("cannot take the lock ", error);
}

HostLocalLock::~HostLocalLock() {
  if (file_ == kNone) return;
  const HANDLE file = reinterpret_cast<HANDLE>(file_);
  OVERLAPPED at{};
  // Closing releases it too, but Windows does not say when.
  ::UnlockFileEx(file, 0, 1, 0, &at);
  ::CloseHandle(file);
}

}  // namespace weft::cni
