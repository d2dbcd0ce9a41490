// SPDX-License-Identifier: Apache-2.0
// VXLAN network identifier, RFC 7348 section 5: 24 bits.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

namespace weft {

class Vni {
 public:
  static constexpr std::uint32_t kMax = 0xff'ffff;

  // Refuses values that do not fit in 24 bits.
  static constexpr std::optional<Vni> From(std::uint64_t value) {
    if (value > kMax) return std::nullopt;
    return Vni(static_cast<std::uint32_t>(value));
  }
  constexpr std::uint32_t value() const { return value_; }
  friend constexpr bool operator==(Vni, Vni) = default;
  friend constexpr auto operator<=>(Vni, Vni) = default;

 private:
  explicit constexpr Vni(std::uint32_t value) : value_(value) {}
  std::uint32_t value_;
};

// flannel's VNI in clusters with Windows nodes.
inline constexpr Vni kFlannelWindowsVni = *Vni::From(4096);
// IANA's port, RFC 7348 section 5.
inline constexpr std::uint16_t kVxlanPort = 4789;

}  // namespace weft
