// SPDX-License-Identifier: Apache-2.0
// __builtin_cpu_supports also checks that the operating system saves the wide registers.
#include "vxlan/checksum_kernel.h"

namespace weft::detail {

std::span<const ChecksumKernel* const> RunnableChecksumKernels() {
  static constexpr const ChecksumKernel* kKernels[] = {&kPortableKernel, &kAvx2Kernel,
                                                       &kAvx512Kernel};
  const std::span<const ChecksumKernel* const> kernels(kKernels);
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2")) return kernels.first(1);
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl");
  return avx512 ? kernels : kernels.first(2);
}

}  // namespace weft::detail
