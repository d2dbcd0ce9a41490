// SPDX-License-Identifier: Apache-2.0
#include "vxlan/ip_address.h"

#include <algorithm>
#include <charconv>

namespace weft {
namespace {

using Groups = std::array<std::uint16_t, 8>;

// The value of the digit at `at`, or 10 and more.
unsigned DigitAt(const char* at, const char* end) {
  return at == end ? 10 : static_cast<unsigned char>(*at) - unsigned{'0'};
}

// Four decimal numbers 0..255 without leading zeros, as Go's netip and inet_pton take them.
std::optional<std::uint32_t> ParseDottedQuad(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  std::uint32_t address = 0;
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && (at == end || *at++ != '.')) return std::nullopt;
    unsigned value = DigitAt(at, end);
    if (value > 9) return std::nullopt;
    ++at;
    for (unsigned digit; (digit = DigitAt(at, end)) <= 9; ++at) {
      if (value == 0) return std::nullopt;
      value = value * 10 + digit;
      if (value > 255) return std::nullopt;
    }
    address = address << 8 | value;
  }
  if (at != end) return std::nullopt;
  return address;
}

// RFC 4291 section 2.2: groups, one "::", and a dotted quad in place of the last two groups.
std::optional<Groups> ParseGroups(std::string_view text) {
  Groups groups{};
  std::size_t count = 0;
  std::optional<std::size_t> gap;  // group index of "::"
  if (text.starts_with("::")) {
    gap = 0;
    text.remove_prefix(2);
  }
  while (!text.empty()) {
    if (count == groups.size()) return std::nullopt;
    const std::size_t end = std::min(text.find(':'), text.size());
    if (end == text.size() && text.find('.') != std::string_view::npos) {
      const auto quad = ParseDottedQuad(text);
      if (!quad || count > groups.size() - 2) return std::nullopt;
      groups[count++] = static_cast<std::uint16_t>(*quad >> 16);
      groups[count++] = static_cast<std::uint16_t>(*quad);
      break;
    }
    if (end == 0 || end > 4) return std::nullopt;
    const char* const rest = std::from_chars(text.data(), text.data() + end, groups[count], 16).ptr;
    if (rest != text.data() + end) return std::nullopt;
    ++count;
    text.remove_prefix(end);
    if (text.empty()) break;
    text.remove_prefix(1);  // ':'
    if (text.starts_with(':')) {
      if (gap) return std::nullopt;
      gap = count;
      text.remove_prefix(1);
    } else if (text.empty()) {
      return std::nullopt;  // a single trailing colon
    }
  }
  if (!gap) return count == groups.size() ? std::optional(groups) : std::nullopt;
  if (count == groups.size()) return std::nullopt;  // "::" stands for at least one group
  // Groups after the gap move to the end; zeros fill the gap.
  Groups spread{};
  std::copy_n(groups.begin(), *gap, spread.begin());
  std::copy_backward(groups.begin() + static_cast<std::ptrdiff_t>(*gap),
                     groups.begin() + static_cast<std::ptrdiff_t>(count), spread.end());
  return spread;
}

void AppendHex(std::string& text, std::uint16_t value) {
  std::array<char, 4> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  text.append(digits.data(), end);
}

void AppendQuad(std::string& text, const std::byte* bytes) {
  for (std::size_t i = 0; i < 4; ++i) {
    if (i != 0) text += '.';
    text += std::to_string(Load8(bytes + i));
  }
}

// RFC 5952 section 4: lower case, no leading zeros, the longest run of two or more zero groups
// shortened, the first of equals. Section 5: IPv4-mapped addresses with a dotted quad.
std::string V6Text(const std::byte* bytes) {
  std::string text;
  const bool mapped = LoadBe64(bytes) == 0 && LoadBe32(bytes + 8) == 0xffff;
  if (mapped) {
    text = "::ffff:";
    AppendQuad(text, bytes + 12);
    return text;
  }
  Groups groups;
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = LoadBe16(bytes + 2 * i);
  std::size_t best_start = groups.size();
  std::size_t best_length = 1;
  for (std::size_t start = 0; start < groups.size(); ++start) {
    std::size_t end = start;
    while (end < groups.size() && groups[end] == 0) ++end;
    if (end - start > best_length) {
      best_start = start;
      best_length = end - start;
    }
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i == best_start) {
      text += "::";
      i += best_length - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    AppendHex(text, groups[i]);
  }
  return text;
}

}  // namespace

IpAddress IpAddress::V6(std::span<const std::byte, 16> bytes) {
  return FromBytes(IpFamily::kV6, bytes.data());
}

IpAddress IpAddress::FromBytes(IpFamily family, const std::byte* bytes) {
  IpAddress address;
  address.family_ = family;
  std::memcpy(address.bytes_.data(), bytes, address.bytes().size());
  return address;
}

std::optional<IpAddress> IpAddress::Parse(std::string_view text) {
  if (const auto quad = ParseDottedQuad(text)) return V4(*quad);
  const auto groups = ParseGroups(text);
  if (!groups) return std::nullopt;
  IpAddress address;
  address.family_ = IpFamily::kV6;
  for (std::size_t i = 0; i < groups->size(); ++i)
    StoreBe16(address.bytes_.data() + 2 * i, (*groups)[i]);
  return address;
}

std::string IpAddress::ToString() const {
  if (!is_v4()) return V6Text(bytes_.data());
  std::string text;
  AppendQuad(text, bytes_.data());
  return text;
}

bool IpAddress::IsUnspecified() const {
  return std::ranges::all_of(bytes_, [](std::byte byte) { return byte == std::byte{0}; });
}

bool IpAddress::IsLoopback() const {
  if (is_v4()) return bytes_[0] == std::byte{127};
  return LoadBe64(bytes_.data()) == 0 && LoadBe64(bytes_.data() + 8) == 1;
}

bool IpAddress::IsMulticast() const {
  if (is_v4()) return (bytes_[0] & std::byte{0xf0}) == std::byte{0xe0};
  return bytes_[0] == std::byte{0xff};
}

bool IpAddress::IsBroadcast() const { return is_v4() && v4() == 0xffff'ffff; }

bool IpAddress::IsLinkLocal() const {
  const std::uint16_t first = LoadBe16(bytes_.data());
  return is_v4() ? first == 0xa9fe : (first & 0xffc0) == 0xfe80;
}

IpAddress IpAddress::Next() const {
  IpAddress next = *this;
  for (std::size_t i = bytes().size(); i-- > 0;) {
    next.bytes_[i] = static_cast<std::byte>(Load8(&next.bytes_[i]) + 1);
    if (next.bytes_[i] != std::byte{0}) break;
  }
  return next;
}

}  // namespace weft
