// SPDX-License-Identifier: Apache-2.0
#include "control/ledger/route_ledger.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "control/ledger/former_route.h"

namespace weft::ledger {
namespace {

using control::RouteKey;
using control::RouteKeys;

LedgerEntry EntryOf(const RouteKey& route) {
  return {std::string(kHostRoute), route.first.ToString(), route.second.ToString(), false};
}

// Empty: no route's, or one that somebody wrote by hand and that cannot be read.
std::optional<RouteKey> KeyOf(const LedgerEntry& entry) {
  if (entry.kind != kHostRoute) return std::nullopt;
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
  return ledger.Replace(kHostRoute, std::move(entries));
}

}  // namespace

RouteKeys RouteLedger::Owned(IpFamily family) {
  RouteKeys owned;
  ledger_->Use([&](Ledger& ledger) -> NodeLedger::Written {
    for (const LedgerEntry& entry : ledger.entries()) {
      std::optional<RouteKey> key = KeyOf(entry);
      if (const auto former = FormerRouteOf(entry); former && former->gateway)
        key = RouteKey(former->destination, *former->gateway);
      if (key && key->first.family() == family) owned.insert(*key);
    }
    return std::nullopt;
  });
  return owned;
}

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

void RouteLedger::BeforeTakeover(const std::vector<control::FormerRoute>& routes) {
  ledger_->Use([&](Ledger& ledger) -> NodeLedger::Written {
    std::vector<LedgerEntry> entries;
    for (const LedgerEntry& entry : ledger.entries()) {
      if (entry.kind == kFormerRoute) entries.push_back(entry);
    }
    const std::size_t before = entries.size();
    for (const auto& [route, adapter] : routes) {
      LedgerEntry entry =
          LedgerEntryOf({route.destination, route.gateway, adapter, route.metric, route.onlink});
      const auto known = std::find_if(entries.begin(), entries.end(), [&](const auto& each) {
        return each.name == entry.name && each.id == entry.id;
      });
      if (known == entries.end()) entries.push_back(std::move(entry));
    }
    if (entries.size() == before) return std::nullopt;
    return ledger.Replace(kFormerRoute, std::move(entries));
  });
}

}  // namespace weft::ledger
