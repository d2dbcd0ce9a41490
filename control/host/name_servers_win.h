// SPDX-License-Identifier: Apache-2.0
// The name servers of all adapters.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "control/host/ip_helper_win.h"

namespace weft::host {

absl::StatusOr<std::vector<IpAddress>> ReadNameServers(const IpHelper& helper);

}  // namespace weft::host
