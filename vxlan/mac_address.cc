// SPDX-License-Identifier: Apache-2.0
#include "vxlan/mac_address.h"

namespace weft {
namespace {

// -1 when `c` is no hexadecimal digit.
int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<MacAddress> MacAddress::Parse(std::string_view text) {
  // The separator tells the form: 2 digits a group with ':' or '-', 4 with '.'.
  std::size_t digits_per_group;
  char separator;
  if (text.size() == 17 && (text[2] == ':' || text[2] == '-')) {
    digits_per_group = 2;
    separator = text[2];
  } else if (text.size() == 14 && text[4] == '.') {
    digits_per_group = 4;
    separator = '.';
  } else {
    return std::nullopt;
  }
  MacAddress mac;
  std::size_t digit = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i % (digits_per_group + 1) == digits_per_group) {
      if (text[i] != separator) return std::nullopt;
      continue;
    }
    const int value = HexValue(text[i]);
    if (value < 0) return std::nullopt;
    std::byte& octet = mac.octets_[digit / 2];
    octet = octet << 4 | static_cast<std::byte>(value);
    ++digit;
  }
  return mac;
}

std::string MacAddress::ToString() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(17);
  for (const std::byte octet : octets_) {
    if (!text.empty()) text += ':';
    text += kDigits[std::to_integer<std::size_t>(octet >> 4)];
    text += kDigits[std::to_integer<std::size_t>(octet & std::byte{0xf})];
  }
  return text;
}

}  // namespace weft
