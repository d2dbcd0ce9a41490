// SPDX-License-Identifier: Apache-2.0
#include "hns/document/guid.h"

#include <cstddef>

namespace weft::hns {
namespace {

constexpr std::size_t kTextSize = 36;
bool IsDash(std::size_t at) { return at == 8 || at == 13 || at == 18 || at == 23; }

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string Text(const std::array<std::uint8_t, 16>& bytes, std::string_view digits) {
  std::string text;
  text.reserve(kTextSize);
  for (const std::uint8_t byte : bytes) {
    if (IsDash(text.size())) text += '-';
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace

std::optional<Guid> Guid::Parse(std::string_view text) {
  if (text.size() != kTextSize) return std::nullopt;
  std::array<std::uint8_t, 16> bytes{};
  std::size_t digit = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (IsDash(at)) {
      if (text[at] != '-') return std::nullopt;
      continue;
    }
    const int value = DigitOf(text[at]);
    if (value < 0) return std::nullopt;
    auto& byte = bytes[digit++ / 2];
    byte = static_cast<std::uint8_t>(byte << 4 | value);
  }
  return Guid(bytes);
}

std::string Guid::ToString() const { return Text(bytes_, "0123456789abcdef"); }
std::string Guid::ToUpperString() const { return Text(bytes_, "0123456789ABCDEF"); }

}  // namespace weft::hns
