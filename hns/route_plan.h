// SPDX-License-Identifier: Apache-2.0
// Which RemoteSubnetRoute policies have to go from a network and which have to come.
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

// All that is wrong about one destination.
struct RouteChange {
  std::string destination;       // as messages name it; the settings where they say no destination
  std::vector<Policy> removals;  // spelled as HNS holds them
  std::optional<Policy> addition;
  friend bool operator==(const RouteChange&, const RouteChange&) = default;
};

struct RoutePlan {
  std::vector<RouteChange> changes;  // in order of destination
  std::size_t standing = 0;          // of the wanted, right already
  bool empty() const { return changes.empty(); }
};

// A route that says what is wanted stays, however it is spelled; of several, one. Another one for a
// wanted destination in our VSID goes and the right one comes. All others, among them those of
// another VSID and those that cannot be read (kube-proxy reads none where it cannot read one), go
// only if `may_remove`: once the source has told all peers. Policies of other types are nobody's
// business here.
RoutePlan PlanRoutes(const RemoteSubnetRoutes& desired, std::span<const Policy> policies,
                     IsolationId isolation_id, bool may_remove);

}  // namespace weft::hns
