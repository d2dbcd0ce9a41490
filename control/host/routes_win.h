// SPDX-License-Identifier: Apache-2.0
// Routes and forwarding written through IP Helper. Routes are in the active store only: they are
// lost with the next boot.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/host/host.h"
#include "control/host/ip_helper_win.h"

namespace weft::host {

// Empty: its destination cannot be read. The result lacks the adapter's metric, which a row does
// not contain.
std::optional<Route> RouteOfRow(const MIB_IPFORWARD_ROW2& row);

// AlreadyExists: a route with its destination, gateway and adapter exists.
absl::Status PutRoute(const IpHelper& helper, const Route& route);
absl::Status ReplaceRoute(const IpHelper& helper, const Route& route);
// Succeeds if the route does not exist.
absl::Status RemoveRoute(const IpHelper& helper, const Route& route);

absl::Status WriteForwarding(const IpHelper& helper, std::uint32_t adapter_index, IpFamily family,
                             bool on);
absl::StatusOr<bool> ReadForwarding(const IpHelper& helper, std::uint32_t adapter_index,
                                    IpFamily family);

}  // namespace weft::host
