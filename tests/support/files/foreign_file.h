// SPDX-License-Identifier: Apache-2.0
// Files as another user of the machine has them. Needs root; under Wine, where users are Linux's,
// too.
#pragma once

#include <string>

namespace weft::testing {

bool GiveAway(const std::string& path);
bool AllowOtherUsersToWrite(const std::string& path);

}  // namespace weft::testing
