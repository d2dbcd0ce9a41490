// SPDX-License-Identifier: Apache-2.0
// HostComputeNetwork, schema 2: the members that weft writes and reads.
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

// The UDP port of a network without a VxlanPort policy.
inline constexpr std::uint16_t kUsualVxlanPort = 4789;

// Provider address and router MAC of a remote node's pod subnet.
struct RemoteSubnetRoute {
  IpPrefix destination;
  IsolationId isolation_id;
  IpAddress provider_address;
  MacAddress router_mac;
  friend bool operator==(const RemoteSubnetRoute&, const RemoteSubnetRoute&) = default;
};

// A policy of the document. `settings` is its Settings object as JSON, verbatim: HNS removes a
// policy only if its spelling is that of the add. Empty settings are "{}".
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
// For an endpoint, the address of its node; for a network, the address of its adapter.
Policy ProviderAddressPolicy(const IpAddress& address);
// In upstream v0.28.9's spelling: MAC in lower case with colons.
Policy RemoteSubnetRoutePolicy(const RemoteSubnetRoute& route);
// The route of `policy`; the MAC in either spelling. Empty: it is no RemoteSubnetRoute, or cannot
// be a route of ours (VNI outside our range, no MAC).
std::optional<RemoteSubnetRoute> ReadRemoteSubnetRoute(const Policy& policy);

struct SubnetRoute {
  IpAddress next_hop;
  IpPrefix destination;
  friend bool operator==(const SubnetRoute&, const SubnetRoute&) = default;
};
struct Subnet {
  IpPrefix prefix;
  std::optional<std::uint32_t>
      isolation_id;  // of its VSID policy; empty: none, or not shown by HNS
  std::vector<SubnetRoute> routes;
  friend bool operator==(const Subnet&, const Subnet&) = default;
};

struct Network {
  Guid id;           // zero in a spec: HNS chooses
  std::string name;  // unique in HNS; case-sensitive
  std::string type;  // "Overlay", "L2Bridge"; compared regardless of case
  std::vector<Policy> policies;
  std::vector<Subnet> subnets;  // of all Ipams, in order
  std::vector<std::string> dns_servers;
  std::uint32_t flags = 0;
  bool degraded = false;  // its adapter is gone; shown by schema 1 only

  bool IsOfType(std::string_view desired) const;
  // From the policies above; empty if HNS has not filled it in (yet).
  std::optional<IpAddress> provider_address() const;  // the management IP
  std::optional<MacAddress> dr_mac() const;           // the last of several, as upstream
  std::string adapter_name() const;
  // Empty: there is no such policy, or HNS does not show it.
  std::optional<std::uint16_t> vxlan_port() const;
  bool Has(std::string_view policy_type) const;
};

// The document that HcnCreateNetwork takes: byte for byte upstream v0.28.9's for the same values.
std::string NetworkJson(const Network& network);
// Parses HcnQueryNetworkProperties' result in schema 2. Keys match regardless of case; absent
// members have the schema's default; unknown policies are kept verbatim. DataLoss: no such
// document.
absl::StatusOr<Network> ParseNetwork(std::string_view json);
// Fills in what schema 2 does not show from schema 1's document (`output` of HNSCall): missing
// VSIDs and UDP port, and `degraded`. Does nothing if `output` is no such document.
void FillFromSchema1(std::string_view output, Network& network);

// HcnModifyNetwork's document: `request` is "Add" or "Remove".
std::string ModifyPoliciesJson(std::string_view request, const std::vector<Policy>& policies);

}  // namespace weft::hns
