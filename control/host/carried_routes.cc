// SPDX-License-Identifier: Apache-2.0
#include "control/host/carried_routes.h"

#include <algorithm>
#include <utility>

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
  Link& link = links_[adapter.mac];
  if (link.adapter_index != 0 && link.adapter_index != adapter.index) {
    for (const Route& route : link.routes) {
      if (!Has(link.missing, route)) link.missing.push_back(route);
    }
  }
  link.adapter_index = adapter.index;
  link.routes = routes;
  std::erase_if(link.missing, [&](const Route& route) { return Has(routes, route); });
  for (Route& route : link.missing) route.adapter_index = adapter.index;

  std::vector<PutBack> results;
  if (link.missing.empty()) return results;
  const std::vector<absl::Status> statuses = host.PutRoutes(link.missing);
  std::vector<Route> refused;
  for (std::size_t i = 0; i < link.missing.size() && i < statuses.size(); ++i) {
    if (statuses[i].ok())
      link.routes.push_back(link.missing[i]);
    else
      refused.push_back(link.missing[i]);
    results.push_back({link.missing[i], statuses[i]});
  }
  link.missing = std::move(refused);
  return results;
}

}  // namespace weft::host
