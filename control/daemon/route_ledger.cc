// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/route_ledger.h"

#include <optional>
#include <utility>
#include <vector>

namespace weft::daemon {
namespace {

using control::Ledger;
using control::LedgerEntry;
using control::RouteKey;
using control::RouteKeys;

LedgerEntry EntryOf(const RouteKey& route) {
  return {std::string(control::kHostRoute), route.first.ToString(), route.second.ToString(), false};
}

// Empty: no route's, or one that somebody wrote by hand and that cannot be read.
std::optional<RouteKey> KeyOf(const LedgerEntry& entry) {
  if (entry.kind != control::kHostRoute) return std::nullopt;
  const auto destination = IpPrefix::Parse(entry.name);
  const auto next_hop = IpAddress::Parse(entry.id);
  if (!destination || !next_hop) return std::nullopt;
  return RouteKey(*destination, *next_hop);
}

// Those of the ledger's routes for which `stays`, and then `more`, in one write.
template <typename Stays>
NodeLedger::Written Rewrite(Ledger& ledger, const Stays& stays, RouteKeys more) {
  std::vector<LedgerEntry> entries;
  bool dropped = false;
  for (const LedgerEntry& entry : ledger.entries()) {
    const std::optional<RouteKey> route = KeyOf(entry);
    if (!route) continue;
    more.erase(*route);
    if (stays(*route))
      entries.push_back(entry);
    else
      dropped = true;
  }
  if (!dropped && more.empty()) return std::nullopt;
  for (const RouteKey& route : more) entries.push_back(EntryOf(route));
  return ledger.Replace(control::kHostRoute, std::move(entries));
}

}  // namespace

void RouteLedger::KeepOnly(IpFamily family, const RouteKeys& routes) {
  ledger_->Use([&](Ledger& ledger) {
    return Rewrite(ledger,
                   [&](const RouteKey& route) {
                     return route.first.family() != family || routes.contains(route);
                   },
                   {});
  });
}

void RouteLedger::BeforePut(const RouteKeys& routes) {
  ledger_->Use([&](Ledger& ledger) {
    return Rewrite(
        ledger, [](const RouteKey&) { return true; }, routes);
  });
}

void RouteLedger::Removed(const RouteKeys& routes) {
  ledger_->Use([&](Ledger& ledger) {
    return Rewrite(ledger, [&](const RouteKey& route) { return !routes.contains(route); }, {});
  });
}

}  // namespace weft::daemon
