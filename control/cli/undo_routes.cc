// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "control/cli/undo.h"
#include "control/former_route.h"

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
  return absl::StrCat("route ", entry.name, entry.id.empty() ? "" : " via ", entry.id);
}

// By its name; where that is gone, as with a vSwitch, the one on whose link the gateway is.
std::uint32_t AdapterFor(const control::FormerRouteEntry& former,
                         const std::vector<host::Adapter>& adapters) {
  std::uint32_t on_link = 0;
  for (const host::Adapter& adapter : adapters) {
    if (adapter.name == former.adapter) return adapter.index;
    for (const host::AssignedAddress& each : adapter.addresses) {
      const auto prefix = IpPrefix::Of(each.address, each.prefix_length);
      if (former.gateway && prefix && prefix->Contains(*former.gateway)) on_link = adapter.index;
    }
  }
  return on_link;
}

// One route, where no other stands in its place. What was done, or would be; a failure stays.
absl::StatusOr<std::string> GiveBack(host::Host& host, const LedgerEntry& entry, bool dry_run) {
  const std::string title = Title(entry);
  const auto left = [&](std::string_view why) {
    return absl::StrCat("left ", title, " as it is: ", why);
  };
  const std::optional<control::FormerRouteEntry> former = control::FormerRouteOf(entry);
  if (!former) return left("the ledger's entry cannot be read");
  const absl::StatusOr<std::vector<host::Adapter>> adapters = host.Adapters();
  if (!adapters.ok()) return adapters.status();
  const absl::StatusOr<std::vector<host::Route>> there = host.Routes(former->destination.family());
  if (!there.ok()) return there.status();
  host::Route route;
  route.destination = former->destination;
  route.gateway = former->gateway;
  route.metric = former->metric;
  route.onlink = former->onlink;
  route.adapter_index = AdapterFor(*former, *adapters);
  if (route.adapter_index == 0) return left(absl::StrCat(former->adapter, " is gone"));
  bool ours = false;
  for (const host::Route& each : *there) {
    if (each.destination != route.destination) continue;
    const bool same = each.gateway == route.gateway && each.adapter_index == route.adapter_index;
    ours = each.marked && !host.is_windows();
    if (same && !ours) return left("it is there, as before weft");
    if (!ours) return left("another route of that destination is there");
  }
  if (dry_run) return absl::StrCat("would give back ", title);
  const absl::Status status = ours ? host.ReplaceRoutes({route})[0] : host.PutRoutes({route})[0];
  if (!status.ok()) return status;
  return absl::StrCat("gave back ", title);
}

// What ours took the place of. An entry goes with its route's return, or where none is possible.
void GiveBackRoutes(host::Host& host, control::Ledger& ledger, bool dry_run, Undone& undone) {
  std::vector<LedgerEntry> stay;
  bool any = false;
  for (const LedgerEntry& entry : ledger.entries()) {
    if (entry.kind != control::kFormerRoute) continue;
    any = true;
    const absl::StatusOr<std::string> done = GiveBack(host, entry, dry_run);
    if (done.ok()) {
      undone.lines.push_back(*done);
      continue;
    }
    undone.failed.push_back(absl::StrCat(Title(entry), ": ", done.status().message()));
    stay.push_back(entry);
  }
  if (!any || dry_run) return;
  if (const absl::Status status = ledger.Replace(control::kFormerRoute, std::move(stay));
      !status.ok())
    undone.failed.push_back(absl::StrCat("routes: ", status.message()));
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
  if (dry_run) return GiveBackRoutes(host, ledger, dry_run, undone);
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
  GiveBackRoutes(host, ledger, dry_run, undone);
}

}  // namespace weft::cli
