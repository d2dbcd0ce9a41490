// SPDX-License-Identifier: Apache-2.0
// The loops behind Sum and CopyAndSum: one portable, others for wider registers. Private to vxlan/.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail {

// Both return the sum of the octets taken as 32-bit words in the CPU's own byte order, the last
// word filled up with zero octets; 2^32 words cannot overflow it. `copy_and_sum` writes `size`
// octets.
struct ChecksumKernel {
  std::uint64_t (*sum)(const std::byte* from, std::size_t size);
  std::uint64_t (*copy_and_sum)(std::byte* to, const std::byte* from, std::size_t size);
};

extern const ChecksumKernel kPortableKernel;
extern const ChecksumKernel kAvx2Kernel;    // x86-64 builds only; needs AVX2
extern const ChecksumKernel kAvx512Kernel;  // x86-64 builds only; needs AVX-512 F, BW and VL

// The fastest that this CPU can run.
const ChecksumKernel& SelectChecksumKernel();

}  // namespace weft::detail
