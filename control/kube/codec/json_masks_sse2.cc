// SPDX-License-Identifier: Apache-2.0
// Every x86-64 has SSE2: nothing to find out at run time.
#include <emmintrin.h>

#include "control/kube/codec/json_masks.h"

namespace weft::kube {
namespace {

std::uint64_t Equal(__m128i octets, char wanted) {
  const __m128i equal = _mm_cmpeq_epi8(octets, _mm_set1_epi8(wanted));
  return static_cast<std::uint32_t>(_mm_movemask_epi8(equal));
}

}  // namespace

JsonMasks JsonMasksOf(const char* block) {
  JsonMasks masks;
  for (std::size_t i = 0; i < kJsonBlock; i += 16) {
    // An unaligned load, whatever the pointer's type says.
    const __m128i octets = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + i));
    // With this bit [ and { are one, and so are ] and }.
    const __m128i folded = _mm_or_si128(octets, _mm_set1_epi8(0x20));
    masks.quotes |= Equal(octets, '"') << i;
    masks.backslashes |= Equal(octets, '\\') << i;
    masks.opens |= Equal(folded, '{') << i;
    masks.closes |= Equal(folded, '}') << i;
  }
  return masks;
}

}  // namespace weft::kube
