// SPDX-License-Identifier: Apache-2.0
// Who keeps account of the host's routes that a sink puts, so that they can be undone
// (control/ledger/route_ledger.h): they outlive the sink, and Windows' bear no mark.
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

// On the sink's thread; returns when what is told is kept. What goes wrong there is the journal's
// to tell: a node without a journal is better than one without routes.
class RouteJournal {
 public:
  virtual ~RouteJournal() = default;
  // Put by us, or taken over.
  virtual RouteKeys Owned(IpFamily family) = 0;
  // At each reading of the host: no other route of this family can be there by us, or be put soon.
  virtual void KeepOnly(IpFamily family, const RouteKeys& routes) = 0;
  // Called before they are put.
  virtual void BeforePut(const RouteKeys& routes) = 0;
  virtual void Removed(const RouteKeys& routes) = 0;
  // Called before ours take their place. They are given back by a reset, whatever becomes of ours.
  virtual void BeforeTakeover(const std::vector<FormerRoute>& routes) = 0;
};

}  // namespace weft::control
