// SPDX-License-Identifier: Apache-2.0
// Big-endian loads and stores: the only place that turns bytes into integers and back.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace weft {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

namespace detail {

template <typename T>
constexpr T ByteSwap(T value) {
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}

// memcpy is not constexpr in C++20, and not every compiler turns the loop into one instruction.
template <typename T>
constexpr T LoadBe(const std::byte* at) {
  if (std::is_constant_evaluated()) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      value = value << 8 | std::to_integer<std::uint64_t>(at[i]);
    return static_cast<T>(value);
  }
  T value;
  std::memcpy(&value, at, sizeof value);
  return std::endian::native == std::endian::little ? ByteSwap(value) : value;
}

template <typename T>
constexpr void StoreBe(std::byte* at, T value) {
  if (std::is_constant_evaluated()) {
    const std::uint64_t wide = value;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      at[i] = static_cast<std::byte>(wide >> (8 * (sizeof(T) - 1 - i)) & 0xff);
    return;
  }
  if constexpr (std::endian::native == std::endian::little) value = ByteSwap(value);
  std::memcpy(at, &value, sizeof value);
}

}  // namespace detail

// Each reads or writes exactly sizeof(integer) bytes at `at`; alignment does not matter. The
// caller has checked the length.
constexpr std::uint16_t LoadBe16(const std::byte* at) { return detail::LoadBe<std::uint16_t>(at); }
constexpr std::uint32_t LoadBe32(const std::byte* at) { return detail::LoadBe<std::uint32_t>(at); }
constexpr std::uint64_t LoadBe64(const std::byte* at) { return detail::LoadBe<std::uint64_t>(at); }
constexpr void StoreBe16(std::byte* at, std::uint16_t value) { detail::StoreBe(at, value); }
constexpr void StoreBe32(std::byte* at, std::uint32_t value) { detail::StoreBe(at, value); }
constexpr void StoreBe64(std::byte* at, std::uint64_t value) { detail::StoreBe(at, value); }
constexpr std::uint8_t Load8(const std::byte* at) { return std::to_integer<std::uint8_t>(*at); }
constexpr void Store8(std::byte* at, std::uint8_t value) { *at = std::byte{value}; }

}  // namespace weft
