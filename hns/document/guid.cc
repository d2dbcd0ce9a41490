// SPDX-License-Identifier: Apache-2.0
#include "hns/document/guid.h"

#include <cstddef>

#include "absl/strings/ascii.h"

namespace weft::hns {
namespace {

constexpr std::size_t kTextSize = 36;
bool IsDash(std::size_t at) { return at == 8 || at == 13 || at == 18 || at == 23; }

constexpr std::string_view kDigits = "0123456789abcdef", kUpperDigits = "0123456789ABCDEF";

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
    const std::size_t value = kDigits.find(absl::ascii_tolower(text[at]));
    if (value == std::string_view::npos) return std::nullopt;
    auto& byte = bytes[digit++ / 2];
    byte = static_cast<std::uint8_t>(byte << 4 | value);
  }
  return Guid(bytes);
}

std::string Guid::ToString() const { return Text(bytes_, kDigits); }
std::string Guid::ToUpperString() const { return Text(bytes_, kUpperDigits); }

}  // namespace weft::hns
