// SPDX-License-Identifier: Apache-2.0
// Included before all else by clang 14 (fuzzing, clang-tidy), which has no __builtin_source_location, so that
// libstdc++ gives it no std::source_location.
#pragma once

#include <cstdint>

namespace std {

struct source_location {
  static constexpr source_location current() noexcept { return {}; }
  constexpr uint_least32_t line() const noexcept { return 0; }
  constexpr uint_least32_t column() const noexcept { return 0; }
  constexpr const char* file_name() const noexcept { return ""; }
  constexpr const char* function_name() const noexcept { return ""; }
};

}  // namespace std
