// SPDX-License-Identifier: Apache-2.0
#include "control/admin/endpoint.h"

#include <windows.h>

#include <string>

#include "control/file_io.h"
#include "control/own_files_win.h"

namespace weft::admin {
namespace {

constexpr DWORD kBusyMs = 100;

}  // namespace

std::string_view DefaultEndpoint() { return R"(\\.\pipe\weft)"; }

std::string_view ReservedEndpoint() { return R"(\\.\pipe\ProtectedPrefix\Administrators\weft)"; }

std::string ForeignHolder(const std::string& path) {
  const std::wstring name = control::PathOf(path).wstring();
  const auto open = [&name] {
    return ::CreateFileW(name.c_str(), READ_CONTROL, 0, nullptr, OPEN_EXISTING,
                         SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION, nullptr);
  };
  HANDLE pipe = open();
  // A server is busy until it creates its next instance; one that creates none stays busy.
  if (pipe == INVALID_HANDLE_VALUE && ::GetLastError() == ERROR_PIPE_BUSY) {
    ::WaitNamedPipeW(name.c_str(), kBusyMs);
    pipe = open();
  }
  if (pipe == INVALID_HANDLE_VALUE) {
    switch (::GetLastError()) {
      case ERROR_PIPE_BUSY:
        return "is held by a program that serves no client";
      case ERROR_ACCESS_DENIED:
        return "is closed to this account";
      default:
        return "";
    }
  }
  std::string who = control::ForeignOwner(pipe);
  ::CloseHandle(pipe);
  return who;
}

}  // namespace weft::admin
