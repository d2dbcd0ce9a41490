// SPDX-License-Identifier: Apache-2.0
// A route that stood where one of ours is put, as the ledger remembers it, to be given back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "control/ledger/ledger.h"
#include "vxlan/ip_address.h"
#include "vxlan/ip_prefix.h"

namespace weft::ledger {

struct FormerRouteEntry {
  IpPrefix destination;
  std::optional<IpAddress> gateway;
  std::string adapter;  // by name, for its index does not last
  std::uint32_t metric = 0;
  bool onlink = false;
  friend bool operator==(const FormerRouteEntry&, const FormerRouteEntry&) = default;
};

LedgerEntry LedgerEntryOf(const FormerRouteEntry& route);
// Empty: another kind's, or one written by hand that cannot be read.
std::optional<FormerRouteEntry> FormerRouteOf(const LedgerEntry& entry);

}  // namespace weft::ledger
