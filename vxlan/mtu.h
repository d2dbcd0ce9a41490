// SPDX-License-Identifier: Apache-2.0
// Maximum transmission units, with a type for each side of the tunnel.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "vxlan/ip_address.h"

namespace weft {

// Bytes that encapsulation adds before the inner IP packet, without the outer Ethernet header
// (which an MTU does not include).
inline constexpr std::uint32_t kIpv4HeaderSize = 20;
inline constexpr std::uint32_t kIpv6HeaderSize = 40;
inline constexpr std::uint32_t kUdpHeaderSize = 8;
inline constexpr std::uint32_t kVxlanHeaderSize = 8;
inline constexpr std::uint32_t kEthernetHeaderSize = 14;
// 50 over IPv4, 70 over IPv6.
constexpr std::uint32_t EncapsulationOverhead(IpFamily outer) {
  return (outer == IpFamily::kV4 ? kIpv4HeaderSize : kIpv6HeaderSize) + kUdpHeaderSize +
         kVxlanHeaderSize + kEthernetHeaderSize;
}

// Largest inner IP packet, in bytes, header included.
class InnerMtu {
 public:
  static constexpr std::uint32_t kMin = 68;  // RFC 791: every router forwards 68 bytes unfragmented
  static constexpr std::uint32_t kMax = 65535 - EncapsulationOverhead(IpFamily::kV4);
  static constexpr std::optional<InnerMtu> From(std::uint64_t bytes) {
    if (bytes < kMin || bytes > kMax) return std::nullopt;
    return InnerMtu(static_cast<std::uint32_t>(bytes));
  }
  constexpr std::uint32_t bytes() const { return bytes_; }
  friend constexpr bool operator==(InnerMtu, InnerMtu) = default;
  friend constexpr auto operator<=>(InnerMtu, InnerMtu) = default;

 private:
  explicit constexpr InnerMtu(std::uint32_t bytes) : bytes_(bytes) {}
  std::uint32_t bytes_;
};

// Largest outer IP packet, in bytes, outer IP header included: the MTU of the link below.
class OuterMtu {
 public:
  static constexpr std::uint32_t kMax = 65535;
  // Refuses values that leave no room for the smallest inner packet over IPv6.
  static constexpr std::optional<OuterMtu> From(std::uint64_t bytes) {
    if (bytes < InnerMtu::kMin + EncapsulationOverhead(IpFamily::kV6) || bytes > kMax)
      return std::nullopt;
    return OuterMtu(static_cast<std::uint32_t>(bytes));
  }
  constexpr std::uint32_t bytes() const { return bytes_; }
  constexpr InnerMtu Inner(IpFamily outer) const {
    return *InnerMtu::From(bytes_ - EncapsulationOverhead(outer));
  }
  friend constexpr bool operator==(OuterMtu, OuterMtu) = default;
  friend constexpr auto operator<=>(OuterMtu, OuterMtu) = default;

 private:
  explicit constexpr OuterMtu(std::uint32_t bytes) : bytes_(bytes) {}
  std::uint32_t bytes_;
};

}  // namespace weft
