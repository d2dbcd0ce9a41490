// SPDX-License-Identifier: Apache-2.0
// Whether net-conf.json still says what runs. It is read at start; the next start takes what it
// says then, or ends with it.
#pragma once

#include <string>

#include "control/net_conf.h"

namespace weft::daemon {

// Reads the file at `path` (UTF-8). One sentence that names it, the place and the cause, what stays
// in force and what to do; empty while its content means what `running` does.
std::string NetConfTrouble(const std::string& path, const control::NetConf& running);

}  // namespace weft::daemon
