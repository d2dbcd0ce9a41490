// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include <filesystem>
#include <system_error>

#include "tests/control/kube/client/test_plugin.h"
#include "vxlan/text/utf16_win.h"

namespace weft::testing {

std::string TestPlugin() {
  wchar_t self[MAX_PATH];
  ::GetModuleFileNameW(nullptr, self, MAX_PATH);
  return Utf8((std::filesystem::path(self).parent_path() / "test_plugin.exe").wstring());
}

std::vector<std::string> UnderAShell(const std::string& file) {
  wchar_t system[MAX_PATH];
  ::GetSystemDirectoryW(system, MAX_PATH);
  return {Utf8(std::wstring(system)) + "\\cmd.exe", "/c", TestPlugin(), "hang", file};
}

// An open file cannot be removed.
bool IsReleased(const std::string& file) {
  std::error_code error;
  return std::filesystem::remove(file, error) && !error;
}

}  // namespace weft::testing
