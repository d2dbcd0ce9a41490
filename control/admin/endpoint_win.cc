// SPDX-License-Identifier: Apache-2.0
#include "control/admin/endpoint.h"

#include <windows.h>

#include <filesystem>

#include "control/file_io.h"
#include "control/own_files_win.h"

namespace weft::admin {

std::string_view DefaultEndpoint() { return R"(\\.\pipe\weft)"; }

std::string_view ReservedEndpoint() { return R"(\\.\pipe\ProtectedPrefix\Administrators\weft)"; }

std::string WhoElseHolds(const std::string& path) {
  const HANDLE pipe =
      ::CreateFileW(control::PathOf(path).c_str(), READ_CONTROL, 0, nullptr, OPEN_EXISTING,
                    SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION, nullptr);
  if (pipe == INVALID_HANDLE_VALUE)
    return ::GetLastError() == ERROR_ACCESS_DENIED ? "is closed to this account" : "";
  std::string who = control::WhoElseOwns(pipe);
  ::CloseHandle(pipe);
  return who;
}

}  // namespace weft::admin
