// SPDX-License-Identifier: Apache-2.0
#include "dataplane/huge_pages.h"

namespace weft::dataplane {

// Windows gives large pages only to who holds SeLockMemoryPrivilege and asks when allocating.
void detail::AdviseHugePages(void*, std::size_t) {}

}  // namespace weft::dataplane
