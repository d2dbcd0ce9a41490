// SPDX-License-Identifier: Apache-2.0
// The routes that this node's network in HNS should have: kept once, for a keeper whose thread may
// be left behind in a call that hangs, and for its successor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "hns/route_plan.h"

namespace weft::hns {

// Any thread. Whoever changes them calls OverlayMachine::RoutesChanged afterwards.
class DesiredRoutes {
 public:
  // Replaces all routes. `may_remove`: the source has reported all peers (see PlanRoutes); stays
  // set.
  void Set(RemoteSubnetRoutes routes, bool may_remove);
  void Put(const RemoteSubnetRoute& route);
  void Erase(const IpPrefix& destination);

  struct Content {
    RemoteSubnetRoutes routes;
    bool known = false;  // Set was called
    bool may_remove = false;
    std::uint64_t version = 0;  // differs after each change of the routes
  };
  // A copy, for work that takes long.
  Content Copy() const;
  bool known() const;
  std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  Content content_;  // guarded
};

}  // namespace weft::hns
