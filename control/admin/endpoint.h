// SPDX-License-Identifier: Apache-2.0
// Where the admin endpoint is: a Unix-domain socket, or a named pipe on Windows. Reachable by its
// owner only.
#pragma once

#include <string_view>

namespace weft::admin {

// "/run/flannel/weft.sock", or "\\.\pipe\weft" on Windows. Daemon and CLI agree on it.
std::string_view DefaultEndpoint();

// Routes.
inline constexpr std::string_view kLeasesPath = "/v1/leases";  // ?after=GENERATION&wait=SECONDS
inline constexpr std::string_view kStatusPath = "/v1/status";
// The longest `wait` that is honoured, in seconds; longer ones are cut to it.
inline constexpr int kLongestWait = 60;

}  // namespace weft::admin
