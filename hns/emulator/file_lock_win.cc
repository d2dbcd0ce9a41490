// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include "absl/strings/str_cat.h"
#include "hns/emulator/file_lock.h"

namespace weft::hns::emulator {
namespace {

absl::Status LastError(const char* what, const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("HNS emulator: cannot ", what, " its lock ", path, ": error ", GetLastError()));
}

}  // namespace

absl::StatusOr<FileLock> FileLock::Take(const std::string& path) {
  const HANDLE file =
      CreateFileA(path.c_str(), GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                  nullptr, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return LastError("open", path);
  FileLock lock(reinterpret_cast<std::intptr_t>(file));
  // Windows enforces it: an octet far behind what is read and written.
  OVERLAPPED where{};
  where.OffsetHigh = 1;
  if (!LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &where)) return LastError("take", path);
  return lock;
}

FileLock::~FileLock() {
  if (file_ != kNone) CloseHandle(reinterpret_cast<HANDLE>(file_));
}

}  // namespace weft::hns::emulator
