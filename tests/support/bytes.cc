// SPDX-License-Identifier: Apache-2.0
#include "tests/support/bytes.h"

#include <cstdio>
#include <cstdlib>

namespace weft {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

ByteVector Hex(std::string_view text) {
  ByteVector bytes;
  int high = -1;  // the first digit of an unfinished byte
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
      bytes.push_back(static_cast<std::byte>(high * 16 + static_cast<int>(digit)));
      high = -1;
    }
  }
  if (high >= 0) {
    std::fprintf(stderr, "Hex: odd number of digits in \"%.*s\"\n", static_cast<int>(text.size()),
                 text.data());
    std::abort();
  }
  return bytes;
}

ByteVector Concatenate(const ByteVector& a, const ByteVector& b) {
  ByteVector both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

ByteVector Cut(ByteVector bytes, std::size_t size) {
  bytes.resize(size);
  return bytes;
}

std::string Dump(Bytes bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % 16 == 0) {
      if (i != 0) text += '\n';
      for (int shift = 12; shift >= 0; shift -= 4) text += kDigits[i >> shift & 0xf];
      text += ':';
    }
    if (i % 2 == 0) text += ' ';
    text += kDigits[std::to_integer<std::size_t>(bytes[i] >> 4)];
    text += kDigits[std::to_integer<std::size_t>(bytes[i] & std::byte{0xf})];
  }
  return text + '\n';
}

std::string Show(Bytes frame, FrameStart start) { return Describe(frame, start) + Dump(frame); }

}  // namespace weft
