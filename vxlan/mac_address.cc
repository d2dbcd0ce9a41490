// SPDX-License-Identifier: Apache-2.0
#include "vxlan/mac_address.h"

#include <array>
#include <cstdint>

namespace weft {
namespace {

// A character that is not a hexadecimal digit; no digit's value has this bit.
constexpr std::uint8_t kNoDigit = 0x80;

constexpr std::array<std::uint8_t, 256> kHexValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::uint8_t i = 0; i < 10; ++i) values['0' + i] = i;
  for (std::uint8_t i = 0; i < 6; ++i) values['a' + i] = values['A' + i] = 10 + i;
  return values;
}();

std::uint8_t HexValue(char c) { return kHexValues[static_cast<unsigned char>(c)]; }

}  // namespace

std::optional<MacAddress> MacAddress::Parse(std::string_view text) {
  // A group is one byte with ':' or '-', two bytes with '.'.
  const bool by_one = text.size() == 17 && (text[2] == ':' || text[2] == '-');
  const bool by_two = text.size() == 14 && text[4] == '.';
  if (!by_one && !by_two) return std::nullopt;
  const char separator = text[by_one ? 2 : 4];
  MacAddress mac;
  std::size_t at = 0;
  for (std::size_t i = 0; i < mac.bytes_.size(); ++i) {
    const bool group_begins = by_one || i % 2 == 0;
    if (i != 0 && group_begins && text[at++] != separator) return std::nullopt;
    const unsigned high = HexValue(text[at++]);
    const unsigned low = HexValue(text[at++]);
    if (((high | low) & kNoDigit) != 0) return std::nullopt;
    mac.bytes_[i] = static_cast<std::byte>(high << 4 | low);
  }
  return mac;
}

std::string MacAddress::ToString() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(17);
  for (const std::byte byte : bytes_) {
    if (!text.empty()) text += ':';
    text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{0xf})];
  }
  return text;
}

}  // namespace weft
