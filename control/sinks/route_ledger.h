// SPDX-License-Identifier: Apache-2.0
// The ledger of the host routes that a sink puts, so that they can be undone
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

// A route's destination and next hop. Not its adapter: a vSwitch that is created or deleted, and a
// reboot, give the same link another index.
using RouteKey = std::pair<IpPrefix, IpAddress>;
using RouteKeys = std::set<RouteKey>;

// A route that one of ours replaces, and its adapter's name.
struct FormerRoute {
  host::Route route;
  std::string adapter;
};

// Called on the sink's thread; a call returns when the ledger is on disk. The ledger reports its
// own errors as conditions: a node without a ledger is better than one without routes.
class RouteLedger {
 public:
  virtual ~RouteLedger() = default;
  // Routes of the family of `network` that were intended and not forgotten, and those into it that
  // were taken over, by earlier processes of this boot too. None of an earlier boot exists: what
  // looks like one is persistent, and another program's.
  virtual RouteKeys Owned(const IpPrefix& network) = 0;
  // Call before the routes are put.
  virtual void Intend(const RouteKeys& routes) = 0;
  // Call before ours replace them. `flannelctl reset` restores them, whatever becomes of ours.
  virtual void IntendTakeover(const std::vector<FormerRoute>& routes) = 0;
  // The routes do not exist, or are not ours. One that was taken over stays in the ledger.
  virtual void Forget(const RouteKeys& routes) = 0;
};

}  // namespace weft::control
