// SPDX-License-Identifier: Apache-2.0
// A program and its arguments as one command line of Windows, which CommandLineToArgvW and the C
// runtime split into the same words.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weft::service {

// One argument: quoted where it is empty or contains blanks or quotes. Backslashes count only
// before a quote, and are doubled there.
std::string QuotedArgument(std::string_view argument);

// `program` is always quoted: Windows would run C:\Program.exe for an unquoted C:\Program Files.
std::string CommandText(std::string_view program, std::span<const std::string> arguments);

}  // namespace weft::service
