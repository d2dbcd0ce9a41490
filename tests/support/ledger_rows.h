// SPDX-License-Identifier: Apache-2.0
// The ledger's entries as rows of ledger.json, which tests write more easily.
#pragma once

#include <string>
#include <vector>

#include "control/ledger/ledger.h"

namespace weft::testing {

inline std::vector<ledger::Row> Rows(const ledger::Ledger& ledger) {
  std::vector<ledger::Row> rows;
  for (const ledger::Entry& entry : ledger.entries()) rows.push_back(ledger::RowOf(entry));
  return rows;
}

// As a process that starts now reads it.
inline std::vector<ledger::Row> RowsOnDisk(const std::string& folder) {
  ledger::Ledger ledger(folder);
  const absl::Status status = ledger.Load();
  if (!status.ok()) return {{"error", std::string(status.message()), ""}};
  return Rows(ledger);
}

inline std::vector<ledger::Entry> EntriesFrom(const std::vector<ledger::Row>& rows) {
  std::vector<ledger::Entry> entries;
  for (const ledger::Row& row : rows) entries.push_back(ledger::EntryFrom(row));
  return entries;
}

}  // namespace weft::testing
