// SPDX-License-Identifier: Apache-2.0
#include "control/service/command_text.h"

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace weft::service {

std::string QuotedArgument(std::string_view argument) {
  if (!argument.empty() && argument.find_first_of(" \t\n\v\"") == argument.npos)
    return std::string(argument);
  std::string out = "\"";
  std::size_t backslashes = 0;  // right before this character
  for (const char c : argument) {
    if (c == '"') out.append(backslashes + 1, '\\');
    backslashes = c == '\\' ? backslashes + 1 : 0;
    out.push_back(c);
  }
  out.append(backslashes, '\\');
  out.push_back('"');
  return out;
}

std::string CommandText(std::string_view program, std::span<const std::string> arguments) {
  std::string out = absl::StrCat("\"", program, "\"");  // a path contains no quotes
  for (const std::string& argument : arguments)
    absl::StrAppend(&out, " ", QuotedArgument(argument));
  return out;
}

}  // namespace weft::service
