// SPDX-License-Identifier: Apache-2.0
// Routes and forwarding written through IP Helper. Routes stand in the active store only: gone with
// the machine's next start.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/host/host.h"
#include "control/host/ip_helper_win.h"

namespace weft::host {

absl::Status PutRoute(const IpHelper& helper, const Route& route);
// One that is not there is fine.
absl::Status RemoveRoute(const IpHelper& helper, const Route& route);

absl::Status WriteForwarding(const IpHelper& helper, std::uint32_t adapter_index, IpFamily family,
                             bool on);
absl::StatusOr<bool> ReadForwarding(const IpHelper& helper, std::uint32_t adapter_index,
                                    IpFamily family);

}  // namespace weft::host
