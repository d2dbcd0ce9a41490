// SPDX-License-Identifier: Apache-2.0
// A daemon's status as text: one screen, and the next steps.
#pragma once

#include <string>

#include "control/admin/schema.h"

namespace weft::cli {

// Ready, its source readable, and nothing pending.
bool IsWell(const admin::Status& status);

// Ends with a list of next steps, if there are any. Contains every counted drop with its
// sentence. `peers` appends a table of all peers.
std::string StatusText(const admin::Status& status, bool peers);

}  // namespace weft::cli
