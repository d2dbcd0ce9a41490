// SPDX-License-Identifier: Apache-2.0
// An entry of the ledger: an object that weft made, is about to make, or found and uses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "control/host/host.h"
#include "control/host/packet_filter.h"
#include "hns/api/api.h"
#include "hns/document/guid.h"
#include "vxlan/ip_address.h"
#include "vxlan/ip_prefix.h"
#include "vxlan/mac_address.h"

namespace weft::ledger {

// `adopted`, in all of these: the object existed before and was suitable. It is used and repaired,
// but never deleted by `flannelctl reset`.

// A network or an endpoint.
struct HnsObject {
  hns::Kind kind = hns::Kind::kNetwork;
  std::string name;
  std::optional<hns::Guid> id{};  // empty: intended, and the result of its create is unknown
  bool adopted = false;
  // An object without an id is found by its shape ("Overlay 10.244.1.0/24 VSID 4096", an endpoint's
  // address), and only in the same boot (BootId): later, another program may have made a similar
  // one.
  std::string shape{}, boot{};
  friend bool operator==(const HnsObject&, const HnsObject&) = default;
};

// A route to a peer, on any adapter: a vSwitch or a reboot gives the link another index.
struct HostRoute {
  IpPrefix destination;
  IpAddress next_hop;
  bool adopted = false;
  std::string boot{};  // the boot in which it was put; empty: an earlier version's
  friend bool operator==(const HostRoute&, const HostRoute&) = default;
};

// A route that one of ours replaced, to be restored.
struct FormerRoute {
  IpPrefix destination;
  std::optional<IpAddress> gateway;
  std::string adapter;  // its name, because its index may change
  std::uint32_t metric = 0;
  bool onlink = false;
  friend bool operator==(const FormerRoute&, const FormerRoute&) = default;
};

struct FirewallRule {
  std::string name;
  std::uint16_t port = 0;
  bool adopted = false;
  friend bool operator==(const FirewallRule&, const FirewallRule&) = default;
};

struct FilterRules {
  host::FilterPart part = host::FilterPart::kMasquerade;
  bool adopted = false;
  friend bool operator==(const FilterRules&, const FilterRules&) = default;
};

// A route of the administrator, on the link whose adapter has `mac`.
struct StaticRoute {
  IpPrefix destination;
  std::optional<IpAddress> gateway;
  MacAddress mac;
  std::uint32_t adapter_index = 0, metric = 0;
  std::string boot;  // the boot in which it was seen last
  friend bool operator==(const StaticRoute&, const StaticRoute&) = default;
};

// The static IPv4 settings that the adapter with `mac` had, for the adapter that takes its place.
struct StaticIp {
  MacAddress mac;
  std::uint32_t adapter_index = 0;
  host::StaticIp settings;
  std::vector<IpAddress> gateways;  // of the default routes
  std::string boot;                 // the boot in which they were seen last
  friend bool operator==(const StaticIp&, const StaticIp&) = default;
};

// An entry in the form of ledger.json.
struct Row {
  std::string kind, name, id;
  bool adopted = false;
  std::string shape{}, boot{};
  friend bool operator==(const Row&, const Row&) = default;
};

// An entry of a kind that this version does not know, or that cannot be read. It is kept.
struct Unknown {
  Row row;
  friend bool operator==(const Unknown&, const Unknown&) = default;
};

using Entry = std::variant<HnsObject, HostRoute, FormerRoute, FirewallRule, FilterRules,
                           StaticRoute, StaticIp, Unknown>;

inline constexpr std::string_view kStaticRoute = "static-route";
inline constexpr std::string_view kStaticIp = "static-ip";

Row RowOf(const Entry& entry);
Entry EntryFrom(Row row);
// The key of an entry: kind and name, for a route also the next hop. One line of text, the same in
// all versions, because ledger.changes contains it.
std::string KeyOf(const Entry& entry);

// Whether `entry` was put in another boot than `boot`, which no route of ours outlives.
bool IsOfAnotherBoot(const HostRoute& entry, std::string_view boot);

// Whether `entry`, which has no id, may be an object found with `shape` in `boot`. HNS may show
// fewer properties than the object was made with.
bool MayBe(const HnsObject& entry, std::string_view shape, std::string_view boot);

}  // namespace weft::ledger
