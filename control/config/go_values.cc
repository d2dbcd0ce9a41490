// SPDX-License-Identifier: Apache-2.0
#include "control/config/go_values.h"

#include <limits>

namespace weft::config {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The digit's value, or 99 for what is none.
unsigned DigitOf(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  c = Lower(c);
  return c >= 'a' && c <= 'z' ? static_cast<unsigned>(c - 'a' + 10) : 99;
}

unsigned BaseOfPrefix(std::string_view digits) {
  if (digits.size() < 3 || digits[0] != '0') return 0;
  switch (Lower(digits[1])) {
    case 'b':
      return 2;
    case 'o':
      return 8;
    case 'x':
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
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  if (text.empty()) return kSyntax;

  unsigned base = BaseOfPrefix(text);
  bool after_digit = false;  // an underscore may follow: a digit, or the prefix
  if (base != 0) {
    text.remove_prefix(2);
    after_digit = true;
  } else {
    base = text[0] == '0' ? 8 : 10;
  }
  const std::uint64_t limit =
      static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) + (negative ? 1u : 0u);
  std::uint64_t value = 0;
  bool too_large = false;
  for (const char c : text) {
    if (c == '_') {
      if (!after_digit) return kSyntax;
      after_digit = false;
      continue;
    }
    const unsigned digit = DigitOf(c);
    if (digit >= base) return kSyntax;
    after_digit = true;
    if (value > (limit - digit) / base) too_large = true;
    if (!too_large) value = value * base + digit;
  }
  if (!after_digit) return kSyntax;
  if (too_large) return {0, GoIntError::kRange};
  return {static_cast<std::int64_t>(negative ? 0 - value : value), GoIntError::kNone};
}

}  // namespace weft::config
