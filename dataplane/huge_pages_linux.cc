// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include "dataplane/huge_pages.h"

namespace weft::dataplane {

void detail::AdviseHugePages(void* at, std::size_t bytes) { ::madvise(at, bytes, MADV_HUGEPAGE); }

}  // namespace weft::dataplane
