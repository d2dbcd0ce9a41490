// SPDX-License-Identifier: Apache-2.0
// host-gw's network and endpoint in HNS, schema 1, as upstream v0.28.9 creates and reads them, and
// the plan that creates them.
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
  // As in OverlaySpec. Upstream names none, and HNS "will just pick one randomly" (Azure CNI's
  // network_windows.go).
  std::string adapter{};
  IpAddress node_address;
  // As in OverlaySpec. `any_adapter`: the last candidate lets HNS choose.
  std::string adapter_by_mac{};
  bool any_adapter = false;
  std::string ambiguous{};

  IpAddress gateway() const { return subnet.base().Next(); }
  // Address of the endpoint between the host and its pods: .2, which the CNI plugin win-bridge uses
  // as the pods' gateway.
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
  std::optional<IpAddress> management_ip;  // empty: not assigned yet
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

// Adapter names to pass to HNS, in the order in which they are tried; an empty name lets HNS
// choose. No candidate: the adapter is ambiguous.
std::vector<std::string> AdapterCandidates(const BridgeSpec& spec);

// Requests of HNSCall. `candidate`: index into AdapterCandidates.
std::string BridgeNetworkJson(const BridgeSpec& spec, std::size_t candidate = 0);
std::string BridgeEndpointJson(const BridgeSpec& spec, const Guid& network);
std::string HostAttachJson();  // the host's own compartment, 1
// `output` is HNSCall's: one object or an array of objects. Objects without an id are left out.
absl::StatusOr<std::vector<BridgeNetwork>> ParseBridgeNetworks(std::string_view output);
absl::StatusOr<std::vector<BridgeEndpoint>> ParseBridgeEndpoints(std::string_view output);

enum class BridgeAction : std::uint8_t { kAdopt, kCreate, kRecreate, kRefuse };
struct BridgePlan {
  BridgeAction network = BridgeAction::kRefuse;
  std::string reason;  // of kRecreate and kRefuse
  std::optional<BridgeNetwork> existing;
  // kAdopt only if the network is adopted: a new network needs a new endpoint, and the old one is
  // deleted first.
  BridgeAction endpoint = BridgeAction::kCreate;
  std::optional<BridgeEndpoint> existing_endpoint;  // of that name
};

// As for an overlay: a network of our name that differs (type, subnet, gateway) or is degraded is
// replaced only if no local endpoint in it except our own has an address inside our present
// PodCIDR.
BridgePlan PlanBridge(const BridgeSpec& spec, std::span<const BridgeNetwork> networks,
                      std::span<const BridgeEndpoint> endpoints);

}  // namespace weft::hns
