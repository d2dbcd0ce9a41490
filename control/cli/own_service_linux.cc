// SPDX-License-Identifier: Apache-2.0
// A unit of systemd is its package's.
#include "control/cli/own_service.h"

namespace weft::cli {

absl::StatusOr<OwnService> OpenOwnService(bool) { return OwnService(); }

}  // namespace weft::cli
