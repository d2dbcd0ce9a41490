// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include <random>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "control/file_io.h"
#include "control/own_files_win.h"

namespace weft::control {
namespace {

// A reader (the CNI plugin, a virus scanner) that has the file open prevents its replacement, for a
// short time.
constexpr int kAttempts = 20;
constexpr DWORD kPauseMs = 25;

absl::Status Failure(std::string_view what, DWORD code) {
  const bool full = code == ERROR_DISK_FULL || code == ERROR_HANDLE_DISK_FULL;
  return absl::Status(
      full ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kUnavailable,
      absl::StrCat(what, ": ", std::system_category().message(static_cast<int>(code)), " (", code,
                   ")"));
}

DWORD OpenToWrite(const std::wstring& path, DWORD disposition, HANDLE& file) {
  return WithOwnAttributes([&](SECURITY_ATTRIBUTES* attributes) -> DWORD {
    file = ::CreateFileW(path.c_str(), GENERIC_WRITE | FILE_READ_ATTRIBUTES, 0, attributes,
                         disposition, FILE_ATTRIBUTE_NORMAL, nullptr);
    return file == INVALID_HANDLE_VALUE ? ::GetLastError() : NO_ERROR;
  });
}

DWORD WriteAll(HANDLE file, std::string_view text) {
  DWORD written = 0;
  if (!::WriteFile(file, text.data(), static_cast<DWORD>(text.size()), &written, nullptr))
    return ::GetLastError();
  return written == text.size() ? NO_ERROR : ERROR_DISK_FULL;
}

// And closes it.
DWORD Sync(HANDLE file, DWORD error) {
  if (error == NO_ERROR && !::FlushFileBuffers(file)) error = ::GetLastError();
  ::CloseHandle(file);
  return error;
}

bool IsPassing(DWORD error) {
  return error == ERROR_SHARING_VIOLATION || error == ERROR_ACCESS_DENIED ||
         error == ERROR_LOCK_VIOLATION;
}

}  // namespace

absl::Status ReplaceFileText(const std::string& path,
                             absl::FunctionRef<absl::Status(TextSink)> write) {
  const std::wstring target = PathOf(path).wstring();
  const std::wstring temporary = PathOf(TemporaryOf(path)).wstring();
  // Always a new file: a file that another user put there is not written to.
  HANDLE file = INVALID_HANDLE_VALUE;
  DWORD error = OpenToWrite(temporary, CREATE_NEW, file);
  absl::Status status;
  if (error == NO_ERROR) {
    status = write([&](std::string_view piece) {
      if (error == NO_ERROR) error = WriteAll(file, piece);
    });
    error = Sync(file, error);
  }
  if (error != NO_ERROR) status = Failure("cannot write a file next to it", error);
  if (!status.ok()) {
    if (error != ERROR_FILE_EXISTS) ::DeleteFileW(temporary.c_str());
    return status;
  }
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (::MoveFileExW(temporary.c_str(), target.c_str(),
                      MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) {
      return absl::OkStatus();
    }
    error = ::GetLastError();
    if (!IsPassing(error)) break;
    ::Sleep(kPauseMs);
  }
  ::DeleteFileW(temporary.c_str());
  return Failure("cannot replace it", error);
}

absl::Status AppendFileText(const std::string& path, std::size_t size, const std::string& text) {
  HANDLE file = INVALID_HANDLE_VALUE;
  DWORD error = NO_ERROR;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    error = OpenToWrite(PathOf(path).wstring(), OPEN_ALWAYS, file);
    if (!IsPassing(error)) break;
    ::Sleep(kPauseMs);
  }
  if (error != NO_ERROR) return Failure("cannot open it", error);
  LARGE_INTEGER at{}, length{};
  at.QuadPart = static_cast<LONGLONG>(size);
  if (::GetFileSizeEx(file, &length) && length.QuadPart < at.QuadPart) {
    ::CloseHandle(file);
    return absl::OutOfRangeError("another process has cut it short");
  }
  if (!::SetFilePointerEx(file, at, nullptr, FILE_BEGIN) || !::SetEndOfFile(file)) {
    error = ::GetLastError();
    ::CloseHandle(file);
  } else {
    error = Sync(file, WriteAll(file, text));
  }
  return error == NO_ERROR ? absl::OkStatus() : Failure("cannot write it", error);
}

// A random name that the first caller stores in a volatile registry key, which Windows keeps in
// memory only, until the next boot.
std::string BootId() {
  HKEY key = nullptr;
  DWORD disposition = 0;
  if (::RegCreateKeyExW(HKEY_LOCAL_MACHINE, L"SOFTWARE\\weft\\boot", 0, nullptr,
                        REG_OPTION_VOLATILE, KEY_READ | KEY_WRITE, nullptr, &key,
                        &disposition) != ERROR_SUCCESS)
    return {};
  const auto read = [key] {
    char text[64];
    DWORD size = sizeof text;
    const LSTATUS status = ::RegGetValueA(key, nullptr, "Id", RRF_RT_REG_SZ, nullptr, text, &size);
    return status == ERROR_SUCCESS ? std::string(text) : std::string();
  };
  std::string id = read();
  // The process that created the key writes the value; others wait for it, but not forever, because
  // that process may have died.
  for (int attempt = 0; id.empty() && disposition != REG_CREATED_NEW_KEY && attempt < kAttempts;
       ++attempt) {
    ::Sleep(kPauseMs);
    id = read();
  }
  if (id.empty()) {
    const std::string made = absl::StrCat(std::random_device()(), "-", std::random_device()());
    ::RegSetValueExA(key, "Id", 0, REG_SZ, reinterpret_cast<const BYTE*>(made.c_str()),
                     static_cast<DWORD>(made.size() + 1));
    id = read();
  }
  ::RegCloseKey(key);
  return id;
}

void ForgetBootId() { ::RegDeleteTreeW(HKEY_LOCAL_MACHINE, L"SOFTWARE\\weft"); }

}  // namespace weft::control
