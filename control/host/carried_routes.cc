// SPDX-License-Identifier: Apache-2.0
#include "control/host/carried_routes.h"

#include <algorithm>

namespace weft::host {
namespace {

bool Has(const std::vector<Route>& routes, const Route& wanted) {
  return std::any_of(routes.begin(), routes.end(), [&](const Route& route) {
    return route.destination == wanted.destination && route.gateway == wanted.gateway;
  });
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
  const std::vector<absl::Status> statuses = host.PutRoutes(missing);
  for (std::size_t i = 0; i < missing.size() && i < statuses.size(); ++i) {
    link.push_back(missing[i]);
    if (!statuses[i].ok()) link.back().adapter_index = 0;
    results.push_back({missing[i], statuses[i]});
  }
  return results;
}

}  // namespace weft::host
