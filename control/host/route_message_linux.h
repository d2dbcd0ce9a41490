// SPDX-License-Identifier: Apache-2.0
// Routes as rtnetlink(7) writes them.
#pragma once

#include <libmnl/libmnl.h>

#include <vector>

#include "control/host/host.h"

namespace weft::host {

// The routes of one message that says that they are there or gone: several for a multipath route,
// none for what is no route of IP.
std::vector<Route> RoutesOf(const nlmsghdr& message);
// Whether the route of such a message belongs to the main table and was put there, not cached.
bool IsOfMainTable(const nlmsghdr& message);

}  // namespace weft::host
