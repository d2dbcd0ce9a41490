// SPDX-License-Identifier: Apache-2.0
#include "control/cli/lease_events.h"

#include <tuple>

namespace weft::cli {
namespace {

auto Key(const admin::LeaseRow& row) { return std::tie(row.node, row.uid); }
const std::string& Key(const lease::RefusedNode& node) { return node.name; }
const std::string& Key(const lease::NotJoinedNode& node) { return node.node.name; }

// Walks two ordered lists beside each other and tells `note(change, value)`.
template <class Row, class Note>
void Walk(const std::vector<Row>& before, const std::vector<Row>& after, const Note& note) {
  auto old_row = before.begin();
  auto new_row = after.begin();
  while (old_row != before.end() || new_row != after.end()) {
    if (new_row == after.end() || (old_row != before.end() && Key(*old_row) < Key(*new_row))) {
      note(Change::kDeleted, *old_row++);
    } else if (old_row == before.end() || Key(*new_row) < Key(*old_row)) {
      note(Change::kAdded, *new_row++);
    } else {
      if (*old_row != *new_row) note(Change::kModified, *new_row);
      ++old_row;
      ++new_row;
    }
  }
}

}  // namespace

std::string_view Name(Change change) {
  switch (change) {
    case Change::kAdded:
      return "ADDED";
    case Change::kModified:
      return "MODIFIED";
    case Change::kDeleted:
      break;
  }
  return "DELETED";
}

LeaseEvents Compare(const admin::LeaseList& before, const admin::LeaseList& after) {
  LeaseEvents events;
  Walk(before.leases, after.leases, [&](Change change, const admin::LeaseRow& row) {
    events.leases.push_back({change, row});
  });
  Walk(before.refused, after.refused, [&](Change change, const lease::RefusedNode& node) {
    events.refusals.push_back({change, node});
  });
  Walk(before.not_joined, after.not_joined, [&](Change change, const lease::NotJoinedNode& node) {
    events.not_joined.push_back({change, node});
  });
  return events;
}

}  // namespace weft::cli
