// SPDX-License-Identifier: Apache-2.0
#include "control/host/carried_routes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weft::host {
namespace {

bool Has(const std::vector<Route>& routes, const Route& desired) {
  return std::any_of(routes.begin(), routes.end(), [&](const Route& route) {
    return route.destination == desired.destination && route.gateway == desired.gateway;
  });
}

// A route through the router of another link would not work, or would lead to the wrong network.
absl::Status CheckGateway(const Adapter& adapter, const Route& route) {
  if (!route.gateway || (!route.gateway->is_v4() && route.gateway->IsLinkLocal()))
    return absl::OkStatus();
  for (const AssignedAddress& own : adapter.addresses) {
    const auto link = IpPrefix::From(own.address, own.prefix_length);
    if (link && link->Contains(*route.gateway)) return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("its gateway ", route.gateway->ToString(), " is not on that adapter's link"));
}

}  // namespace

std::vector<CarriedRoutes::PutBack> CarriedRoutes::Follow(Host& host, const Adapter& adapter,
                                                          const std::vector<Route>& routes) {
  std::vector<Route>& link = links_[adapter.mac];
  std::vector<Route> missing;
  for (Route route : link) {
    if (route.adapter_index == adapter.index || Has(routes, route)) continue;
    route.adapter_index = adapter.index;
    if (!Has(missing, route)) missing.push_back(route);
  }
  link = routes;

  std::vector<PutBack> results;
  if (missing.empty()) return results;
  for (const Route& route : missing) {
    absl::Status status = CheckGateway(adapter, route);
    if (status.ok()) status = host.PutRoutes({route}).front();
    link.push_back(route);
    if (!status.ok()) link.back().adapter_index = 0;
    results.push_back({route, status});
  }
  return results;
}

}  // namespace weft::host
