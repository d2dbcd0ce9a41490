// SPDX-License-Identifier: Apache-2.0
// Routes that an earlier flanneld left: upstream v0.28.9's host-gw puts them on Windows so that
// they survive a reboot, and leaves them when it stops, also those to nodes that are long gone.
#pragma once

#include <string>
#include <vector>

#include "control/host/host.h"
#include "vxlan/ip_prefix.h"

namespace weft::node {

// Those among `routes` that somebody set, by a gateway outside the pods' `network` into it: with an
// overlay network in HNS they belong to nobody.
std::vector<host::Route> LeftRoutes(const std::vector<host::Route>& routes,
                                    const IpPrefix& network);
// Empty: there are none.
std::string LeftRoutesSentence(const std::vector<host::Route>& left, const IpPrefix& network);

}  // namespace weft::node
