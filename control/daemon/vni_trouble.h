// SPDX-License-Identifier: Apache-2.0
// Whether this node encapsulates under a VNI that no other node uses: net-conf, or the default of
// what moves its packets, is not the cluster's.
#pragma once

#include <string>

#include "control/lease/lease_table.h"
#include "control/net_conf.h"

namespace weft::daemon {

// One sentence when every other node that published a VNI published another one; empty otherwise.
// `in_sync`: the table has had all nodes; of some alone nothing is said.
std::string VniTrouble(const control::NetConf& conf, const lease::LeaseTable& table, bool in_sync);

}  // namespace weft::daemon
