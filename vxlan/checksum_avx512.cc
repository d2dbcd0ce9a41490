// SPDX-License-Identifier: Apache-2.0
// Checksum loops over 512-bit registers; the tail is one more round with masked loads. See
// checksum_avx2.cc for the attribute.
#include <immintrin.h>

#include "vxlan/checksum_kernel.h"

#define WEFT_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

namespace weft::detail {
namespace {

// Adds the sixteen 32-bit words of `bytes` to eight 64-bit lanes.
WEFT_AVX512 inline __m512i AddWords(__m512i lanes, __m512i bytes) {
  const __m512i low = _mm512_and_si512(bytes, _mm512_set1_epi64(0xffff'ffff));
  // All lanes; the unmasked form reads an undefined register, and g++ 12 warns (GCC PR 105593).
  const __m512i high = _mm512_maskz_srli_epi64(0xff, bytes, 32);
  return _mm512_add_epi64(lanes, _mm512_add_epi64(low, high));
}

WEFT_AVX512 inline std::uint64_t Total(__m512i a, __m512i b) {
  std::uint64_t lanes[8];
  _mm512_storeu_si512(lanes, _mm512_add_epi64(a, b));
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

// Selects the first `size` bytes of a register; `size` is below 64.
inline __mmask64 FirstBytes(std::size_t size) { return (__mmask64{1} << size) - 1; }

WEFT_AVX512 std::uint64_t SumAvx512(const std::byte* from, std::size_t size) {
  __m512i a = _mm512_setzero_si512();
  __m512i b = _mm512_setzero_si512();
  __m512i c = _mm512_setzero_si512();
  __m512i d = _mm512_setzero_si512();
  for (; size >= 256; from += 256, size -= 256) {
    a = AddWords(a, _mm512_loadu_si512(from));
    b = AddWords(b, _mm512_loadu_si512(from + 64));
    c = AddWords(c, _mm512_loadu_si512(from + 128));
    d = AddWords(d, _mm512_loadu_si512(from + 192));
  }
  for (; size >= 64; from += 64, size -= 64) a = AddWords(a, _mm512_loadu_si512(from));
  b = AddWords(b, _mm512_maskz_loadu_epi8(FirstBytes(size), from));
  return Total(_mm512_add_epi64(a, b), _mm512_add_epi64(c, d));
}

WEFT_AVX512 std::uint64_t CopyAndSumAvx512(std::byte* to, const std::byte* from, std::size_t size) {
  __m512i a = _mm512_setzero_si512();
  __m512i b = _mm512_setzero_si512();
  for (; size >= 128; to += 128, from += 128, size -= 128) {
    const __m512i first = _mm512_loadu_si512(from);
    const __m512i second = _mm512_loadu_si512(from + 64);
    _mm512_storeu_si512(to, first);
    _mm512_storeu_si512(to + 64, second);
    a = AddWords(a, first);
    b = AddWords(b, second);
  }
  if (size >= 64) {
    const __m512i bytes = _mm512_loadu_si512(from);
    _mm512_storeu_si512(to, bytes);
    a = AddWords(a, bytes);
    to += 64;
    from += 64;
    size -= 64;
  }
  const __m512i tail = _mm512_maskz_loadu_epi8(FirstBytes(size), from);
  _mm512_mask_storeu_epi8(to, FirstBytes(size), tail);
  return Total(AddWords(a, tail), b);
}

}  // namespace

const ChecksumKernel kAvx512Kernel = {"avx512", SumAvx512, CopyAndSumAvx512};

}  // namespace weft::detail
