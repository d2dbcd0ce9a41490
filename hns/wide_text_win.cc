// SPDX-License-Identifier: Apache-2.0
#include "hns/wide_text_win.h"

#include <windows.h>

#include <combaseapi.h>

#include <cstddef>

namespace weft::hns {

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

TaskText::~TaskText() { ::CoTaskMemFree(text_); }

std::string TaskText::ToUtf8() const { return text_ == nullptr ? "" : Utf8(text_); }

}  // namespace weft::hns
