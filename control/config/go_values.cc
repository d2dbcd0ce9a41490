// SPDX-License-Identifier: Apache-2.0
#include "control/config/go_values.h"

#include <charconv>
#include <limits>
#include <string>
#include <system_error>

namespace weft::config {
namespace {

// Of "0x...", "0b...", "0o..."; zero: `digits` has no such prefix.
int BaseOfPrefix(std::string_view digits) {
  if (digits.size() < 3 || digits[0] != '0') return 0;
  switch (digits[1]) {
    case 'b':
    case 'B':
      return 2;
    case 'o':
    case 'O':
      return 8;
    case 'x':
    case 'X':
      return 16;
    default:
      return 0;
  }
}

}  // namespace

std::optional<bool> ParseGoBool(std::string_view text) {
  for (std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (text == yes) return true;
  for (std::string_view no : {"0", "f", "F", "false", "FALSE", "False"})
    if (text == no) return false;
  return std::nullopt;
}

GoInt ParseGoInt(std::string_view text) {
  constexpr GoInt kSyntax{0, GoIntError::kSyntax};
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return kSyntax;

  int base = BaseOfPrefix(text);
  bool after_digit = base != 0;  // an underscore may follow: a digit, or the prefix
  if (base != 0)
    text.remove_prefix(2);
  else
    base = text[0] == '0' ? 8 : 10;
  std::string digits;
  for (const char c : text) {
    if (c != '_') digits += c;
    if (c == '_' && !after_digit) return kSyntax;
    after_digit = c != '_';
  }
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [read, error] = std::from_chars(digits.data(), end, value, base);
  if (!after_digit || read != end) return kSyntax;
  const std::uint64_t limit =
      static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) + (negative ? 1u : 0u);
  if (error != std::errc() || value > limit) return {0, GoIntError::kRange};
  return {static_cast<std::int64_t>(negative ? 0 - value : value), GoIntError::kNone};
}

}  // namespace weft::config
