// SPDX-License-Identifier: Apache-2.0
#include "hns/overlay_drift.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hns/route_writer.h"

namespace weft::hns {
namespace {

bool Creates(const NetworkPlan& plan) {
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
    if (!Assumed(spec, network).empty()) network = co_await call::Schema1(network);
  }
  co_return networks;
}

Sequence<absl::StatusOr<OverlayInspection>> InspectOverlay(const OverlaySpec& spec,
                                                           const RemoteSubnetRoutes& desired,
                                                           bool may_remove,
                                                           std::vector<KnownObject> made) {
  OverlayInspection inspection;
  const auto version = co_await call::Version();
  if (!version.ok()) co_return version.status();
  inspection.version = *version;
  const std::string of_name = spec.base_network ? "" : spec.name;
  auto listed = co_await call::Networks(of_name);
  if (!listed.ok()) co_return listed.status();
  const std::vector<Network> networks =
      co_await FillUnshown(spec, std::move(made), *std::move(listed));
  const Network* const existing = FindOverlay(spec, networks);
  std::vector<Endpoint> endpoints;
  if (existing != nullptr && !Differences(spec, *existing).empty()) {
    auto found = co_await call::Endpoints(existing->id);
    if (!found.ok()) co_return found.status();
    endpoints = *std::move(found);
  }
  inspection.network = PlanNetwork(spec, *version, networks, endpoints);
  if (inspection.network.action == NetworkAction::kRefuse) co_return inspection;
  const std::vector<Policy> none;
  const bool creates = Creates(inspection.network);
  inspection.host_route_missing = creates || !existing->Has(policy_type::kHostRoute);
  inspection.routes =
      PlanRoutes(desired, creates ? none : existing->policies, spec.isolation_id, may_remove);
  co_return inspection;
}

std::vector<PlannedCall> PlannedCalls(const OverlayInspection& inspection,
                                      const OverlaySpec& spec) {
  std::vector<PlannedCall> calls;
  if (inspection.network.base) {
    calls.push_back({absl::StrCat("create the network ", inspection.network.base->name,
                                  ", which keeps the vSwitch across reboots"),
                     NetworkJson(*inspection.network.base)});
  }
  if (inspection.network.action == NetworkAction::kRecreate) {
    calls.push_back(
        {absl::StrCat("delete the network ", spec.name, " (",
                      inspection.network.existing->id.ToString(), "): ", inspection.network.reason),
         ""});
  }
  if (Creates(inspection.network)) {
    calls.push_back(
        {absl::StrCat("create the network ", spec.name), NetworkJson(inspection.network.document)});
  }
  if (inspection.host_route_missing) {
    calls.push_back({absl::StrCat("add HostRoute to the network ", spec.name),
                     ModifyPoliciesJson("Add", {HostRoutePolicy()})});
  }
  const std::vector<RouteChange>& changes = inspection.routes.changes;
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

std::vector<std::string> Repaired(const Drift& before, const Drift& after) {
  std::vector<std::string> done;
  for (std::size_t i = 0; i < before.objects.size(); ++i) {
    if (std::find(after.objects.begin(), after.objects.end(), before.objects[i]) ==
        after.objects.end())
      done.push_back(before.differences[i]);
  }
  return done;
}

Drift DriftOf(const OverlayInspection& inspection, const OverlaySpec& spec) {
  Drift drift;
  const NetworkPlan& network = inspection.network;
  if (network.action == NetworkAction::kRefuse) {
    drift.refused = network.reason;
    return drift;
  }
  drift.calls = PlannedCalls(inspection, spec);
  const std::string object = absl::StrCat("the network ", spec.name);
  if (network.base) drift.Add(absl::StrCat("the network ", network.base->name), "is missing");
  if (network.action == NetworkAction::kCreate) {
    drift.Add(object, "is missing");
  } else if (network.action == NetworkAction::kRecreate) {
    drift.AddSentence(object, network.reason);
  } else if (inspection.host_route_missing) {
    drift.AddSentence("HostRoute", absl::StrCat("HostRoute is missing from ", object));
  }
  for (const RouteChange& change : inspection.routes.changes) {
    drift.Add(absl::StrCat("the route to ", change.destination),
              change.removals.empty() ? "is missing"
              : change.addition       ? AnotherText(change)
                                      : "belongs to no peer or is a duplicate");
  }
  return drift;
}

}  // namespace weft::hns
