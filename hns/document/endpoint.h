// SPDX-License-Identifier: Apache-2.0
// HostComputeEndpoint, schema 2, as far as weft looks at it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hns/document/guid.h"
#include "hns/document/network.h"
#include "vxlan/ip_prefix.h"

namespace weft::hns {

// Of Endpoint::flags: it stands for a pod on another node.
inline constexpr std::uint32_t kRemoteEndpoint = 1;

struct IpConfiguration {
  IpAddress address;
  int prefix_length = 0;  // 0: not said
  friend bool operator==(const IpConfiguration&, const IpConfiguration&) = default;
};

struct Endpoint {
  Guid id;
  std::string name;
  Guid network;
  Guid compartment_namespace;  // HostComputeNamespace: zero when attached to none
  std::vector<IpConfiguration> ip_configurations;
  std::string mac;  // as spelled
  std::vector<SubnetRoute> routes;
  std::vector<Policy> policies;
  std::uint32_t flags = 0;
  bool is_remote() const { return (flags & kRemoteEndpoint) != 0; }
  // Of the policies: the node where it lives.
  std::optional<IpAddress> provider_address() const;
};

// The document that HcnCreateEndpoint takes: byte for byte hcsshim v0.14.1's for the same values.
std::string EndpointJson(const Endpoint& endpoint);
// As ParseNetwork() reads. DataLoss: no such document.
absl::StatusOr<Endpoint> ParseEndpoint(std::string_view json);

}  // namespace weft::hns
