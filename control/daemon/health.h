// SPDX-License-Identifier: Apache-2.0
// /healthz, /livez and /readyz with the texts of upstream v0.28.9, and behind "not ready yet" the
// first reason; ?verbose has a line for each check.
#pragma once

#include <functional>
#include <vector>

#include "control/admin/http_message.h"
#include "control/admin/schema.h"

namespace weft::daemon {

using ReadChecks = std::function<std::vector<admin::Check>()>;

// Ready: every check is ok.
bool AllOk(const std::vector<admin::Check>& checks);

// Health says that the process answers, and nothing else; a restart would mend no failing check.
admin::Handler HealthHandler(ReadChecks checks);

}  // namespace weft::daemon
