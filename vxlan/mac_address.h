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
  static constexpr std::size_t kSize = 6;  // octets

  constexpr MacAddress() = default;
  // Reads kSize octets.
  static constexpr MacAddress FromOctets(const std::byte* octets) {
    MacAddress mac;
    // Two loads: octet by octet, the later wide load of the value would wait for the stores.
    StoreBe32(mac.octets_.data(), LoadBe32(octets));
    StoreBe16(mac.octets_.data() + 4, LoadBe16(octets + 4));
    return mac;
  }

  // What Go's ParseMAC takes for six octets: colons, hyphens or Cisco dots (0015.5d8c.2f93), any
  // case.
  static std::optional<MacAddress> Parse(std::string_view text);
  // Lower case, colons: the only form flannel peers read.
  std::string ToString() const;

  constexpr Bytes octets() const { return octets_; }
  constexpr bool IsZero() const { return *this == MacAddress(); }
  // The I/G bit: multicast or broadcast.
  constexpr bool IsGroup() const { return (octets_[0] & std::byte{1}) != std::byte{0}; }

  friend constexpr bool operator==(const MacAddress&, const MacAddress&) = default;
  friend constexpr auto operator<=>(const MacAddress&, const MacAddress&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const MacAddress& m) {
    return H::combine(std::move(h), m.octets_);
  }

 private:
  std::array<std::byte, kSize> octets_{};
};

}  // namespace weft
