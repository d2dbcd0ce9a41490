// SPDX-License-Identifier: Apache-2.0
// HostComputeNetwork, schema 2: what weft wants of a network and what it reads of one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hns/document/guid.h"
#include "hns/document/isolation_id.h"
#include "vxlan/ip_prefix.h"
#include "vxlan/mac_address.h"

namespace weft::hns {

// Network flags (hns_schema.h of microsoft/WSL).
inline constexpr std::uint32_t kEnableNonPersistent = 8;
inline constexpr std::uint32_t kEnablePersistent = 16;

// Of a network without a VxlanPort policy.
inline constexpr std::uint16_t kUsualVxlanPort = 4789;

// The provider address and router MAC behind which a remote node's pods live.
struct RemoteSubnetRoute {
  IpPrefix destination;
  IsolationId isolation_id;
  IpAddress provider_address;
  MacAddress router_mac;
  friend bool operator==(const RemoteSubnetRoute&, const RemoteSubnetRoute&) = default;
};

// One policy as it stands in the document. `settings` is its Settings object as JSON, verbatim:
// HNS removes only what is spelled as it was added. Empty settings are "{}".
struct Policy {
  std::string type;  // "RemoteSubnetRoute"
  std::string settings;
  friend bool operator==(const Policy&, const Policy&) = default;
};

namespace policy_type {
inline constexpr std::string_view kNetAdapterName = "NetAdapterName";
inline constexpr std::string_view kProviderAddress = "ProviderAddress";
inline constexpr std::string_view kDrMacAddress = "DrMacAddress";
inline constexpr std::string_view kRemoteSubnetRoute = "RemoteSubnetRoute";
inline constexpr std::string_view kHostRoute = "HostRoute";
inline constexpr std::string_view kVxlanPort = "VxlanPort";
}  // namespace policy_type

Policy NetAdapterNamePolicy(std::string_view adapter);
Policy HostRoutePolicy();
Policy VxlanPortPolicy(std::uint16_t port);
// Of an endpoint: the node where it lives. Of a network: the address of its adapter.
Policy ProviderAddressPolicy(const IpAddress& address);
// Spelled as upstream v0.28.9 spells it: MAC in lower case with colons.
Policy RemoteSubnetRoutePolicy(const RemoteSubnetRoute& route);
// What `policy`, a RemoteSubnetRoute, says; either spelling of the MAC. Empty: it is none, or says
// nothing that could be a route of ours (another VNI range, no MAC).
std::optional<RemoteSubnetRoute> ReadRemoteSubnetRoute(const Policy& policy);

struct SubnetRoute {
  IpAddress next_hop;
  IpPrefix destination;
  friend bool operator==(const SubnetRoute&, const SubnetRoute&) = default;
};
struct Subnet {
  IpPrefix prefix;
  std::optional<std::uint32_t> isolation_id;  // its VSID policy; empty: there is none, or HNS does
                                              // not show it
  std::vector<SubnetRoute> routes;
  friend bool operator==(const Subnet&, const Subnet&) = default;
};

struct Network {
  Guid id;           // zero in a spec: HNS chooses
  std::string name;  // unique in HNS, compared without case by nobody
  std::string type;  // "Overlay", "L2Bridge"; compared without case
  std::vector<Policy> policies;
  std::vector<Subnet> subnets;  // of all Ipams, in order
  std::vector<std::string> dns_servers;
  std::uint32_t flags = 0;
  bool degraded = false;  // its adapter is gone; shown by schema 1 alone

  bool IsOfType(std::string_view desired) const;
  // Of the policies above; empty where HNS has not filled it in (yet).
  std::optional<IpAddress> provider_address() const;  // the management IP
  std::optional<MacAddress> dr_mac() const;           // the last one, as upstream takes it
  std::string adapter_name() const;
  // Empty: there is no such policy, or HNS does not show it.
  std::optional<std::uint16_t> vxlan_port() const;
  bool Has(std::string_view policy_type) const;
};

// The document that HcnCreateNetwork takes: byte for byte upstream v0.28.9's for the same values.
std::string NetworkJson(const Network& network);
// What HcnQueryNetworkProperties answers in schema 2. Keys without case; absent ones have the
// schema's default; policies that are not known are kept verbatim. DataLoss: no such document.
absl::StatusOr<Network> ParseNetwork(std::string_view json);
// VSIDs and UDP port of schema 1's view of `network` (HNSCall's output), where schema 2 did not
// show them, and whether it is degraded. Anything else leaves it as it is.
void FillFromSchema1(std::string_view output, Network& network);

// HcnModifyNetwork's document: `request` is "Add" or "Remove".
std::string ModifyPoliciesJson(std::string_view request, const std::vector<Policy>& policies);

}  // namespace weft::hns
