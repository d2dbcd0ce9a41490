// SPDX-License-Identifier: Apache-2.0
#include "control/ledger/static_route_ledger.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace weft::ledger {
namespace {

using Memory = host::CarriedRoutes::Memory;

// Its shape: MAC, adapter's index, metric.
LedgerEntry EntryOf(const MacAddress& mac, const host::Route& route, const std::string& boot) {
  return {std::string(kStaticRoute),
          route.destination.ToString(),
          route.gateway ? route.gateway->ToString() : "",
          /*adopted=*/true,
          absl::StrCat(mac.ToString(), " ", route.adapter_index, " ", route.metric),
          boot};
}

bool IsUnicast(const IpAddress& address) {
  return !address.IsUnspecified() && !address.IsLoopback() && !address.IsMulticast();
}

// Shorter, a destination is a part of a default route: fc00::/7 is the widest of people's own.
bool IsBelievable(const host::Route& route) {
  const IpAddress& base = route.destination.base();
  return route.destination.length() >= (base.is_v4() ? 8 : 7) && IsUnicast(base) &&
         (!route.gateway || IsUnicast(*route.gateway));
}

// Empty: somebody wrote it by hand, and it cannot be read.
std::optional<std::pair<MacAddress, host::Route>> RouteOf(const LedgerEntry& entry) {
  const std::vector<std::string> words = absl::StrSplit(entry.shape, ' ');
  const auto destination = IpPrefix::Parse(entry.name);
  const auto mac = MacAddress::Parse(words[0]);
  host::Route route;
  if (!destination || !mac || words.size() != 3 ||
      !absl::SimpleAtoi(words[1], &route.adapter_index) ||
      !absl::SimpleAtoi(words[2], &route.metric))
    return std::nullopt;
  route.destination = *destination;
  route.marked = true;
  if (!entry.id.empty()) {
    route.gateway = IpAddress::Parse(entry.id);
    if (!route.gateway || route.gateway->family() != destination->family()) return std::nullopt;
  }
  return std::pair(*mac, route);
}

std::vector<LedgerEntry> Remembered(const Ledger& ledger) {
  std::vector<LedgerEntry> entries;
  for (const LedgerEntry& entry : ledger.entries()) {
    if (entry.kind == kStaticRoute) entries.push_back(entry);
  }
  return entries;
}

}  // namespace

Memory RecallStaticRoutes(NodeLedger& node, bool keeps_switch) {
  Memory memory;
  node.Use([&](Ledger& ledger) -> NodeLedger::Written {
    for (const LedgerEntry& entry : Remembered(ledger)) {
      const bool this_boot = !node.boot().empty() && entry.boot == node.boot();
      auto route = RouteOf(entry);
      if (!route || !IsBelievable(route->second) || (!this_boot && !keeps_switch)) continue;
      if (!this_boot) route->second.adapter_index = 0;  // not removed: it was not restored
      memory[route->first].push_back(route->second);
    }
    return std::nullopt;
  });
  return memory;
}

void RememberStaticRoutes(NodeLedger& node, const Memory& routes) {
  node.Use([&](Ledger& ledger) -> NodeLedger::Written {
    std::vector<LedgerEntry> entries;
    for (const auto& [mac, link] : routes) {
      for (const host::Route& route : link) entries.push_back(EntryOf(mac, route, node.boot()));
    }
    if (entries == Remembered(ledger)) return std::nullopt;
    return ledger.Replace(kStaticRoute, std::move(entries));
  });
}

}  // namespace weft::ledger
