// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include "dataplane/huge_pages.h"

namespace weft::dataplane {

void detail::AdviseHugePages(void* at, std::size_t octets) { ::madvise(at, octets, MADV_HUGEPAGE); }

}  // namespace weft::dataplane
