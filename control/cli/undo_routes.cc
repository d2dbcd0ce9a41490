// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/cli/undo.h"

namespace weft::cli {
namespace {

using control::LedgerEntry;

// By destination and next hop, as the ledger writes them.
using RoutesByText = std::multimap<std::pair<std::string, std::string>, host::Route>;

absl::StatusOr<RoutesByText> MarkedRoutes(host::Host& host) {
  RoutesByText found;
  for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    const absl::StatusOr<std::vector<host::Route>> routes = host.Routes(family);
    if (!routes.ok()) return routes.status();
    for (const host::Route& route : *routes) {
      if (route.marked && route.gateway)
        found.emplace(std::pair(route.destination.ToString(), route.gateway->ToString()), route);
    }
  }
  return found;
}

std::string Title(const LedgerEntry& entry) {
  return absl::StrCat("route ", entry.name, " via ", entry.id);
}

}  // namespace

void UndoRoutes(host::Host& host, control::Ledger& ledger, bool dry_run, Undone& undone) {
  const absl::StatusOr<RoutesByText> there = MarkedRoutes(host);
  std::vector<LedgerEntry> stay;
  std::vector<host::Route> to_remove;
  std::vector<std::pair<LedgerEntry, std::size_t>> removed;  // and how many routes it is
  for (const LedgerEntry& entry : ledger.entries()) {
    if (entry.kind != control::kHostRoute) continue;
    const std::string title = Title(entry);
    if (entry.adopted) {
      undone.lines.push_back(absl::StrCat("left ", title, ": it was there before weft"));
      stay.push_back(entry);
      continue;
    }
    if (!there.ok()) {
      undone.failed.push_back(absl::StrCat(title, ": ", there.status().message()));
      stay.push_back(entry);
      continue;
    }
    const auto [first, last] = there->equal_range({entry.name, entry.id});
    if (first == last) {
      undone.lines.push_back(title + " is gone already");
    } else if (dry_run) {
      undone.lines.push_back("would delete " + title);
    } else {
      removed.emplace_back(entry, static_cast<std::size_t>(std::distance(first, last)));
      for (auto at = first; at != last; ++at) to_remove.push_back(at->second);
    }
  }
  if (dry_run) return;
  std::vector<absl::Status> results;
  if (!to_remove.empty()) results = host.RemoveRoutes(to_remove);
  std::size_t at = 0;
  for (const auto& [entry, count] : removed) {
    const std::string title = Title(entry);
    absl::Status status;
    for (std::size_t i = 0; i < count; ++i, ++at) status.Update(results[at]);
    if (status.ok()) {
      undone.lines.push_back("deleted " + title);
    } else {
      undone.failed.push_back(absl::StrCat(title, ": ", status.message()));
      stay.push_back(entry);
    }
  }
  if (const absl::Status status = ledger.Replace(control::kHostRoute, std::move(stay));
      !status.ok())
    undone.failed.push_back(absl::StrCat("routes: ", status.message()));
}

}  // namespace weft::cli
