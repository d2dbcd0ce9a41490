// SPDX-License-Identifier: Apache-2.0
// subnet.env: what the CNI plugin reads about this node, as a value and as text
// (upstream v0.28.9).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "vxlan/ip_prefix.h"
#include "vxlan/mtu.h"

namespace weft::node {

struct SubnetEnvFamily {
  IpPrefix network;  // net-conf's
  IpPrefix subnet;   // this node's PodCIDR
  friend bool operator==(const SubnetEnvFamily&, const SubnetEnvFamily&) = default;
};

struct SubnetEnv {
  std::optional<SubnetEnvFamily> v4, v6;
  InnerMtu mtu = *InnerMtu::From(1450);  // bytes; the smallest of the active tunnels
  bool ip_masq = false;
  friend bool operator==(const SubnetEnv&, const SubnetEnv&) = default;
};

// KEY=VALUE lines with LF, v4 before v6 before MTU and IPMASQ. The subnet is written as its first
// address with the length.
std::string Text(const SubnetEnv& env);

// The address blocks of `key` (a comma list) in the text of an old file; invalid entries are
// skipped.
std::vector<IpPrefix> ReadPrefixes(std::string_view text, std::string_view key);

// This node's IPv4 subnet in the file `path`. NotFound, with the next step: it names none.
absl::StatusOr<IpPrefix> ReadOwnSubnet(const std::string& path);

// The first value in `text`, an old file, that belongs to another lease than `env`: "FLANNEL_SUBNET
// 10.244.9.0/24"; empty: none. Spelling, MTU and IPMASQ are no part of a lease; unreadable values
// are skipped.
std::string OtherLease(std::string_view text, const SubnetEnv& env);

}  // namespace weft::node
