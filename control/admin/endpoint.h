// SPDX-License-Identifier: Apache-2.0
// Where the admin endpoint is: a Unix-domain socket, or a named pipe on Windows. Reachable by its
// owner only.
#pragma once

#include <string>
#include <string_view>

namespace weft::admin {

// "/run/flannel/weft.sock", or "\\.\pipe\weft" on Windows. Daemon and CLI agree on it.
std::string_view DefaultEndpoint();
// Used instead while another user holds the default pipe: a name that only administrators can
// create. Empty on Linux, where the folder's permissions keep other users out.
std::string_view ReservedEndpoint();
// Which other user holds `path`: "belongs to S-1-5-21-1", "is held by a program that serves no
// client"; empty: none, this account, or unknown.
std::string ForeignHolder(const std::string& path);

// Routes.
inline constexpr std::string_view kLeasesPath = "/v1/leases";  // ?after=GENERATION&wait=SECONDS
inline constexpr std::string_view kStatusPath = "/v1/status";
// Both with ?ask=NAME, a name that no other request has.
inline constexpr std::string_view kPlanPath = "/v1/plan";
inline constexpr std::string_view kRepairPath = "/v1/repair";  // POST
inline constexpr int kPlanWait = 30;                           // seconds, for HNS to answer
// Seconds; a longer `wait` is cut to this.
inline constexpr int kLongestWait = 60;

}  // namespace weft::admin
