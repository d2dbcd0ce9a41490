// SPDX-License-Identifier: Apache-2.0
#include "vxlan/checksum_kernel.h"

namespace weft::detail {

std::span<const ChecksumKernel* const> RunnableChecksumKernels() {
  static constexpr const ChecksumKernel* kKernels[] = {&kPortableKernel};
  return kKernels;
}

}  // namespace weft::detail
