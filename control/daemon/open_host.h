// SPDX-License-Identifier: Apache-2.0
// The host that --host names.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "control/daemon/options.h"
#include "control/host/host.h"

namespace weft::daemon {

absl::StatusOr<std::unique_ptr<host::Host>> OpenHost(const Options& options);

}  // namespace weft::daemon
