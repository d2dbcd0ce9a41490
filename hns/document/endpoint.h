// SPDX-License-Identifier: Apache-2.0
// HostComputeEndpoint, schema 2: the members that weft uses.
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

// Flag of Endpoint::flags: it represents a pod of another node.
inline constexpr std::uint32_t kRemoteEndpoint = 1;

struct IpConfiguration {
  IpAddress address;
  int prefix_length = 0;  // 0: absent
  friend bool operator==(const IpConfiguration&, const IpConfiguration&) = default;
};

struct Endpoint {
  Guid id;
  std::string name;
  Guid network;
  Guid compartment_namespace;  // HostComputeNamespace; zero if attached to none
  std::vector<IpConfiguration> ip_configurations;
  std::string mac;  // verbatim
  std::vector<SubnetRoute> routes;
  std::vector<Policy> policies;
  std::uint32_t flags = 0;
  bool is_remote() const { return (flags & kRemoteEndpoint) != 0; }
  // Whether it is kube-proxy's endpoint of its source VIP, which kube-proxy creates again: local,
  // in no namespace, and without a name, for which HNS shows "Ethernet" in its v1 view. Endpoints
  // of pods are named by their CNI plugin before they enter a namespace.
  bool is_source_vip() const {
    return !is_remote() && compartment_namespace.is_zero() && (name.empty() || name == "Ethernet");
  }
  // From the policies: the address of its node.
  std::optional<IpAddress> provider_address() const;
};

// The document that HcnCreateEndpoint takes: byte for byte hcsshim v0.14.1's for the same values.
std::string EndpointJson(const Endpoint& endpoint);
// As ParseNetwork() reads. DataLoss: no such document.
absl::StatusOr<Endpoint> ParseEndpoint(std::string_view json);

}  // namespace weft::hns
