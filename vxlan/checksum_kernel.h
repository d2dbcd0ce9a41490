// SPDX-License-Identifier: Apache-2.0
// The loops of Sum and CopyAndSum: one portable, others for wider registers. Private to vxlan/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::detail {

// Both return the sum of the bytes taken as 32-bit words in the CPU's own byte order, the last
// word filled up with zero bytes; 2^32 words cannot overflow it. `copy_and_sum` writes `size`
// bytes.
struct ChecksumKernel {
  const char* name;
  std::uint64_t (*sum)(const std::byte* from, std::size_t size);
  std::uint64_t (*copy_and_sum)(std::byte* to, const std::byte* from, std::size_t size);
};

extern const ChecksumKernel kPortableKernel;
extern const ChecksumKernel kAvx2Kernel;    // where built: needs AVX2
extern const ChecksumKernel kAvx512Kernel;  // where built: needs AVX-512 F, BW and VL

// The built kernels that this CPU can run, slowest first; always includes kPortableKernel.
std::span<const ChecksumKernel* const> RunnableChecksumKernels();

}  // namespace weft::detail
