// SPDX-License-Identifier: Apache-2.0
// What has to be done so that this node's overlay network stands. Pure: what HNS says in, a plan
// out; the keeper carries it out, `flannelctl plan` shows it.
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
  // A persistent network that keeps the vSwitch over reboots, so that only the very first start
  // cuts the node off (base_network.h).
  bool base_network = false;
  // What HNS receives where it knows no adapter of that name, or there is none to give: the one
  // physical adapter that has the vNIC's MAC; else, `by_address`, the node's address, then nothing.
  std::string adapter_by_mac{};
  bool by_address = false;
  std::string
      ambiguous{};  // why that adapter is not known: several have the MAC; none is made then

  IpAddress gateway() const { return subnet.base().Next(); }
  friend bool operator==(const OverlaySpec&, const OverlaySpec&) = default;
};

// The adapter below HNS's own: "vEthernet (X)" is X. HNS binds no other.
std::string PhysicalAdapter(std::string_view adapter);

// Whether `adapter` is one of the names by which HNS is given the adapter.
bool IsAdapterOf(const OverlaySpec& spec, std::string_view adapter);

// The policies that give HNS the adapter, in the order in which they are tried; each empty: HNS
// chooses. None at all: it is ambiguous.
std::vector<std::vector<Policy>> AdapterWays(const OverlaySpec& spec);

// The document for `spec`, as upstream v0.28.9 creates it. `way`: of AdapterWays.
Network OverlayNetwork(const OverlaySpec& spec, std::size_t way = 0);

// In what `network` is not what is wanted: type, subnet, VSID, UDP port; empty: it will do. A VSID
// or port that HNS does not show is not known, which is no difference; of the VSID the network's
// own routes tell. What is not compared (adapter, gateway, flags, policies of other types)
// stays as its creator set it.
std::vector<std::string> Differences(const OverlaySpec& spec, const Network& network);

// Of a network that will do: what is taken for right because HNS does not show it. Empty: nothing.
std::string Assumed(const OverlaySpec& spec, const Network& network);

// Of `networks` the one that is called `name`; of several the one that will do.
const Network* FindOverlay(const OverlaySpec& spec, std::span<const Network> networks);

enum class NetworkAction : std::uint8_t {
  kAdopt,     // it stands and will do, whoever made it: left untouched
  kCreate,    //
  kRecreate,  // delete, then create: no pod of ours lives in it
  kRefuse,    // nothing may be done; `reason` says what a person does next
};

struct NetworkPlan {
  NetworkAction action = NetworkAction::kRefuse;
  std::string reason;               // of kRecreate and kRefuse
  std::optional<Network> existing;  // of that name
  Network document;                 // of kCreate and kRecreate
  std::optional<Network> base;      // to be created first; its failure stops nothing
};

// `networks`: all. `endpoints`: those of the network of that name, or more; looked at only where it
// differs. The rule: a network of our name that differs is replaced only when no local endpoint in
// it has an address inside the PodCIDR that is ours now, because replacing it kills its pods.
NetworkPlan PlanNetwork(const OverlaySpec& spec, Version version, std::span<const Network> networks,
                        std::span<const Endpoint> endpoints, std::size_t way = 0);

}  // namespace weft::hns
