// SPDX-License-Identifier: Apache-2.0
// A 48-bit Ethernet address.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "vxlan/bytes.h"

namespace weft {

class MacAddress {
 public:
  static constexpr std::size_t kSize = 6;  // bytes

  constexpr MacAddress() = default;
  // Reads kSize bytes.
  static constexpr MacAddress FromBytes(const std::byte* bytes) {
    MacAddress mac;
    // Two wide stores: after six single-byte stores, a wide load of the value would stall.
    StoreBe32(mac.bytes_.data(), LoadBe32(bytes));
    StoreBe16(mac.bytes_.data() + 4, LoadBe16(bytes + 4));
    return mac;
  }

  // The forms that Go's ParseMAC accepts for six bytes: colons, hyphens or Cisco dots
  // (0015.5d8c.2f93), any case.
  static std::optional<MacAddress> Parse(std::string_view text);
  // Lower case with colons, the only form that flannel peers parse.
  std::string ToString() const;

  constexpr Bytes bytes() const { return bytes_; }
  constexpr bool IsZero() const { return *this == MacAddress(); }
  // The I/G bit: multicast or broadcast.
  constexpr bool IsGroup() const { return (bytes_[0] & std::byte{1}) != std::byte{0}; }

  friend constexpr bool operator==(const MacAddress&, const MacAddress&) = default;
  friend constexpr auto operator<=>(const MacAddress&, const MacAddress&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const MacAddress& m) {
    return H::combine(std::move(h), m.bytes_);
  }

 private:
  std::array<std::byte, kSize> bytes_{};
};

}  // namespace weft
