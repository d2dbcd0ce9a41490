// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "control/ledger/former_route.h"
#include "control/ledger/undo.h"

namespace weft::ledger {
namespace {

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
std::uint32_t AdapterFor(const FormerRouteEntry& former,
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

// The host as it is once ours are gone, and the former routes that were put back since.
struct Places {
  bool dry_run = false;
  bool network_deleted = false;  // in this run: adapters may come back yet
  const std::vector<host::Route>& going;
  absl::StatusOr<std::vector<host::Adapter>> adapters{};
  std::map<IpFamily, absl::StatusOr<std::vector<host::Route>>> routes{};
  std::vector<host::Route> given_back{};
};

bool IsAmong(const std::vector<host::Route>& routes, const host::Route& route) {
  return std::any_of(routes.begin(), routes.end(), [&](const host::Route& each) {
    return each.destination == route.destination && each.gateway == route.gateway &&
           each.adapter_index == route.adapter_index;
  });
}

// One route, where no other stands in its place. What was done, or would be; a failure stays.
absl::StatusOr<std::string> GiveBack(host::Host& host, const LedgerEntry& entry, Places& places) {
  const std::string title = Title(entry);
  const auto left = [&](std::string_view why) {
    return absl::StrCat("left ", title, " as it is: ", why);
  };
  constexpr std::string_view kOther = "another route of that destination is there";
  const std::optional<FormerRouteEntry> former = FormerRouteOf(entry);
  if (!former) return left("the ledger's entry cannot be read");
  if (!places.adapters.ok()) return places.adapters.status();
  const auto& there = places.routes.at(former->destination.family());
  if (!there.ok()) return there.status();
  host::Route route;
  route.destination = former->destination;
  route.gateway = former->gateway;
  route.metric = former->metric;
  route.onlink = former->onlink;
  route.adapter_index = AdapterFor(*former, *places.adapters);
  if (route.adapter_index == 0 && places.network_deleted) {
    return absl::UnavailableError(
        absl::StrCat(former->adapter, " is gone, perhaps until the network's switch is undone"));
  }
  if (route.adapter_index == 0) return left(absl::StrCat(former->adapter, " is gone"));
  bool ours = false;
  for (const host::Route& each : *there) {
    if (each.destination != route.destination) continue;
    if (IsAmong(places.going, each)) {
      if (places.dry_run) continue;
      return absl::UnavailableError("our route is still in its place");
    }
    const bool same = each.gateway == route.gateway && each.adapter_index == route.adapter_index;
    ours = each.marked && !host.is_windows();
    if (same && !ours) return left("it is there, as before weft");
    if (!ours) return left(kOther);
  }
  if (places.dry_run) return absl::StrCat("would give back ", title);
  // Not in the place of another former one.
  for (const host::Route& each : places.given_back)
    ours = ours && each.destination != route.destination;
  const absl::Status status = ours ? host.ReplaceRoutes({route})[0] : host.PutRoutes({route})[0];
  if (absl::IsAlreadyExists(status)) return left(kOther);
  if (!status.ok()) return status;
  places.given_back.push_back(route);
  return absl::StrCat("gave back ", title);
}

}  // namespace

void GiveBackRoutes(host::Host& host, Ledger& ledger, const std::vector<host::Route>& going,
                    bool network_deleted, bool dry_run, Undone& undone) {
  const auto is_former = [](const LedgerEntry& entry) { return entry.kind == kFormerRoute; };
  if (std::none_of(ledger.entries().begin(), ledger.entries().end(), is_former)) return;
  Places places{dry_run, network_deleted, going, host.Adapters()};
  for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6})
    places.routes.emplace(family, host.Routes(family));
  std::vector<LedgerEntry> stay;
  for (const LedgerEntry& entry : ledger.entries()) {
    if (!is_former(entry)) continue;
    const absl::StatusOr<std::string> done = GiveBack(host, entry, places);
    if (done.ok()) {
      undone.lines.push_back(*done);
      continue;
    }
    undone.failed.push_back(absl::StrCat(Title(entry), ": ", done.status().message()));
    stay.push_back(entry);
  }
  if (dry_run) return;
  if (const absl::Status status = ledger.Replace(kFormerRoute, std::move(stay)); !status.ok())
    undone.failed.push_back(absl::StrCat("routes: ", status.message()));
}

std::vector<host::Route> UndoRoutes(host::Host& host, Ledger& ledger, bool dry_run,
                                    Undone& undone) {
  const absl::StatusOr<RoutesByText> there = MarkedRoutes(host);
  std::vector<LedgerEntry> stay;
  std::vector<host::Route> to_remove;
  std::vector<std::pair<LedgerEntry, std::size_t>> removed;  // and how many routes it is
  for (const LedgerEntry& entry : ledger.entries()) {
    if (entry.kind != kHostRoute) continue;
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
    } else {
      if (dry_run) undone.lines.push_back("would delete " + title);
      removed.emplace_back(entry, static_cast<std::size_t>(std::distance(first, last)));
      for (auto at = first; at != last; ++at) to_remove.push_back(at->second);
    }
  }
  if (dry_run) return to_remove;
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
  if (const absl::Status status = ledger.Replace(kHostRoute, std::move(stay)); !status.ok())
    undone.failed.push_back(absl::StrCat("routes: ", status.message()));
  return to_remove;
}

}  // namespace weft::ledger
