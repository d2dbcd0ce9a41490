// SPDX-License-Identifier: Apache-2.0
// Calls to a host and their answers, as the two ends of a connection exchange them. No I/O here.
// Private to weft's own two ends, of one version.
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
  kHasFirewallRule,
  kRemoveFirewallRule,
  kReplaceRoutes,
};

// The arguments of host::Host's functions; those of others are left alone.
struct HostCall {
  HostOperation operation{};
  IpFamily family = IpFamily::kV4;
  std::uint32_t adapter = 0;
  std::uint32_t mtu = 0;
  host::AssignedAddress address;  // of kRouteTo: the destination
  std::vector<host::Route> routes;
  bool on = false;
  std::string rule;
  std::uint16_t port = 0;
  friend bool operator==(const HostCall&, const HostCall&) = default;
};

struct HostAnswer {
  absl::Status status;
  std::vector<host::Adapter> adapters;
  std::vector<host::Route> routes;  // of kRouteTo: the one
  std::vector<IpAddress> name_servers;
  std::vector<absl::Status> results;
  bool on = false;  // also: there is one
  friend bool operator==(const HostAnswer&, const HostAnswer&) = default;
};

std::string Encode(const HostCall& call);
std::string Encode(const HostAnswer& answer);
// InvalidArgument names what cannot be read.
absl::StatusOr<HostCall> ParseHostCall(std::string_view text);
absl::StatusOr<HostAnswer> ParseHostAnswer(std::string_view text);

// What `host` answers.
HostAnswer CarryOut(host::Host& host, const HostCall& call);

}  // namespace weft::emulator
