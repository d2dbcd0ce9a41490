// SPDX-License-Identifier: Apache-2.0
// Values as Go's flag package reads them (strconv.ParseBool, strconv.ParseInt with base 0).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::config {

// 1 t T true TRUE True, 0 f F false FALSE False; nothing else.
std::optional<bool> ParseGoBool(std::string_view text);

enum class GoIntError : std::uint8_t { kNone, kSyntax, kRange };

struct GoInt {
  std::int64_t value = 0;
  GoIntError error = GoIntError::kNone;
};

// Optional sign; 0x, 0o, 0b or a leading 0 (octal); single underscores between digits or after the
// prefix.
GoInt ParseGoInt(std::string_view text);

}  // namespace weft::config
