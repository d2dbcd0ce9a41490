// SPDX-License-Identifier: Apache-2.0
// The keepers' journal, kept in the node's ledger.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/file_io.h"
#include "control/ledger/node_ledger.h"
#include "hns/journal.h"

namespace weft::ledger {

// Any thread, one at a time: a keeper's that was left behind may come back beside its successor.
class HnsLedger final : public hns::Journal {
 public:
  // Opens the ledger: whoever programs HNS holds its lock from the beginning on.
  explicit HnsLedger(std::shared_ptr<NodeLedger> ledger, std::string boot = control::BootId());

  void BeforeCreate(const hns::JournalObject& object) override;
  void NotCreated(const hns::JournalObject& object) override;
  void Stands(const hns::JournalObject& object, const hns::Guid& id) override;
  void Gone(hns::Kind kind, const std::string& name) override;
  std::vector<hns::JournalEntry> Entries(hns::Kind kind) override;

 private:
  const std::shared_ptr<NodeLedger> ledger_;
  const std::string boot_;
  // By kind and name: what was entered before the create that is under way. Used within
  // NodeLedger::Use only.
  std::map<std::pair<std::string, std::string>, std::optional<LedgerEntry>> before_;
};

}  // namespace weft::ledger
