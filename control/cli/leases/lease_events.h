// SPDX-License-Identifier: Apache-2.0
// The differences between two lists of leases, for --watch.
#pragma once

#include <string_view>
#include <vector>

#include "control/admin/schema.h"

namespace weft::cli {

enum class Change { kAdded, kModified, kDeleted };

// "ADDED", "MODIFIED", "DELETED": kubectl's words.
std::string_view Name(Change change);

template <class Row>
struct Event {
  Change change{};
  Row row;  // for kDeleted as it was
};

struct LeaseEvents {
  std::vector<Event<admin::LeaseRow>> leases;  // by node name and UID
  std::vector<Event<lease::RefusedNode>> refusals;
  std::vector<Event<lease::NotJoinedNode>> not_joined;
};

// Both lists are ordered by node name, as flanneld orders them. A node that returns with another
// UID is one deleted and one added.
LeaseEvents Compare(const admin::LeaseList& before, const admin::LeaseList& after);

}  // namespace weft::cli
