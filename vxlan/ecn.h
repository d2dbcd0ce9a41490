// SPDX-License-Identifier: Apache-2.0
// Explicit congestion notification across a tunnel, RFC 6040.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

// The two low bits of the IPv4 TOS or IPv6 traffic class byte, RFC 3168 section 5.
enum class Ecn : std::uint8_t { kNotEct = 0, kEct1 = 1, kEct0 = 2, kCe = 3 };

// "Not-ECT", "ECT(1)", "ECT(0)", "CE".
[[nodiscard]] std::string_view Name(Ecn ecn);

constexpr Ecn EcnOf(std::uint8_t traffic_class) { return static_cast<Ecn>(traffic_class & 3); }

// Normal mode, section 4.1: the outer field copies the inner one.
constexpr Ecn EncapsulationEcn(Ecn inner) { return inner; }

// Section 4.2, figure 4: the inner field after the outer header is removed. Empty: the packet must
// be dropped (congestion was experienced, but the inner packet is Not-ECT).
constexpr std::optional<Ecn> DecapsulationEcn(Ecn inner, Ecn outer) {
  // Rows: inner Not-ECT, ECT(1), ECT(0), CE. Columns: outer in the same order.
  constexpr std::uint8_t kDrop = 4;
  constexpr std::array<std::uint8_t, 16> kFigure4 = {
      0, 0, 0, kDrop,  //
      1, 1, 1, 3,      //
      2, 1, 2, 3,      //
      3, 3, 3, 3,      //
  };
  const std::uint8_t result =
      kFigure4[static_cast<std::size_t>(inner) * 4 + static_cast<std::size_t>(outer)];
  if (result == kDrop) return std::nullopt;
  return static_cast<Ecn>(result);
}

}  // namespace weft
