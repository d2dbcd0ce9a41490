// SPDX-License-Identifier: Apache-2.0
// Calls to a host and their answers on a connection. No I/O here. A private protocol: both ends are
// weft's, of the same version.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/host/host.h"

namespace weft::emulator {

enum class HostOperation : std::uint8_t {
  kAdapters,
  kRoutes,
  kRouteTo,
  kNameServers,
  kSetLinkUp,
  kAddAddress,
  kPutRoutes,
  kRemoveRoutes,
  kSetForwarding,
  kForwarding,
  kAllowUdpIn,
  kFindFirewallRule,
  kRemoveFirewallRule,
  kReplaceRoutes,
  kReadStaticIp,
  kPutStaticIp,
};

// The arguments of host::Host's functions; those that an operation does not have are ignored.
struct HostCall {
  HostOperation operation{};
  IpFamily family = IpFamily::kV4;
  std::uint32_t adapter = 0;
  std::uint32_t mtu = 0;
  host::AssignedAddress address;  // of kRouteTo: the destination
  std::vector<host::Route> routes;
  bool on = false;
  host::StaticIp static_ip;
  host::FirewallRule rule;  // of kFindFirewallRule and kRemoveFirewallRule: its name
  friend bool operator==(const HostCall&, const HostCall&) = default;
};

struct HostAnswer {
  absl::Status status;
  std::vector<host::Adapter> adapters;
  std::vector<host::Route> routes;  // of kRouteTo: one
  std::vector<IpAddress> name_servers;
  host::StaticIp static_ip;
  std::vector<absl::Status> results;
  bool on = false;
  std::string corrected;  // of kAllowUdpIn
  host::RuleOwner owner = host::RuleOwner::kNone;
  friend bool operator==(const HostAnswer&, const HostAnswer&) = default;
};

std::string Encode(const HostCall& call);
std::string Encode(const HostAnswer& answer);
// InvalidArgument names the value that cannot be read.
absl::StatusOr<HostCall> ParseHostCall(std::string_view text);
absl::StatusOr<HostAnswer> ParseHostAnswer(std::string_view text);

// Calls `host` and returns its answer.
HostAnswer CarryOut(host::Host& host, const HostCall& call);

}  // namespace weft::emulator
