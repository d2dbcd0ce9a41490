// SPDX-License-Identifier: Apache-2.0
#include "vxlan/checksum_kernel.h"

namespace weft::detail {

const ChecksumKernel& SelectChecksumKernel() { return kPortableKernel; }

}  // namespace weft::detail
