// SPDX-License-Identifier: Apache-2.0
// Who keeps account of the host's routes that a sink puts, so that they can be undone
// (control/daemon/route_ledger.h): they outlive the sink, and Windows' bear no mark.
#pragma once

#include <set>
#include <utility>

#include "vxlan/ip_address.h"
#include "vxlan/ip_prefix.h"

namespace weft::control {

// A route by destination and next hop. Not by adapter: a vSwitch that comes or goes, and a reboot,
// give the same link another index.
using RouteKey = std::pair<IpPrefix, IpAddress>;
using RouteKeys = std::set<RouteKey>;

// On the sink's thread; returns when what is told is kept. What goes wrong there is the journal's
// to tell: a node without a journal is better than one without routes.
class RouteJournal {
 public:
  virtual ~RouteJournal() = default;
  // At each reading of the host: no other route of this family can be there by us, or be put soon.
  virtual void KeepOnly(IpFamily family, const RouteKeys& routes) = 0;
  // Told before they are put. None of them was there.
  virtual void BeforePut(const RouteKeys& routes) = 0;
  virtual void Removed(const RouteKeys& routes) = 0;
};

}  // namespace weft::control
