// SPDX-License-Identifier: Apache-2.0
// Which interface carries the outer packets, and which of its addresses are published
// (upstream v0.28.9).
//
// Where we differ from upstream: without a flag the owner of the Node's InternalIP is taken, then
// of several default routes the one with the lowest metric (there: fatal); link-local and
// deprecated addresses are taken only when there is no other, what carries no traffic between nodes
// (WhyNoUnderlay, addresses of pods) only if it is named, and --iface-can-reach works on every
// system.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/host/host.h"
#include "vxlan/ip_address.h"
#include "vxlan/mtu.h"

namespace weft::underlay {

// The flags, with public_ip and public_ipv6 already replaced by node-public-ip annotations. An
// enabled family needs an address.
struct InterfaceRequest {
  bool require_v4 = true;
  bool require_v6 = false;
  std::vector<std::string> iface;        // in order
  std::vector<std::string> iface_regex;  // in order, after all of `iface`
  std::string iface_can_reach;           // last
  std::string public_ip;
  std::string public_ipv6;
  std::vector<IpAddress> node_ips;  // InternalIPs of the Node; before metrics
  // What the Node's annotations have: decides between what is otherwise equal.
  std::vector<IpAddress> published;
  // A virtual switch moves a NIC's addresses to an adapter of its own, with the NIC's MAC; and an
  // adapter has an address of 169.254/16 until it gets another one: it does not count, unless it is
  // requested explicitly.
  bool windows = false;
  std::vector<IpPrefix> pod_subnets{};  // this node's podCIDRs: addresses in them are of pods

  bool names_interface() const {
    return !iface.empty() || !iface_regex.empty() || !iface_can_reach.empty();
  }
  friend bool operator==(const InterfaceRequest&, const InterfaceRequest&) = default;
};

// What the choice depends on.
struct HostFacts {
  std::vector<host::Adapter> adapters;
  std::vector<host::Route> routes_v4, routes_v6;  // the choice uses default ones only
  std::function<absl::StatusOr<host::Route>(const IpAddress&)> route_to;
  std::vector<std::string> own_devices{};  // names of our tunnels; not all need exist
};

struct ChosenFamily {
  IpAddress address;        // of the interface: the source of outer packets
  IpAddress public_ip;      // what is published to peers
  bool configured = false;  // public_ip is from a flag or an annotation
  friend bool operator==(const ChosenFamily&, const ChosenFamily&) = default;
};

struct InterfaceChoice {
  std::uint32_t index = 0;
  std::string name;
  OuterMtu mtu = *OuterMtu::From(1500);  // of the link
  std::optional<ChosenFamily> v4, v6;    // exactly of the required families
  MacAddress mac{};
  const std::optional<ChosenFamily>& of(IpFamily family) const {
    return family == IpFamily::kV4 ? v4 : v6;
  }
  friend bool operator==(const InterfaceChoice&, const InterfaceChoice&) = default;
};

// How a choice came about. The texts are for people.
struct ChoiceReasons {
  std::string taken_by;               // "--iface=Ethernet", "the default route"; empty: none taken
  std::vector<std::string> rejected;  // tried before, and why each did not fit
  // Those addresses of the choice that a flag, an annotation or the InternalIP names: no
  // expression, route or order among addresses chose them.
  std::vector<IpAddress> named;
};

// Candidates are tried in the order of InterfaceRequest; the first whose adapter has an address of
// every required family wins. Nothing named: the owner of public_ip (or public_ipv6), else of an
// InternalIP, else the default route. The error has the reason against each candidate, and lists
// the adapters. A malformed flag is InvalidArgument, nothing found is NotFound.
absl::StatusOr<InterfaceChoice> ChooseInterface(const InterfaceRequest& request,
                                                const HostFacts& facts,
                                                ChoiceReasons* reasons = nullptr);

// Why this adapter is taken only if it is named: it is a tunnel of ours, its addresses are of pods,
// or ReasonAgainst on Windows. Empty: it may be taken.
std::string_view WhyNoUnderlay(const host::Adapter& adapter, const InterfaceRequest& request,
                               const HostFacts& facts);
// On Windows: it is wireless, or a switch of HNS or Hyper-V behind which there is no NIC.
std::string_view ReasonAgainst(const host::Adapter& adapter,
                               const std::vector<host::Adapter>& adapters);

// The address of `family` that the node takes of `adapter`, or null.
const host::AssignedAddress* BestAddress(const host::Adapter& adapter, IpFamily family,
                                         const InterfaceRequest& request);

// These addresses on `adapter`. FailedPrecondition: its MTU leaves no room for a packet.
absl::StatusOr<InterfaceChoice> ChoiceOn(const host::Adapter& adapter,
                                         const InterfaceRequest& request,
                                         const std::optional<IpAddress>& v4,
                                         const std::optional<IpAddress>& v6);

// "eth0, 10.0.0.1 (published as 203.0.113.7), fd00::1".
std::string Text(const InterfaceChoice& choice);

// 169.254/16, which on Windows is no address of a node.
bool IsUnset(const IpAddress& address);

// The adapter of that index, or null.
const host::Adapter* ByIndex(std::uint32_t index, const std::vector<host::Adapter>& adapters);

bool Contains(const std::vector<IpAddress>& addresses, const IpAddress& address);

// That address of the adapter, or null.
const host::AssignedAddress* Find(const host::Adapter& adapter, const IpAddress& address);

// The adapter that has `address`, or null. Of several (a virtual IP may be on a dummy device, too)
// the one that carries it: no loopback, up, with more than the address in its prefix; else the one
// with the index `preferred`, which need not be up; else the first. None named in `except`.
const host::Adapter* OwnerOf(const IpAddress& address, const std::vector<host::Adapter>& adapters,
                             const std::vector<std::string>& except = {},
                             std::uint32_t preferred = 0);

// Reads from `host` what ChooseInterface needs. `host` outlives the result.
absl::StatusOr<HostFacts> ReadHostFacts(host::Host& host,
                                        std::vector<std::string> own_devices = {});

}  // namespace weft::underlay
