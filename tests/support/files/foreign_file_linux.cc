// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/files/foreign_file.h"

namespace weft::testing {

bool GiveAway(const std::string& path) { return ::lchown(path.c_str(), 12345, 12345) == 0; }

bool AllowOtherUsersToWrite(const std::string& path) { return ::chmod(path.c_str(), 0666) == 0; }

}  // namespace weft::testing
