// SPDX-License-Identifier: Apache-2.0
// The keepers' journal, kept in the ledger of --state-dir for `flannelctl reset`.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control/ledger.h"
#include "control/process_lock.h"
#include "hns/journal.h"

namespace weft::daemon {

// Any thread, one at a time: a keeper's that was left behind may come back beside its successor.
// Holds the folder's lock from its beginning on, or as soon as it is to be had.
class HnsLedger final : public hns::Journal {
 public:
  explicit HnsLedger(std::string state_dir);

  void BeforeCreate(const hns::JournalObject& object) override;
  void NotCreated(const hns::JournalObject& object) override;
  void Stands(const hns::JournalObject& object, const hns::Guid& id) override;
  void Gone(hns::Kind kind, const std::string& name) override;
  std::vector<hns::JournalEntry> Entries(hns::Kind kind) override;

  // Why the ledger may lack something, while it lasts; empty: it lacks nothing.
  std::string trouble() const;

 private:
  bool IsOpen();
  void Note(const absl::Status& status);

  const std::string folder_;
  mutable std::mutex mutex_;  // guards all below
  std::optional<control::ProcessLock> lock_;
  control::Ledger ledger_;
  // By kind and name: what was entered before the create that is under way.
  std::map<std::pair<std::string, std::string>, std::optional<control::LedgerEntry>> before_;
  std::string lost_;  // of a broken ledger; stays
  std::string trouble_;
};

}  // namespace weft::daemon
