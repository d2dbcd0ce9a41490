// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <system_error>

#include "tests/control/kube/client/test_plugin.h"

namespace weft::testing {

namespace fs = std::filesystem;

std::string TestPlugin() {
  return fs::read_symlink("/proc/self/exe").parent_path() / "test_plugin";
}

std::vector<std::string> UnderAShell(const std::string& file) {
  return {"/bin/sh", "-c", "'" + TestPlugin() + "' hang '" + file + "' & wait"};
}

bool IsReleased(const std::string& file) {
  std::error_code error;
  for (const fs::directory_entry& process : fs::directory_iterator("/proc")) {
    const std::string name = process.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    for (fs::directory_iterator fd(process.path() / "fd", error), end; !error && fd != end;
         fd.increment(error)) {
      std::error_code gone;
      if (fs::read_symlink(fd->path(), gone) == file) return false;
    }
  }
  return true;
}

}  // namespace weft::testing
