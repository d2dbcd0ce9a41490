// SPDX-License-Identifier: Apache-2.0
// Conversion between our UTF-8 and Windows' UTF-16.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// Bytes that are not UTF-8, and unpaired surrogates, become U+FFFD.
std::wstring Utf16(std::string_view text);
std::string Utf8(std::wstring_view text);
// "" for null.
inline std::string Utf8(const wchar_t* text) {
  return text == nullptr ? "" : Utf8(std::wstring_view(text));
}
inline std::string Utf8(const std::wstring& text) { return Utf8(std::wstring_view(text)); }

}  // namespace weft
