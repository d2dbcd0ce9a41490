// SPDX-License-Identifier: Apache-2.0
// Leases in every form of `flannelctl leases -o`. flannelctl.8 promises the columns of the tables.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/admin/schema.h"
#include "control/cli/text_table.h"

namespace weft::cli {

// ---- the differences between two lists, for --watch

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

// ---- the text

enum class LeaseForm { kTable, kWide, kJson, kYaml, kName };

// "table", "wide", "json", "yaml", "name".
std::optional<LeaseForm> ParseLeaseForm(std::string_view name);

// One list, then its changes. One thread.
class LeasePrinter {
 public:
  LeasePrinter(LeaseForm form, bool headers);

  // The whole list: one line for each address-family half, nodes that are refused or have not
  // joined as lines of their own; or one document.
  std::string Whole(const admin::LeaseList& list);
  // Lines or documents for what changed; deleted rows have the state "deleted". Empty: nothing did.
  std::string Changes(const LeaseEvents& events);

 private:
  void Add(const admin::LeaseRow& row, bool deleted);
  void AddHalf(const admin::LeaseRow& row, const admin::LeaseHalf& half, bool deleted);
  void Add(const lease::RefusedNode& node, std::string_view state);
  bool is_table() const { return form_ == LeaseForm::kTable || form_ == LeaseForm::kWide; }

  LeaseForm form_;
  bool headers_;
  TextTable table_;
};

}  // namespace weft::cli
