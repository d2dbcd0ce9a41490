// SPDX-License-Identifier: Apache-2.0
// What an emulated Windows host has, as a value, and its text.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "control/host/host.h"

namespace weft::host {

using Milliseconds = std::chrono::milliseconds;

struct EmulatedAdapter {
  Adapter adapter;
  bool gone = false;                 // pulled out; comes back with the same index
  Milliseconds visible_from{0};      // an interface that the system is still making
  Milliseconds link_local_until{0};  // its IPv4 addresses are 169.254.149.216/16
  bool usable = true;                // a switch can be built on it: no Wi-Fi, no team's member
  bool forwarding_v4 = false, forwarding_v6 = false;
  std::string endpoint;  // the HNS endpoint that shows itself so, where it is one
  friend bool operator==(const EmulatedAdapter&, const EmulatedAdapter&) = default;
};

// Names are not unique: of several rules of one name Windows' calls mean the first (assumed).
struct FirewallRule {
  std::string name;
  std::uint16_t udp_port = 0;
  friend bool operator==(const FirewallRule&, const FirewallRule&) = default;
};

struct HostState {
  std::vector<EmulatedAdapter> adapters;
  std::vector<Route> routes;  // also those of adapters that are gone or down: they work again after
  std::vector<FirewallRule> firewall;
  std::vector<IpAddress> name_servers;
  // Adapters on which a switch stands, by their own name, and that of the host's adapter there.
  std::map<std::string, std::string> switches;
  std::uint32_t next_index = 10;
  Milliseconds gap_until{0};      // till then nothing reaches the machine
  Milliseconds firewall_from{0};  // before it the firewall's service is not up
  friend bool operator==(const HostState&, const HostState&) = default;
};

// JSON, for people and files. What is left out has its default; InvalidArgument names what cannot
// be read.
std::string HostStateText(const HostState& state);
absl::StatusOr<HostState> ParseHostState(std::string_view text);

}  // namespace weft::host
