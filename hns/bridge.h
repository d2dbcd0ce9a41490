// SPDX-License-Identifier: Apache-2.0
// host-gw's network and endpoint in HNS, schema 1: as upstream v0.28.9 makes and reads them. What
// one has to do so that they stand is decided here too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hns/document/guid.h"
#include "vxlan/ip_prefix.h"

namespace weft::hns {

struct BridgeSpec {
  std::string name;         // "cbr0"
  IpPrefix subnet;          // our PodCIDR
  std::string dns_servers;  // separated by commas, as net-conf has them; may be empty
  // As OverlaySpec's. Upstream names none, and HNS "will just pick one randomly" (Azure CNI's
  // network_windows.go).
  std::string adapter{};
  IpAddress node_address;
  // As OverlaySpec's; `any_adapter`: at last HNS chooses.
  std::string adapter_by_mac{};
  bool any_adapter = false;
  std::string ambiguous{};

  IpAddress gateway() const { return subnet.base().Next(); }
  // Of the endpoint through which the host reaches its pods, and they the host: .2, which the CNI
  // plugin win-bridge takes for the pods' gateway.
  IpAddress endpoint_address() const { return gateway().Next(); }
  std::string endpoint_name() const { return name + "_ep"; }
  friend bool operator==(const BridgeSpec&, const BridgeSpec&) = default;
};

struct BridgeSubnet {
  IpPrefix prefix;
  IpAddress gateway;
  friend bool operator==(const BridgeSubnet&, const BridgeSubnet&) = default;
};
struct BridgeNetwork {
  Guid id;
  std::string name;
  std::string type;  // "L2Bridge", any case
  std::vector<BridgeSubnet> subnets;
  std::optional<IpAddress> management_ip;  // empty: not yet
  bool degraded = false;                   // State 5: its adapter is gone
};
struct BridgeEndpoint {
  Guid id;
  std::string name;
  Guid network;
  std::optional<IpAddress> address;
  bool remote = false;
  bool attached = false;  // State 2 or 3
};

// The names by which HNS is given the adapter, in the order in which they are tried; an empty one:
// HNS chooses. None at all: it is ambiguous.
std::vector<std::string> AdapterWays(const BridgeSpec& spec);

// Requests of HNSCall. `way`: of AdapterWays.
std::string BridgeNetworkJson(const BridgeSpec& spec, std::size_t way = 0);
std::string BridgeEndpointJson(const BridgeSpec& spec, const Guid& network);
std::string HostAttachJson();  // the host's own compartment, 1
// `output` of HNSCall's answer: one object or an array of them. Those without an id are left out.
absl::StatusOr<std::vector<BridgeNetwork>> ParseBridgeNetworks(std::string_view output);
absl::StatusOr<std::vector<BridgeEndpoint>> ParseBridgeEndpoints(std::string_view output);

enum class BridgeAction : std::uint8_t { kAdopt, kCreate, kRecreate, kRefuse };
struct BridgePlan {
  BridgeAction network = BridgeAction::kRefuse;
  std::string reason;  // of kRecreate and kRefuse
  std::optional<BridgeNetwork> existing;
  // kAdopt only where the network is adopted; a new network needs a new endpoint, and the old one
  // goes first.
  BridgeAction endpoint = BridgeAction::kCreate;
  std::optional<BridgeEndpoint> existing_endpoint;  // of that name
};

// As for an overlay: a network of our name that differs (type, subnet, gateway; degraded) is
// replaced only when no local endpoint in it, but ours, has an address inside the PodCIDR that is
// ours now.
BridgePlan PlanBridge(const BridgeSpec& spec, std::span<const BridgeNetwork> networks,
                      std::span<const BridgeEndpoint> endpoints);

}  // namespace weft::hns
