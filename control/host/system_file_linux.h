// SPDX-License-Identifier: Apache-2.0
// Files of the system that say what this host has, of proc(5) above all.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace weft::host {

// The text of `path`. NotFound: the system has no such file, so that it has nothing of what would
// be in it. Any other error says that this is not known: the file may not be read, is masked by
// another one, as containers do, or /proc is not mounted. Errors name the file.
absl::StatusOr<std::string> ReadSystemFile(const std::string& path);

}  // namespace weft::host
