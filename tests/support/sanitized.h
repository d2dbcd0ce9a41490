// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace weft::testing {

// Whether a sanitizer watches this program: it is some five times slower, and what other builds try
// one by one is sampled.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// Bytes between two cuts of a stream that is cut everywhere.
inline constexpr std::size_t kCutStep = kSanitized ? 5 : 1;

}  // namespace weft::testing
