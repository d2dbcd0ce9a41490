// SPDX-License-Identifier: Apache-2.0
// The compiler's run-time check also asks whether the operating system saves the wide registers.
#include "vxlan/checksum_kernel.h"

namespace weft::detail {

const ChecksumKernel& SelectChecksumKernel() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl")) {
    return kAvx512Kernel;
  }
  return __builtin_cpu_supports("avx2") ? kAvx2Kernel : kPortableKernel;
}

}  // namespace weft::detail
