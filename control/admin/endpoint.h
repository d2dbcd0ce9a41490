// SPDX-License-Identifier: Apache-2.0
// Where the admin endpoint is: a Unix-domain socket, or a named pipe on Windows. Reachable by its
// owner only.
#pragma once

#include <string>
#include <string_view>

namespace weft::admin {

// "/run/flannel/weft.sock", or "\\.\pipe\weft" on Windows. Daemon and CLI agree on it.
std::string_view DefaultEndpoint();
// Where it is instead while another user holds the default one: a pipe of a name that Windows lets
// administrators alone make. Empty where no other user can hold it: Linux, by the socket's folder.
std::string_view ReservedEndpoint();
// Who else holds `path`: "belongs to S-1-5-21-1", "is held by a program that serves nobody"; empty:
// nobody, this account, or it is not known.
std::string WhoElseHolds(const std::string& path);

// Routes.
inline constexpr std::string_view kLeasesPath = "/v1/leases";  // ?after=GENERATION&wait=SECONDS
inline constexpr std::string_view kStatusPath = "/v1/status";
// Both with ?ask=NAME, a name that no other question has.
inline constexpr std::string_view kPlanPath = "/v1/plan";
inline constexpr std::string_view kRepairPath = "/v1/repair";  // POST
inline constexpr int kPlanWait = 30;                           // seconds, for HNS to answer
// The longest `wait` that is honoured, in seconds; longer ones are cut to it.
inline constexpr int kLongestWait = 60;

}  // namespace weft::admin
