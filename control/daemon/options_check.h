// SPDX-License-Identifier: Apache-2.0
// What can be said of the options without looking at files or the host.
#pragma once

#include "absl/status/status.h"
#include "control/daemon/flags.h"
#include "control/daemon/options.h"

namespace weft::daemon {

// Contradictions, parts that are not built yet, what this system cannot do: the error names flag
// and remedy. Fills in defaults that depend on the system and on NODE_NAME.
absl::Status CheckOptions(Options& options, const Environment& environment);

}  // namespace weft::daemon
