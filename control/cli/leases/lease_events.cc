// SPDX-License-Identifier: Apache-2.0
#include "control/cli/leases/lease_events.h"

#include <tuple>

namespace weft::cli {
namespace {

auto Key(const admin::LeaseRow& row) { return std::tie(row.node, row.uid); }
const std::string& Key(const lease::RefusedNode& node) { return node.name; }
const std::string& Key(const lease::NotJoinedNode& node) { return node.node.name; }

// Merges two ordered lists.
template <class Row>
std::vector<Event<Row>> Differences(const std::vector<Row>& before, const std::vector<Row>& after) {
  std::vector<Event<Row>> events;
  auto old_row = before.begin();
  auto new_row = after.begin();
  while (old_row != before.end() || new_row != after.end()) {
    if (new_row == after.end() || (old_row != before.end() && Key(*old_row) < Key(*new_row))) {
      events.push_back({Change::kDeleted, *old_row++});
    } else if (old_row == before.end() || Key(*new_row) < Key(*old_row)) {
      events.push_back({Change::kAdded, *new_row++});
    } else {
      if (*old_row != *new_row) events.push_back({Change::kModified, *new_row});
      ++old_row;
      ++new_row;
    }
  }
  return events;
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
  return {Differences(before.leases, after.leases), Differences(before.refused, after.refused),
          Differences(before.not_joined, after.not_joined)};
}

}  // namespace weft::cli
