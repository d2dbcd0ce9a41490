// SPDX-License-Identifier: Apache-2.0
// Any words and any environment: parsing ends, and its results are consistent. Input: words
// separated by NUL; a word "NAME=VALUE" after an empty word is a variable.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/config/flags.h"
#include "control/config/go_values.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::config;
  std::vector<std::string> words;
  std::map<std::string, std::string> variables;
  bool in_variables = false;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\0'), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (word.empty()) {
      in_variables = true;
    } else if (const std::size_t equals = word.find('='); in_variables && equals != word.npos) {
      variables[std::string(word.substr(0, equals))] = word.substr(equals + 1);
    } else if (!in_variables) {
      words.emplace_back(word);
    }
  }
  const Environment environment = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };

  const absl::StatusOr<CommandLine> line = ParseFlags(words, environment);
  if (!line.ok()) {
    Require(!line.status().message().empty());
    return 0;
  }
  // Parsing the same words again gives the same result.
  const absl::StatusOr<CommandLine> again = ParseFlags(words, environment);
  Require(again.ok() && again->warnings == line->warnings);
  for (const std::string& word : words) {
    const GoInt number = ParseGoInt(word);
    Require(number.error == GoIntError::kNone || number.value == 0);
  }
  return 0;
}
