// SPDX-License-Identifier: Apache-2.0
#include "control/command_line.h"

#include <windows.h>

#include <shellapi.h>

#include <string_view>

#include "control/file_io.h"
#include "vxlan/text/utf16_win.h"

namespace weft::control {

std::vector<std::string> Arguments(int argc, char** argv) {
  int count = 0;
  wchar_t** const words = ::CommandLineToArgvW(::GetCommandLineW(), &count);
  if (!words) return {argv + (argc > 0 ? 1 : 0), argv + argc};
  std::vector<std::string> out;
  for (int i = 1; i < count; ++i) out.push_back(Utf8(std::wstring_view(words[i])));
  ::LocalFree(words);
  return out;
}

std::optional<std::string> Variable(const std::string& name) {
  const std::wstring wide = PathOf(name).wstring();
  std::wstring value(256, L'\0');
  for (;;) {
    ::SetLastError(NO_ERROR);  // an empty value is no error
    const DWORD size =
        ::GetEnvironmentVariableW(wide.c_str(), value.data(), static_cast<DWORD>(value.size()));
    if (size == 0 && ::GetLastError() != NO_ERROR) return std::nullopt;
    if (size < value.size()) return Utf8(std::wstring_view(value).substr(0, size));
    value.resize(size + 1);
  }
}

}  // namespace weft::control
