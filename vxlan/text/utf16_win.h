// SPDX-License-Identifier: Apache-2.0
// Text on its way between our UTF-8 and Windows.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// Bytes that are no UTF-8, and surrogates without a partner, become U+FFFD.
std::wstring Utf16(std::string_view text);
std::string Utf8(std::wstring_view text);
// "" for null.
inline std::string Utf8(const wchar_t* text) {
  return text == nullptr ? "" : Utf8(std::wstring_view(text));
}
inline std::string Utf8(const std::wstring& text) { return Utf8(std::wstring_view(text)); }

}  // namespace weft
