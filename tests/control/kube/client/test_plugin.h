// SPDX-License-Identifier: Apache-2.0
// The program test_plugin, next to the running test.
#pragma once

#include <string>
#include <vector>

namespace weft::testing {

std::string TestPlugin();
// Runs it below another process, in the words of this system's shell: {program, word...}.
std::vector<std::string> UnderAShell(const std::string& file);
// Whether the process that holds `file` open (`hang FILE`) is gone.
bool IsReleased(const std::string& file);

}  // namespace weft::testing
