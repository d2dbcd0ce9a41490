// SPDX-License-Identifier: Apache-2.0
#include "hns/overlay_drift.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hns/route_writer.h"

namespace weft::hns {
namespace {

bool Makes(const NetworkPlan& plan) {
  return plan.action == NetworkAction::kCreate || plan.action == NetworkAction::kRecreate;
}

// "differs from the desired one: by 192.0.2.9 with 02:00:00:00:00:09 instead of by 192.0.2.2 with
// ..."
std::string AnotherText(const RouteChange& change) {
  const auto is = ReadRemoteSubnetRoute(change.removals.front());
  const auto desired = ReadRemoteSubnetRoute(*change.addition);
  std::string text = "differs from the desired one";
  if (!is || !desired) return text;
  const auto append = [&](std::string_view before, const RemoteSubnetRoute& route) {
    absl::StrAppend(&text, before, "by ", route.provider_address.ToString(), " with ",
                    route.router_mac.ToString());
    if (is->isolation_id != desired->isolation_id)
      absl::StrAppend(&text, " in VSID ", route.isolation_id.value());
  };
  append(": ", *is);
  append(" instead of ", *desired);
  return text;
}

void AddBatch(const std::vector<RouteChange>& changes, std::size_t from, std::size_t to,
              const std::string& name, std::vector<PlannedCall>& calls) {
  std::vector<Policy> removals, additions;
  for (std::size_t i = from; i < to; ++i) {
    const RouteChange& change = changes[i];
    removals.insert(removals.end(), change.removals.begin(), change.removals.end());
    if (change.addition) additions.push_back(*change.addition);
  }
  const auto call = [&](std::string_view request, std::string_view verb, std::string_view where,
                        const std::vector<Policy>& policies) {
    if (policies.empty()) return;
    calls.push_back({absl::StrCat(verb, " ", policies.size(),
                                  policies.size() == 1 ? " remote subnet " : " remote subnets ",
                                  where, " the network ", name),
                     ModifyPoliciesJson(request, policies)});
  };
  call("Remove", "remove", "from", removals);
  call("Add", "add", "to", additions);
}

}  // namespace

Sequence<std::vector<Network>> FillUnshown(const OverlaySpec& spec, std::vector<KnownObject> made,
                                           std::vector<Network> networks) {
  for (Network& network : networks) {
    if (network.name != spec.name) continue;
    for (const KnownObject& entry : made)
      if (entry.made && entry.id == network.id) FillFromShape(entry.shape, network);
    if (!Assumed(spec, network).empty()) network = co_await ask::Schema1(network);
  }
  co_return networks;
}

Sequence<absl::StatusOr<OverlayInspection>> InspectOverlay(const OverlaySpec& spec,
                                                           const RemoteSubnetRoutes& desired,
                                                           bool may_remove,
                                                           std::vector<KnownObject> made) {
  OverlayInspection look;
  const auto version = co_await ask::Version();
  if (!version.ok()) co_return version.status();
  look.version = *version;
  const std::string of_name = spec.base_network ? "" : spec.name;
  auto listed = co_await ask::Networks(of_name);
  if (!listed.ok()) co_return listed.status();
  const std::vector<Network> networks =
      co_await FillUnshown(spec, std::move(made), *std::move(listed));
  const Network* const existing = FindOverlay(spec, networks);
  std::vector<Endpoint> endpoints;
  if (existing != nullptr && !Differences(spec, *existing).empty()) {
    auto found = co_await ask::Endpoints(existing->id);
    if (!found.ok()) co_return found.status();
    endpoints = *std::move(found);
  }
  look.network = PlanNetwork(spec, *version, networks, endpoints);
  if (look.network.action == NetworkAction::kRefuse) co_return look;
  const std::vector<Policy> none;
  const bool makes = Makes(look.network);
  look.host_route_missing = makes || !existing->Has(policy_type::kHostRoute);
  look.routes =
      PlanRoutes(desired, makes ? none : existing->policies, spec.isolation_id, may_remove);
  co_return look;
}

std::vector<PlannedCall> PlannedCalls(const OverlayInspection& look, const OverlaySpec& spec) {
  std::vector<PlannedCall> calls;
  if (look.network.base) {
    calls.push_back({absl::StrCat("create the network ", look.network.base->name,
                                  ", which keeps the vSwitch over reboots"),
                     NetworkJson(*look.network.base)});
  }
  if (look.network.action == NetworkAction::kRecreate) {
    calls.push_back({absl::StrCat("delete the network ", spec.name, " (",
                                  look.network.existing->id.ToString(), "): ", look.network.reason),
                     ""});
  }
  if (Makes(look.network)) {
    calls.push_back(
        {absl::StrCat("create the network ", spec.name), NetworkJson(look.network.document)});
  }
  if (look.host_route_missing) {
    calls.push_back({absl::StrCat("add HostRoute to the network ", spec.name),
                     ModifyPoliciesJson("Add", {HostRoutePolicy()})});
  }
  const std::vector<RouteChange>& changes = look.routes.changes;
  std::size_t size = 1;
  for (std::size_t from = 0; from < changes.size(); from += std::exchange(size, GrownBatch(size)))
    AddBatch(changes, from, std::min(from + size, changes.size()), spec.name, calls);
  return calls;
}

void Drift::Add(const std::string& object, std::string_view how) {
  AddSentence(object, absl::StrCat(object, " ", how));
}

void Drift::AddSentence(std::string object, std::string sentence) {
  objects.push_back(std::move(object));
  differences.push_back(std::move(sentence));
}

std::vector<std::string> PutRight(const Drift& before, const Drift& after) {
  std::vector<std::string> done;
  for (std::size_t i = 0; i < before.objects.size(); ++i) {
    if (std::find(after.objects.begin(), after.objects.end(), before.objects[i]) ==
        after.objects.end())
      done.push_back(before.differences[i]);
  }
  return done;
}

Drift DriftOf(const OverlayInspection& look, const OverlaySpec& spec) {
  Drift drift;
  const NetworkPlan& network = look.network;
  if (network.action == NetworkAction::kRefuse) {
    drift.refused = network.reason;
    return drift;
  }
  drift.calls = PlannedCalls(look, spec);
  const std::string ours = absl::StrCat("the network ", spec.name);
  if (network.base) drift.Add(absl::StrCat("the network ", network.base->name), "is missing");
  if (network.action == NetworkAction::kCreate) {
    drift.Add(ours, "is missing");
  } else if (network.action == NetworkAction::kRecreate) {
    drift.AddSentence(ours, network.reason);
  } else if (look.host_route_missing) {
    drift.AddSentence("HostRoute", absl::StrCat("HostRoute is missing from ", ours));
  }
  for (const RouteChange& change : look.routes.changes) {
    drift.Add(absl::StrCat("the route to ", change.destination),
              change.removals.empty() ? "is missing"
              : change.addition       ? AnotherText(change)
                                      : "is no peer's, or doubled");
  }
  return drift;
}

}  // namespace weft::hns
