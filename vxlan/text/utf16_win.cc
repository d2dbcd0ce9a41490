// SPDX-License-Identifier: Apache-2.0
#include "vxlan/text/utf16_win.h"

#include <windows.h>

#include <cstddef>

namespace weft {

std::wstring Utf16(std::string_view text) {
  const int in = static_cast<int>(text.size());
  const int size = ::MultiByteToWideChar(CP_UTF8, 0, text.data(), in, nullptr, 0);
  if (size <= 0) return L"";
  std::wstring out(static_cast<std::size_t>(size), L'\0');
  ::MultiByteToWideChar(CP_UTF8, 0, text.data(), in, out.data(), size);
  return out;
}

std::string Utf8(std::wstring_view text) {
  const int in = static_cast<int>(text.size());
  const int size = ::WideCharToMultiByte(CP_UTF8, 0, text.data(), in, nullptr, 0, nullptr, nullptr);
  if (size <= 0) return "";
  std::string out(static_cast<std::size_t>(size), '\0');
  ::WideCharToMultiByte(CP_UTF8, 0, text.data(), in, out.data(), size, nullptr, nullptr);
  return out;
}

}  // namespace weft
