// SPDX-License-Identifier: Apache-2.0
// What is read of the host, and when: its routes are many, and a change of a lease is none of
// theirs.
#include <algorithm>

#include "control/node/node_network.h"

namespace weft::node {
namespace {

// Whether the adapters of the routes in `before` are as they were: what comes and goes with pods
// has none of them. A route that came is reported.
bool SameWays(const underlay::HostFacts& before, const std::vector<host::Adapter>& now) {
  for (const std::vector<host::Route>* routes : {&before.routes_v4, &before.routes_v6}) {
    for (const host::Route& route : *routes) {
      const host::Adapter* const was = underlay::ByIndex(route.adapter_index, before.adapters);
      const host::Adapter* const is = underlay::ByIndex(route.adapter_index, now);
      if (!was || !is || *was != *is) return false;
    }
  }
  return !before.routes_v4.empty() || !before.routes_v6.empty();
}

}  // namespace

absl::StatusOr<underlay::HostFacts> NodeNetwork::ReadHost() {
  if (host_facts_) {
    absl::StatusOr<std::vector<host::Adapter>> adapters = host_->Adapters();
    if (!adapters.ok()) return adapters.status();
    const bool same = host_facts_->adapters == *adapters;
    if (same || (!carries_routes() && SameWays(*host_facts_, *adapters))) {
      host_facts_->adapters = *std::move(adapters);
      return *host_facts_;
    }
    host_facts_.reset();
  }
  absl::StatusOr<underlay::HostFacts> facts = underlay::ReadHostFacts(*host_);
  if (!facts.ok()) return facts;
  host_facts_ = *std::move(facts);
  if (!carries_routes()) {
    for (std::vector<host::Route>* routes : {&host_facts_->routes_v4, &host_facts_->routes_v6}) {
      std::erase_if(*routes,
                    [](const host::Route& route) { return route.destination.length() != 0; });
      routes->shrink_to_fit();
    }
  }
  return *host_facts_;
}

std::vector<control::HostRouteSink*> NodeNetwork::route_sinks() const {
  std::vector<control::HostRouteSink*> sinks;
  for (const HostRoutes& routes : host_routes_) sinks.push_back(routes.sink.get());
  for (const std::unique_ptr<Tunnel>& tunnel : tunnels_) sinks.push_back(&tunnel->route_sink());
  return sinks;
}

bool NodeNetwork::RoutesChanged(const host::RouteChanges& changes) {
  const auto is_fact = [&](const host::RouteChange& change) {
    const IpPrefix& destination = change.route.destination;
    const std::optional<IpPrefix>& network = conf_.network_of(destination.family());
    if (change.whole_adapter) return false;  // seen by the adapters
    return destination.length() == 0 ||
           (carries_routes() && !(network && network->Contains(destination)));
  };
  if (changes.empty() || std::any_of(changes.begin(), changes.end(), is_fact)) HostChanged();
  const std::vector<control::HostRouteSink*> sinks = route_sinks();
  return std::any_of(sinks.begin(), sinks.end(), [&](const control::HostRouteSink* sink) {
    return sink->IsConcernedBy(changes);
  });
}

void NodeNetwork::RecheckRoutes(bool all) {
  for (const control::HostRouteSink* sink : route_sinks()) {
    if (all || sink->unverified()) reconciler_.Recheck(*sink);
  }
}

}  // namespace weft::node
