// SPDX-License-Identifier: Apache-2.0
// The static routes of the node's links, remembered in its ledger: one that a vSwitch swallowed
// while no flanneld looked is put back by the next.
#pragma once

#include "control/host/carried_routes.h"
#include "control/ledger/node_ledger.h"

namespace weft::ledger {

// What an earlier process remembered, as far as a file may say what is put on the host: no default
// route or nearly one, no destination or gateway that is no unicast address. Of an earlier boot
// nothing, because Windows itself brings back the persistent ones, and the others are gone as they
// should; but with a vSwitch that outlives the boot (`keeps_switch`) all, because those that are
// bound to the NIC do not come back on the switch's adapter.
host::CarriedRoutes::Memory RecallStaticRoutes(NodeLedger& node, bool keeps_switch);
void RememberStaticRoutes(NodeLedger& node, const host::CarriedRoutes::Memory& routes);

}  // namespace weft::ledger
