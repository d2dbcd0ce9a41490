// SPDX-License-Identifier: Apache-2.0
// Checksum loops over 256-bit registers. Called only if the CPU supports them. The target attribute
// is on each function, because a file-wide option would also compile inline functions of headers
// for AVX2.
#include <immintrin.h>

#include <cstring>

#include "vxlan/checksum_kernel.h"

#define WEFT_AVX2 __attribute__((target("avx2")))

namespace weft::detail {
namespace {

WEFT_AVX2 inline __m256i Load(const std::byte* from) {
  __m256i bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return bytes;
}

// Adds the eight 32-bit words of `bytes` to four 64-bit lanes.
WEFT_AVX2 inline __m256i AddWords(__m256i lanes, __m256i bytes) {
  const __m256i low = _mm256_and_si256(bytes, _mm256_set1_epi64x(0xffff'ffff));
  const __m256i high = _mm256_srli_epi64(bytes, 32);
  return _mm256_add_epi64(lanes, _mm256_add_epi64(low, high));
}

WEFT_AVX2 inline std::uint64_t Total(__m256i a, __m256i b) {
  std::uint64_t lanes[4];
  const __m256i sum = _mm256_add_epi64(a, b);
  std::memcpy(lanes, &sum, sizeof lanes);
  return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

WEFT_AVX2 std::uint64_t SumAvx2(const std::byte* from, std::size_t size) {
  __m256i a = _mm256_setzero_si256();
  __m256i b = _mm256_setzero_si256();
  for (; size >= 64; from += 64, size -= 64) {
    a = AddWords(a, Load(from));
    b = AddWords(b, Load(from + 32));
  }
  return Total(a, b) + kPortableKernel.sum(from, size);
}

WEFT_AVX2 std::uint64_t CopyAndSumAvx2(std::byte* to, const std::byte* from, std::size_t size) {
  __m256i a = _mm256_setzero_si256();
  __m256i b = _mm256_setzero_si256();
  for (; size >= 64; to += 64, from += 64, size -= 64) {
    const __m256i first = Load(from);
    const __m256i second = Load(from + 32);
    std::memcpy(to, &first, 32);
    std::memcpy(to + 32, &second, 32);
    a = AddWords(a, first);
    b = AddWords(b, second);
  }
  return Total(a, b) + kPortableKernel.copy_and_sum(to, from, size);
}

}  // namespace

const ChecksumKernel kAvx2Kernel = {"avx2", SumAvx2, CopyAndSumAvx2};

}  // namespace weft::detail
