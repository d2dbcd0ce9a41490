// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include <filesystem>

#include "tests/support/files/open_file.h"

namespace weft::testing {

OpenFile::OpenFile(const std::string& path)
    : file_(reinterpret_cast<std::intptr_t>(
          ::CreateFileW(std::filesystem::u8path(path).c_str(), GENERIC_READ,
                        FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                        OPEN_EXISTING, 0, nullptr))) {}

OpenFile::~OpenFile() {
  if (is_open()) ::CloseHandle(reinterpret_cast<HANDLE>(file_));
}

bool OpenFile::is_open() const { return file_ != -1; }

std::string OpenFile::Text() {
  std::string text;
  char piece[4096];
  ::SetFilePointer(reinterpret_cast<HANDLE>(file_), 0, nullptr, FILE_BEGIN);
  for (DWORD size = 1; size > 0;) {
    if (!::ReadFile(reinterpret_cast<HANDLE>(file_), piece, sizeof piece, &size, nullptr)) break;
    text.append(piece, size);
  }
  return text;
}

}  // namespace weft::testing
