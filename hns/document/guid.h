// SPDX-License-Identifier: Apache-2.0
// The identity of an HNS object.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::hns {

// 128 bits in the order of the text. All zero: none; HNS chooses the id of an object created with
// it.
class Guid {
 public:
  constexpr Guid() = default;
  constexpr explicit Guid(const std::array<std::uint8_t, 16>& bytes) : bytes_(bytes) {}

  // "55fedb88-4b11-4da4-8cd1-59970718a804", any case, no braces.
  static std::optional<Guid> Parse(std::string_view text);

  bool is_zero() const { return *this == Guid(); }
  const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
  // Lower case, as HNS's v2 view writes it; the v1 view writes upper case.
  std::string ToString() const;
  std::string ToUpperString() const;

  friend auto operator<=>(const Guid&, const Guid&) = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

}  // namespace weft::hns
