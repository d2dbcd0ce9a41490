// SPDX-License-Identifier: Apache-2.0
// A lease table as the document that daemon and CLI show.
#pragma once

#include <string>

#include "control/admin/schema.h"
#include "control/lease/lease_table.h"

namespace weft::admin {

// One row for each node, with both families, by name. `source` is for display. O(n log n).
LeaseList ListLeases(const lease::LeaseTable& table, std::string source);

// How many address-family halves are in each state that occurs, in the order of PeerState; with the
// first five nodes of each state that needs attention.
std::vector<LeaseCount> CountLeases(const lease::LeaseTable& table);

}  // namespace weft::admin
