// SPDX-License-Identifier: Apache-2.0
// Routes in rtnetlink(7) messages.
#pragma once

#include <libmnl/libmnl.h>

#include <vector>

#include "control/host/host.h"

namespace weft::host {

// The routes of one message about existing or removed routes: several for a multipath route, none
// for a route that is not of IP.
std::vector<Route> RoutesOf(const nlmsghdr& message);
// Whether the route of such a message belongs to the main table and is not a cached one.
bool IsOfMainTable(const nlmsghdr& message);

}  // namespace weft::host
