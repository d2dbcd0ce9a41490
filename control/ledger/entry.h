// SPDX-License-Identifier: Apache-2.0
// What an entry of the ledger says: of a thing that weft made, is about to make, or found and uses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "control/host/packet_filter.h"
#include "hns/api/api.h"
#include "hns/document/guid.h"
#include "vxlan/ip_address.h"
#include "vxlan/ip_prefix.h"
#include "vxlan/mac_address.h"

namespace weft::ledger {

// `adopted`, in all of these: the thing existed before us and was right. It is used and repaired,
// and never deleted by `flannelctl reset`.

// A network or an endpoint.
struct HnsObject {
  hns::Kind kind = hns::Kind::kNetwork;
  std::string name;
  std::optional<hns::Guid> id{};  // empty: intended, and how its create ended is not known
  bool adopted = false;
  // By which one without an id is found: "Overlay 10.244.1.0/24 VSID 4096", an endpoint's address;
  // and in this boot (BootId) alone: later, another program may have made its like.
  std::string shape{}, boot{};
  friend bool operator==(const HnsObject&, const HnsObject&) = default;
};

// To a peer, on whatever adapter: a vSwitch or a reboot gives the link another index.
struct HostRoute {
  IpPrefix destination;
  IpAddress next_hop;
  bool adopted = false;
  friend bool operator==(const HostRoute&, const HostRoute&) = default;
};

// What existed where one of ours is put, to be given back.
struct FormerRoute {
  IpPrefix destination;
  std::optional<IpAddress> gateway;
  std::string adapter;  // by name, for its index does not last
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

// The administrator's, on the link whose adapter has `mac`.
struct StaticRoute {
  IpPrefix destination;
  std::optional<IpAddress> gateway;
  MacAddress mac;
  std::uint32_t adapter_index = 0, metric = 0;
  std::string boot;  // in which it was seen last
  friend bool operator==(const StaticRoute&, const StaticRoute&) = default;
};

// Any entry as ledger.json has it.
struct Row {
  std::string kind, name, id;
  bool adopted = false;
  std::string shape{}, boot{};
  friend bool operator==(const Row&, const Row&) = default;
};

// One whose kind only another version knows, or that cannot be read. It is kept.
struct Unknown {
  Row row;
  friend bool operator==(const Unknown&, const Unknown&) = default;
};

using Entry = std::variant<HnsObject, HostRoute, FormerRoute, FirewallRule, FilterRules,
                           StaticRoute, Unknown>;

inline constexpr std::string_view kStaticRoute = "static-route";

Row RowOf(const Entry& entry);
Entry EntryFrom(Row row);
// Entries of one key are one: kind and name, of a route the next hop too. One line of text, the
// same in all versions, for ledger.changes has it.
std::string KeyOf(const Entry& entry);

// Whether `entry`, which has no id, may be what is found now and looks so: HNS may show less of a
// thing than it was made of.
bool MayBe(const HnsObject& entry, std::string_view shape, std::string_view boot);

}  // namespace weft::ledger
