// SPDX-License-Identifier: Apache-2.0
// Which interface carries the outer packets, and which of its addresses are published
// (upstream v0.28.9).
//
// Where we differ from upstream: of several default routes the one with the lowest metric counts
// (there: fatal), link-local addresses are taken only when there is no other, the Node's InternalIP
// decides what is otherwise equal, on Windows no wireless adapter and no internal switch is taken
// unless it is named, and --iface-can-reach works on every system.
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
  // InternalIPs of the Node: of several default routes of one metric, or addresses of one adapter,
  // that with such an address is taken.
  std::vector<IpAddress> node_ips;
  // A virtual switch moves a NIC's addresses to an adapter of its own, with the NIC's MAC; and an
  // adapter has an address of 169.254/16 until it gets another one: it does not count, unless it is
  // requested explicitly.
  bool windows = false;

  bool names_interface() const {
    return !iface.empty() || !iface_regex.empty() || !iface_can_reach.empty();
  }
};

// What the choice depends on.
struct HostFacts {
  std::vector<host::Adapter> adapters;
  std::vector<host::Route> routes_v4, routes_v6;  // the choice uses default ones only
  std::function<absl::StatusOr<host::Route>(const IpAddress&)> route_to;
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

// How a choice came about, for people.
struct ChoiceReasons {
  std::string taken_by;               // "--iface=Ethernet", "the default route"; empty: none taken
  std::vector<std::string> rejected;  // tried before, and why each did not fit
};

// Candidates are tried in the order of InterfaceRequest; the first whose adapter has an address of
// every required family wins. Nothing named: the owner of public_ip (or public_ipv6), else the
// default route. The error has the reason against each candidate, and lists the adapters. A
// malformed flag is InvalidArgument, nothing found is NotFound.
absl::StatusOr<InterfaceChoice> ChooseInterface(const InterfaceRequest& request,
                                                const HostFacts& facts,
                                                ChoiceReasons* reasons = nullptr);

// Why this adapter is taken only if it is named, on Windows: it is wireless, or a switch of HNS or
// Hyper-V behind which there is no NIC. Empty: it may be taken.
std::string_view ReasonAgainst(const host::Adapter& adapter,
                               const std::vector<host::Adapter>& adapters);

// Why the node stays with `current`, its previous choice, and does not move to `choice`: the
// adapter exists and has merely lost its address, which returns soon (a virtual switch is being
// created, a DHCP lease); with `may_return`, also where the adapter is missing. Empty: the node
// moves.
std::string ReasonToStay(const InterfaceChoice& current, const InterfaceChoice& choice,
                         const std::vector<host::Adapter>& adapters, bool may_return = false);

// Whether the adapter of `current` exists, under its index, its name or its MAC (behind a virtual
// switch, or a bridge).
bool IsPresent(const InterfaceChoice& current, const std::vector<host::Adapter>& adapters);

// 169.254/16, which on Windows is no address of a node.
bool IsUnset(const IpAddress& address);

// The adapter of that index, or null.
const host::Adapter* ByIndex(std::uint32_t index, const std::vector<host::Adapter>& adapters);

// The adapter that has `address`, or null.
const host::Adapter* OwnerOf(const IpAddress& address, const std::vector<host::Adapter>& adapters);

// Reads from `host` what ChooseInterface needs. `host` outlives the result.
absl::StatusOr<HostFacts> ReadHostFacts(host::Host& host);

}  // namespace weft::underlay
