// SPDX-License-Identifier: Apache-2.0
// A daemon's status for people: one screen, and what to do next.
#pragma once

#include <string>

#include "control/admin/schema.h"

namespace weft::cli {

// Ready, its source readable, and nothing pending.
bool IsWell(const admin::Status& status);

// Ends in a list of what to do, if there is anything. Contains every counted drop with its
// sentence. `peers` appends a table of all peers.
std::string StatusText(const admin::Status& status, bool peers);

}  // namespace weft::cli
