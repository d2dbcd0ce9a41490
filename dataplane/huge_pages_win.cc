// SPDX-License-Identifier: Apache-2.0
#include "dataplane/huge_pages.h"

namespace weft::dataplane {

// Windows grants large pages only at allocation, and only with SeLockMemoryPrivilege.
void detail::AdviseHugePages(void*, std::size_t) {}

}  // namespace weft::dataplane
