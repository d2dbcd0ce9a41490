// SPDX-License-Identifier: Apache-2.0
// A lease table as the document that daemon and CLI show: the same rows whoever made the table.
#pragma once

#include <string>

#include "control/admin/schema.h"
#include "control/lease/lease_table.h"

namespace weft::admin {

// One row a node, both families in it, by name. `source` is for people. O(n log n).
LeaseList ListLeases(const lease::LeaseTable& table, std::string source);

// How many address-family halves are in each state that occurs, in the order of PeerState; of those
// that people should look at, the first five nodes.
std::vector<LeaseCount> CountLeases(const lease::LeaseTable& table);

}  // namespace weft::admin
