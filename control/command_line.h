// SPDX-License-Identifier: Apache-2.0
// What a process was started with, in UTF-8 on every system: main's words and the environment are
// in Windows' ANSI code page, which lacks most names of adapters and folders.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace weft::control {

// The words after the program's name.
std::vector<std::string> Arguments(int argc, char** argv);

// Of the environment; empty: it is not set.
std::optional<std::string> Variable(const std::string& name);

}  // namespace weft::control
