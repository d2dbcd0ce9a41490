// SPDX-License-Identifier: Apache-2.0
// Routes and forwarding written through IP Helper. Routes stand in the active store only: gone with
// the machine's next start.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/host/host.h"
#include "control/host/ip_helper_win.h"

namespace weft::host {

// Empty: its destination cannot be read. Without the adapter's metric, of which a row knows
// nothing.
std::optional<Route> RouteOfRow(const MIB_IPFORWARD_ROW2& row);

// AlreadyExists: one of its destination, gateway and adapter is there.
absl::Status PutRoute(const IpHelper& helper, const Route& route);
absl::Status ReplaceRoute(const IpHelper& helper, const Route& route);
// One that is not there is fine.
absl::Status RemoveRoute(const IpHelper& helper, const Route& route);

absl::Status WriteForwarding(const IpHelper& helper, std::uint32_t adapter_index, IpFamily family,
                             bool on);
absl::StatusOr<bool> ReadForwarding(const IpHelper& helper, std::uint32_t adapter_index,
                                    IpFamily family);

}  // namespace weft::host
