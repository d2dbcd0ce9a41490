// SPDX-License-Identifier: Apache-2.0
// A process's arguments and environment, in UTF-8 on every system: on Windows, those of the C
// library are in the ANSI code page, which cannot represent many names of adapters and folders.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace weft::control {

// The arguments after the program's name.
std::vector<std::string> Arguments(int argc, char** argv);

// An environment variable; empty: it is not set.
std::optional<std::string> Variable(const std::string& name);

// Windows: the words as one command line, which CommandLineToArgvW and the C runtime split into the
// same words. Quoted is what is empty or contains blanks or quotes.
std::string QuotedCommandLine(const std::vector<std::string>& words);

}  // namespace weft::control
