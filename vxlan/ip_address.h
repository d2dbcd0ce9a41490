// SPDX-License-Identifier: Apache-2.0
// An IPv4 or IPv6 address as a value.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "vxlan/bytes.h"

namespace weft {

enum class IpFamily : std::uint8_t { kV4, kV6 };

class IpAddress {
 public:
  // 0.0.0.0
  constexpr IpAddress() = default;

  // `host_order`: 10.0.0.1 is 0x0a00'0001.
  static constexpr IpAddress V4(std::uint32_t host_order) {
    IpAddress address;
    StoreBe32(address.bytes_.data(), host_order);
    return address;
  }
  // `bytes` in network order, as in an IPv6 header.
  static IpAddress V6(std::span<const std::byte, 16> bytes);
  // Reads 4 bytes (kV4) or 16 (kV6) in network order.
  static IpAddress FromBytes(IpFamily family, const std::byte* bytes);

  // Dotted quad without leading zeros, or RFC 4291 section 2.2 text without zone. No spaces, no
  // prefix length.
  static std::optional<IpAddress> Parse(std::string_view text);
  // Canonical: RFC 5952 for IPv6.
  std::string ToString() const;

  constexpr IpFamily family() const { return family_; }
  constexpr bool is_v4() const { return family_ == IpFamily::kV4; }
  // 32 or 128.
  constexpr int bits() const { return is_v4() ? 32 : 128; }
  // Network order; 4 or 16 bytes.
  constexpr Bytes bytes() const { return Bytes(bytes_).first(is_v4() ? 4u : 16u); }
  // Host order. The address must be IPv4.
  constexpr std::uint32_t v4() const { return LoadBe32(bytes_.data()); }

  bool IsUnspecified() const;
  bool IsLoopback() const;
  bool IsMulticast() const;
  // 255.255.255.255.
  bool IsBroadcast() const;
  // fe80::/10 or 169.254.0.0/16.
  bool IsLinkLocal() const;
  // The address plus one; wraps to all zeros.
  IpAddress Next() const;

  friend constexpr bool operator==(const IpAddress&, const IpAddress&) = default;
  // Whether both are IPv4 and equal: cheaper than operator==.
  friend bool AreSameV4(const IpAddress& a, const IpAddress& b) {
    return a.FirstWord() == b.FirstWord() && a.is_v4();
  }
  friend constexpr auto operator<=>(const IpAddress&, const IpAddress&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const IpAddress& a) {
    return H::combine(std::move(h), a.family_, a.bytes_);
  }

 private:
  // The family and the first seven bytes, which contain all of an IPv4 address.
  std::uint64_t FirstWord() const {
    std::uint64_t word;
    std::memcpy(&word, this, sizeof word);
    return word;
  }

  IpFamily family_ = IpFamily::kV4;
  std::array<std::byte, 16> bytes_{};  // an IPv4 address fills the first four; the rest is zero
};

}  // namespace weft
