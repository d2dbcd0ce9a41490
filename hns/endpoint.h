// SPDX-License-Identifier: Apache-2.0
// HostComputeEndpoint, schema 2, as far as weft looks at it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hns/guid.h"
#include "hns/network.h"
#include "vxlan/ip_prefix.h"

namespace weft::hns {

inline constexpr std::uint32_t kRemoteEndpoint =
    1;  // of Endpoint::flags: stands for a pod elsewhere

struct Endpoint {
  Guid id;
  std::string name;
  Guid network;
  Guid compartment_namespace;  // HostComputeNamespace: zero when attached to none
  std::vector<IpAddress> addresses;
  int prefix_length = 0;  // of the first address
  std::string mac;        // as spelled
  std::vector<SubnetRoute> routes;
  std::vector<Policy> policies;
  std::uint32_t flags = 0;
  bool is_remote() const { return (flags & kRemoteEndpoint) != 0; }
};

std::string EndpointJson(const Endpoint& endpoint);
absl::StatusOr<Endpoint> ParseEndpoint(std::string_view json);

}  // namespace weft::hns
