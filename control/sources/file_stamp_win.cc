// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include <memory>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "control/sources/file_stamp.h"

namespace weft::control {
namespace {

absl::Status LastError(const char* what) {
  const DWORD code = GetLastError();
  const std::string text =
      absl::StrCat(what, ": ", std::system_category().message(static_cast<int>(code)));
  const bool missing = code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND;
  return missing ? absl::NotFoundError(text) : absl::UnavailableError(text);
}

struct CloseFile {
  void operator()(void* handle) const { CloseHandle(handle); }
};

std::uint64_t Join(DWORD high, DWORD low) { return (std::uint64_t{high} << 32) | low; }

}  // namespace

absl::StatusOr<FileStamp> StampOf(const std::filesystem::path& path) {
  // Metadata needs no access right; all sharing is allowed, so as not to delay a rename or write.
  void* const handle =
      CreateFileW(path.c_str(), 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                  OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (handle == INVALID_HANDLE_VALUE) return LastError("cannot be read");
  const std::unique_ptr<void, CloseFile> file(handle);
  BY_HANDLE_FILE_INFORMATION found{};
  if (!GetFileInformationByHandle(file.get(), &found)) return LastError("cannot be read");
  if ((found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0)
    return absl::InvalidArgumentError("is a directory");
  FileStamp stamp;
  stamp.size = Join(found.nFileSizeHigh, found.nFileSizeLow);
  stamp.modified = static_cast<std::int64_t>(
      Join(found.ftLastWriteTime.dwHighDateTime, found.ftLastWriteTime.dwLowDateTime));
  stamp.volume = found.dwVolumeSerialNumber;
  stamp.identity = Join(found.nFileIndexHigh, found.nFileIndexLow);
  return stamp;
}

}  // namespace weft::control
