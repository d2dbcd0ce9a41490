// SPDX-License-Identifier: Apache-2.0
// The static routes of the node's links, remembered in its ledger: one that a vSwitch swallowed
// while no flanneld looked is put back by the next.
#pragma once

#include "control/daemon/node_ledger.h"
#include "control/host/carried_routes.h"

namespace weft::daemon {

// What an earlier process remembered, unless it was of an earlier boot: Windows itself brings back
// the persistent ones, and the others are gone as they should.
host::CarriedRoutes::Memory RecallStaticRoutes(NodeLedger& node);
void RememberStaticRoutes(NodeLedger& node, const host::CarriedRoutes::Memory& routes);

}  // namespace weft::daemon
