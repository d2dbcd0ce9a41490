// SPDX-License-Identifier: Apache-2.0
// Wine starts the programs of the Linux below, and shows another user's file as ANONYMOUS LOGON's.
#include <windows.h>

#include <chrono>
#include <filesystem>

#include "tests/support/files/foreign_file.h"
#include "tests/support/wait.h"

namespace weft::testing {
namespace {

// Wine's own function: the name that Linux has for a file.
std::string UnixName(const std::string& path) {
  using Function = char*(CDECL*)(LPCWSTR);
  const auto name = reinterpret_cast<Function>(reinterpret_cast<void*>(
      ::GetProcAddress(::GetModuleHandleA("kernel32.dll"), "wine_get_unix_file_name")));
  if (!name) return {};
  char* const text = name(std::filesystem::path(path).c_str());
  std::string found = text ? text : "";
  ::HeapFree(::GetProcessHeap(), 0, text);
  return found;
}

// There is no handle of such a process, so it signals its end by a file.
bool RunOnLinux(const std::string& command, const std::string& path) {
  const std::string name = UnixName(path);
  const std::filesystem::path done = path + ".done";
  std::string line =
      "Z:\\bin\\sh -c \"" + command + " '" + name + "' && touch '" + name + ".done'\"";
  STARTUPINFOA start{};
  start.cb = sizeof start;
  PROCESS_INFORMATION process{};
  if (name.empty() || !::CreateProcessA("Z:\\bin\\sh", line.data(), nullptr, nullptr, FALSE, 0,
                                        nullptr, nullptr, &start, &process))
    return false;
  if (!Await(std::chrono::seconds(10), [&] { return std::filesystem::exists(done); }))
    PeerFailure("under Wine this did not end: " + line);
  return std::filesystem::remove(done);
}

}  // namespace

bool GiveAway(const std::string& path) { return RunOnLinux("chown -h 12345", path); }

bool AllowOtherUsersToWrite(const std::string& path) { return RunOnLinux("chmod 0666", path); }

}  // namespace weft::testing
