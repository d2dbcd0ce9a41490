// SPDX-License-Identifier: Apache-2.0
// The ledger of the host's routes that a sink puts, so that they can be undone
// (control/ledger/node_ledger.h): they outlive the sink, and on Windows they bear no mark.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/host/host.h"
#include "vxlan/ip_address.h"
#include "vxlan/ip_prefix.h"

namespace weft::control {

// A route by destination and next hop. Not by adapter: a vSwitch that comes or goes, and a reboot,
// give the same link another index.
using RouteKey = std::pair<IpPrefix, IpAddress>;
using RouteKeys = std::set<RouteKey>;

// What stood where a route of ours is put, and on which adapter.
struct FormerRoute {
  host::Route route;
  std::string adapter;
};

// On the sink's thread; a call returns when the ledger is on disk. The ledger reports its own
// errors: a node without a ledger is better than one without routes.
class RouteLedger {
 public:
  virtual ~RouteLedger() = default;
  // Intended and not forgotten, and those that were taken over; by earlier processes too.
  virtual RouteKeys Owned(IpFamily family) = 0;
  // Before they are put.
  virtual void Intend(const RouteKeys& routes) = 0;
  // Before ours take their place. A reset gives them back, whatever becomes of ours.
  virtual void IntendTakeover(const std::vector<FormerRoute>& routes) = 0;
  // They do not exist, or are not ours. One that was taken over stays in the ledger.
  virtual void Forget(const RouteKeys& routes) = 0;
};

}  // namespace weft::control
