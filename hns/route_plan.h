// SPDX-License-Identifier: Apache-2.0
// Which RemoteSubnetRoute policies are to be removed from a network and which are to be added.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hns/document/network.h"

namespace weft::hns {

using RemoteSubnetRoutes = std::map<IpPrefix, RemoteSubnetRoute>;

// The change of one destination.
struct RouteChange {
  std::string destination;       // for messages; the settings if no destination can be read
  std::vector<Policy> removals;  // verbatim, as HNS shows them
  std::optional<Policy> addition;
  friend bool operator==(const RouteChange&, const RouteChange&) = default;
};

struct RoutePlan {
  std::vector<RouteChange> changes;  // in order of destination
  std::size_t in_sync = 0;           // desired routes that exist
  bool empty() const { return changes.empty(); }
};

// Keeps one route that equals the desired one, whatever its spelling. Replaces another route in our
// VSID to a desired destination. Removes all other routes only if `may_remove`, that is, once the
// source has reported all peers; among them are those of another VSID and those that cannot be read
// (one of these stops kube-proxy from reading any). Policies of other types are ignored.
RoutePlan PlanRoutes(const RemoteSubnetRoutes& desired, std::span<const Policy> policies,
                     IsolationId isolation_id, bool may_remove);

}  // namespace weft::hns
