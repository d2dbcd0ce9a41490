// SPDX-License-Identifier: Apache-2.0
// The state of an emulated Windows host as a value, and as JSON.
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
  bool gone = false;                 // unplugged; keeps its index
  Milliseconds visible_from{0};      // when the system has created the interface
  Milliseconds link_local_until{0};  // its IPv4 addresses are 169.254.149.216/16
  bool usable = true;                // a switch can be built on it: not Wi-Fi, not a team's member
  bool forwarding_v4 = false, forwarding_v6 = false;
  // What an administrator set. Of an adapter on a switch: what the switch's adapter lost.
  StaticIp static_ip;
  std::vector<AssignedAddress> until_reboot;  // of static_ip those that PutStaticIp added
  std::string endpoint;                       // the HNS endpoint whose interface it is, if any
  friend bool operator==(const EmulatedAdapter&, const EmulatedAdapter&) = default;
};

// Names are not unique: of several rules with one name, Windows' calls use the first (assumed).
struct EmulatedFirewallRule : FirewallRule {
  std::string group;  // ours: kFirewallGroup
  friend bool operator==(const EmulatedFirewallRule&, const EmulatedFirewallRule&) = default;
};

// What the host's adapter on a new switch lacks of the static settings of the NIC.
enum class StaticIpLoss : std::uint8_t { kNothing, kNameServersAndMetric, kAll };

struct HostState {
  std::vector<EmulatedAdapter> adapters;
  std::vector<Route> routes;  // also of adapters that are gone or down, which keep them
  std::vector<EmulatedFirewallRule> firewall;
  std::vector<IpAddress> name_servers;
  // Adapters that are bound to a switch: their own name, and that of the host's adapter on it.
  std::map<std::string, std::string> switches;
  std::uint32_t next_index = 10;
  Milliseconds gap_until{0};      // until then the machine is unreachable
  Milliseconds firewall_from{0};  // before that the firewall's service does not run
  friend bool operator==(const HostState&, const HostState&) = default;
};

// JSON, for people and files. An absent member has its default; InvalidArgument names the value
// that cannot be read.
std::string HostStateText(const HostState& state);
absl::StatusOr<HostState> ParseHostState(std::string_view text);

}  // namespace weft::host
