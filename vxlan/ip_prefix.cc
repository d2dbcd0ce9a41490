// SPDX-License-Identifier: Apache-2.0
#include "vxlan/ip_prefix.h"

#include <array>
#include <charconv>

namespace weft {
namespace {

// The first `length` bits as a mask; no bits below 0, all from 64.
std::uint64_t MaskOf(int length) {
  if (length <= 0) return 0;
  return length >= 64 ? ~std::uint64_t{0} : ~std::uint64_t{0} << (64 - length);
}
std::uint32_t MaskOfV4(int length) { return static_cast<std::uint32_t>(MaskOf(length) >> 32); }

// Clears the bits of `address` after the first `length`.
IpAddress ClearHostBits(const IpAddress& address, int length) {
  if (address.is_v4()) return IpAddress::V4(address.v4() & MaskOfV4(length));
  const std::byte* const from = address.bytes().data();
  std::array<std::byte, 16> bytes;
  StoreBe64(bytes.data(), LoadBe64(from) & MaskOf(length));
  StoreBe64(bytes.data() + 8, LoadBe64(from + 8) & MaskOf(length - 64));
  return IpAddress::V6(bytes);
}

}  // namespace

std::optional<IpPrefix> IpPrefix::From(const IpAddress& address, int length) {
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
  if (!address || digits.starts_with('-')) return std::nullopt;
  int length = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return From(*address, length);
}

std::string IpPrefix::ToString() const { return base_.ToString() + "/" + std::to_string(length_); }

bool IpPrefix::Contains(const IpAddress& address) const {
  if (address.family() != family()) return false;
  if (address.is_v4()) return ((address.v4() ^ base_.v4()) & MaskOfV4(length_)) == 0;
  const std::byte* const a = address.bytes().data();
  const std::byte* const b = base_.bytes().data();
  return ((LoadBe64(a) ^ LoadBe64(b)) & MaskOf(length_)) == 0 &&
         ((LoadBe64(a + 8) ^ LoadBe64(b + 8)) & MaskOf(length_ - 64)) == 0;
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
  return ClearHostBits(IpAddress::FromBytes(family, ones.data()), length);
}

}  // namespace weft
