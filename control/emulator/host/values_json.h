// SPDX-License-Identifier: Apache-2.0
// Adapters, addresses and routes as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/emulator/host/host_state.h"
#include "control/emulator/host/members_json.h"

namespace weft::host {

// "192.168.1.10/24": an address, not a prefix.
std::string AssignedText(const AssignedAddress& address);
std::optional<AssignedAddress> ParseAssigned(std::string_view text);

// Reading keeps the first error in `status`, as MembersReader does.
Json JsonOf(const EmulatedAdapter& each);
EmulatedAdapter ReadAdapter(const Json& json, const std::string& place, absl::Status& status);
Json JsonOf(const Route& route);
Json JsonOf(const std::vector<IpAddress>& addresses);
Route ReadRoute(const Json& json, const std::string& place, absl::Status& status);
Json JsonOf(const StaticIp& settings);
StaticIp ReadStaticIp(MembersReader& in, absl::Status& status);
Json JsonOf(const FirewallRule& rule);
FirewallRule ReadFirewallRule(MembersReader& in, absl::Status& status);
std::vector<IpAddress> ReadAddresses(MembersReader& in, const char* key, absl::Status& status);

}  // namespace weft::host
