// SPDX-License-Identifier: Apache-2.0
#include "control/command_line.h"

namespace weft::control {

std::string QuotedCommandLine(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_of(" \t\n\v\"") == std::string::npos) {
      line += word;
      continue;
    }
    // Backslashes are doubled only in front of a quote.
    line += '"';
    std::size_t backslashes = 0;
    for (const char c : word) {
      if (c == '"') line.append(backslashes + 1, '\\');
      backslashes = c == '\\' ? backslashes + 1 : 0;
      line += c;
    }
    line.append(backslashes, '\\');
    line += '"';
  }
  return line;
}

}  // namespace weft::control
