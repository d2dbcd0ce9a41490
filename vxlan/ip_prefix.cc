// SPDX-License-Identifier: Apache-2.0
#include "vxlan/ip_prefix.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace weft {
namespace {

// Clears the bits of `address` behind its first `length`.
IpAddress ClearHostBits(const IpAddress& address, int length) {
  std::array<std::byte, 16> octets{};
  std::ranges::copy(address.octets(), octets.begin());
  for (std::size_t i = 0; i < octets.size(); ++i) {
    const int kept = std::clamp(length - static_cast<int>(i) * 8, 0, 8);  // bits of this octet
    octets[i] &= static_cast<std::byte>(0xff00 >> kept & 0xff);
  }
  return IpAddress::FromOctets(address.family(), octets.data());
}

}  // namespace

std::optional<IpPrefix> IpPrefix::Of(const IpAddress& address, int length) {
  if (length < 0 || length > address.bits()) return std::nullopt;
  IpPrefix prefix;
  prefix.base_ = ClearHostBits(address, length);
  prefix.length_ = length;
  return prefix;
}

std::optional<IpPrefix> IpPrefix::Parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto address = IpAddress::Parse(text.substr(0, slash));
  const std::string_view digits = text.substr(slash + 1);
  // Plain decimal; from_chars would take a minus sign. Go's ParseCIDR takes leading zeros ("/024").
  if (!address || digits.empty() || digits[0] < '0' || digits[0] > '9') return std::nullopt;
  int length = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return Of(*address, length);
}

std::string IpPrefix::ToString() const { return base_.ToString() + "/" + std::to_string(length_); }

bool IpPrefix::Contains(const IpAddress& address) const {
  return address.family() == family() && ClearHostBits(address, length_) == base_;
}

bool IpPrefix::Contains(const IpPrefix& inner) const {
  return inner.length_ >= length_ && Contains(inner.base_);
}

bool IpPrefix::Overlaps(const IpPrefix& other) const {
  return Contains(other) || other.Contains(*this);
}

IpAddress Netmask(IpFamily family, int length) {
  std::array<std::byte, 16> ones;
  ones.fill(std::byte{0xff});
  return ClearHostBits(IpAddress::FromOctets(family, ones.data()), length);
}

}  // namespace weft
