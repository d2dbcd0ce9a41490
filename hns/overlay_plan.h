// SPDX-License-Identifier: Apache-2.0
// The plan for this node's overlay network: from HNS's present state to the spec. Pure. The keeper
// carries it out, `flannelctl plan` shows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hns/document/endpoint.h"
#include "hns/document/isolation_id.h"
#include "hns/document/network.h"
#include "hns/version.h"
#include "vxlan/ip_prefix.h"

namespace weft::hns {

struct OverlaySpec {
  std::string name;  // "flannel.4096"
  IpPrefix subnet;   // our PodCIDR
  IsolationId isolation_id;
  std::uint16_t port = kUsualVxlanPort;
  // Friendly name of the adapter that carries `node_address`: "Ethernet", or "vEthernet (Ethernet)"
  // once HNS has bound it. Empty: HNS chooses.
  std::string adapter;
  IpAddress node_address;
  // Create a persistent network that keeps the vSwitch across reboots, so that only the very first
  // start cuts the node off (base_network.h).
  bool base_network = false;
  // What HNS receives if it knows no adapter of that name, or the name is empty: the one physical
  // adapter with the vNIC's MAC. With `by_address`: then the node's address, then nothing.
  std::string adapter_by_mac{};
  bool by_address = false;
  // Why that adapter is not known (several have the MAC). Then no network is created without a
  // name.
  std::string ambiguous{};

  IpAddress gateway() const { return subnet.base().Next(); }
  friend bool operator==(const OverlaySpec&, const OverlaySpec&) = default;
};

// The NIC below HNS's adapter: X for "vEthernet (X)". HNS binds only NICs.
std::string PhysicalAdapter(std::string_view adapter);

// Whether `adapter` is one of the names that HNS receives for the spec's adapter.
bool IsAdapterOf(const OverlaySpec& spec, std::string_view adapter);

// Policies that select the adapter, in the order in which they are tried; an empty list of policies
// lets HNS choose. No candidate: the adapter is ambiguous.
std::vector<std::vector<Policy>> AdapterCandidates(const OverlaySpec& spec);

// The document for `spec`, as upstream v0.28.9 creates it. `candidate`: index into
// AdapterCandidates.
Network OverlayNetwork(const OverlaySpec& spec, std::size_t candidate = 0);

// How `network` differs from the spec in type, subnet, VSID and UDP port; empty: it can be used. A
// VSID or port that HNS does not show is no difference; a VSID is then taken from the network's own
// routes. What is not compared (adapter, gateway, flags, policies of other types) stays as its
// creator set it.
std::vector<std::string> Differences(const OverlaySpec& spec, const Network& network);

// A sentence about what is assumed of a usable network because HNS does not show it; empty:
// nothing.
std::string Assumed(const OverlaySpec& spec, const Network& network);

// The network with the spec's name; of several, one without Differences. Null: there is none.
const Network* FindOverlay(const OverlaySpec& spec, std::span<const Network> networks);

enum class NetworkAction : std::uint8_t {
  kAdopt,     // exists without Differences, whoever created it: is not changed
  kCreate,    //
  kRecreate,  // delete, then create: no pod of ours is in it
  kRefuse,    // no change; `reason` has the next step for an operator
};

struct NetworkPlan {
  NetworkAction action = NetworkAction::kRefuse;
  std::string reason;               // of kRecreate and kRefuse
  std::optional<Network> existing;  // of that name
  Network document;                 // of kCreate and kRecreate
  std::optional<Network> base;      // to be created first; a failure does not stop the rest
};

// `networks`: all. `endpoints`: at least those of the network with the spec's name; read only if it
// differs. A network of our name that differs is replaced only if no local endpoint in it has an
// address inside our present PodCIDR, because replacing it kills its pods.
NetworkPlan PlanNetwork(const OverlaySpec& spec, Version version, std::span<const Network> networks,
                        std::span<const Endpoint> endpoints, std::size_t candidate = 0);

}  // namespace weft::hns
