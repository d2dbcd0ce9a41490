// SPDX-License-Identifier: Apache-2.0
#include "tests/support/octets.h"

#include <cstdio>
#include <cstdlib>

namespace weft {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

Octets Hex(std::string_view text) {
  Octets octets;
  int high = -1;  // the first digit of an unfinished octet
  for (const char c : text) {
    if (c == ' ' || c == '\n') continue;
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) {
      std::fprintf(stderr, "Hex: '%c' in \"%.*s\"\n", c, static_cast<int>(text.size()),
                   text.data());
      std::abort();
    }
    if (high < 0) {
      high = static_cast<int>(digit);
    } else {
      octets.push_back(static_cast<std::byte>(high * 16 + static_cast<int>(digit)));
      high = -1;
    }
  }
  if (high >= 0) {
    std::fprintf(stderr, "Hex: odd number of digits in \"%.*s\"\n", static_cast<int>(text.size()),
                 text.data());
    std::abort();
  }
  return octets;
}

Octets Concatenate(const Octets& a, const Octets& b) {
  Octets both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

std::string Dump(Bytes octets) {
  std::string text;
  for (std::size_t i = 0; i < octets.size(); ++i) {
    if (i % 16 == 0) {
      if (i != 0) text += '\n';
      for (int shift = 12; shift >= 0; shift -= 4) text += kDigits[i >> shift & 0xf];
      text += ':';
    }
    if (i % 2 == 0) text += ' ';
    text += kDigits[std::to_integer<std::size_t>(octets[i] >> 4)];
    text += kDigits[std::to_integer<std::size_t>(octets[i] & std::byte{0xf})];
  }
  return text + '\n';
}

std::string Show(Bytes frame, FrameStart start) { return Describe(frame, start) + Dump(frame); }

}  // namespace weft
