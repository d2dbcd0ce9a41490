// SPDX-License-Identifier: Apache-2.0
#include "hns/route_plan.h"

#include <utility>

#include "absl/strings/match.h"

namespace weft::hns {
namespace {

struct Found {
  bool in_sync = false;
  std::vector<Policy> removals;
};

}  // namespace

RoutePlan PlanRoutes(const RemoteSubnetRoutes& desired, std::span<const Policy> policies,
                     IsolationId isolation_id, bool may_remove) {
  RoutePlan plan;
  std::map<IpPrefix, Found> by_destination;
  std::vector<RouteChange> unreadable;
  for (const Policy& policy : policies) {
    if (!absl::EqualsIgnoreCase(policy.type, policy_type::kRemoteSubnetRoute)) continue;
    const auto route = ReadRemoteSubnetRoute(policy);
    if (!route) {
      if (may_remove) unreadable.push_back({policy.settings, {policy}, std::nullopt});
      continue;
    }
    const auto peer = desired.find(route->destination);
    const RemoteSubnetRoute* const spec = peer != desired.end() ? &peer->second : nullptr;
    Found& found = by_destination[route->destination];
    if (spec != nullptr && *spec == *route && !found.in_sync) {
      found.in_sync = true;
      ++plan.in_sync;
    } else if (may_remove || (spec != nullptr && route->isolation_id == isolation_id)) {
      found.removals.push_back(policy);
    }
  }

  // `by_destination` and `desired` are both sorted by destination.
  auto found = by_destination.begin();
  const auto remove_stale = [&](const IpPrefix* up_to) {
    for (; found != by_destination.end() && (up_to == nullptr || found->first < *up_to); ++found) {
      if (!found->second.removals.empty()) {
        plan.changes.push_back(
            {found->first.ToString(), std::move(found->second.removals), std::nullopt});
      }
    }
  };
  for (const auto& [destination, route] : desired) {
    remove_stale(&destination);
    RouteChange change;
    if (found != by_destination.end() && found->first == destination) {
      change.removals = std::move(found->second.removals);
      if (!found->second.in_sync) change.addition = RemoteSubnetRoutePolicy(route);
      ++found;
    } else {
      change.addition = RemoteSubnetRoutePolicy(route);
    }
    if (change.removals.empty() && !change.addition) continue;
    change.destination = destination.ToString();
    plan.changes.push_back(std::move(change));
  }
  remove_stale(nullptr);
  for (RouteChange& change : unreadable) plan.changes.push_back(std::move(change));
  return plan;
}

}  // namespace weft::hns
