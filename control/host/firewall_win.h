// SPDX-License-Identifier: Apache-2.0
// Windows Firewall through COM.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft::host {

// Makes the inbound rule `rule`, or sets the one of that name right: UDP to `port`, all profiles,
// allowed, enabled. As the others, initialises COM on the calling thread for the time of the call.
absl::Status AllowUdpInByFirewall(const std::string& rule, std::uint16_t port);
absl::StatusOr<bool> FirewallHas(const std::string& rule);
// One that is not there is fine.
absl::Status RemoveFromFirewall(const std::string& rule);

}  // namespace weft::host
