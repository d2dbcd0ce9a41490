// SPDX-License-Identifier: Apache-2.0
// Included after winsock2.h, which Asio wants first.
#pragma once

#include <windows.h>

#include <string>

namespace weft::admin {

// Of UTF-8.
inline std::wstring PipeName(const std::string& path) {
  const int length = static_cast<int>(path.size());
  std::wstring name(
      static_cast<std::size_t>(::MultiByteToWideChar(CP_UTF8, 0, path.data(), length, nullptr, 0)),
      L'\0');
  ::MultiByteToWideChar(CP_UTF8, 0, path.data(), length, name.data(),
                        static_cast<int>(name.size()));
  return name;
}

}  // namespace weft::admin
