// SPDX-License-Identifier: Apache-2.0
// Text as Windows takes and gives it.
#pragma once

#include <string>
#include <string_view>

namespace weft::hns {

// Octets that are no UTF-8, and surrogates without a partner, become U+FFFD.
std::wstring Utf16(std::string_view text);
std::string Utf8(std::wstring_view text);

// A string that a DLL allocated for us, or NULL: freed with CoTaskMemFree.
class TaskText {
 public:
  TaskText() = default;
  ~TaskText();
  TaskText(const TaskText&) = delete;
  TaskText& operator=(const TaskText&) = delete;

  wchar_t** out() { return &text_; }  // for one call
  std::string ToUtf8() const;

 private:
  wchar_t* text_ = nullptr;
};

}  // namespace weft::hns
