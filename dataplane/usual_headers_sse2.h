// SPDX-License-Identifier: Apache-2.0
// Four words at once, as compared by usual_headers.h.
#pragma once

#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace weft::dataplane::detail {

using Words = std::int32_t __attribute__((vector_size(16)));

// Whether all four are -1: "true" of a comparison.
inline bool AllTrue(Words words) {
#ifdef __SSE2__
  return _mm_movemask_epi8(reinterpret_cast<__m128i>(words)) == 0xffff;
#else
  return (words[0] & words[1] & words[2] & words[3]) == -1;
#endif
}

}  // namespace weft::dataplane::detail
