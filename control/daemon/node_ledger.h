// SPDX-License-Identifier: Apache-2.0
// The ledger of --state-dir while flanneld runs: whatever is made on this node is entered here, for
// `flannelctl reset`.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "control/ledger.h"
#include "control/process_lock.h"

namespace weft::daemon {

// Any thread, one at a time. Holds the folder's lock from its first use on, or as soon as it is to
// be had. What goes wrong is told as trouble: a node without a ledger is better than one without a
// network.
class NodeLedger {
 public:
  explicit NodeLedger(std::string state_dir);

  void Open();
  // What writing it answered; empty: nothing was to be written.
  using Written = std::optional<absl::Status>;
  // Calls `use` on the open ledger; not where it cannot be opened.
  void Use(const std::function<Written(control::Ledger&)>& use);

  // Why the ledger may lack something, while it lasts; empty: it lacks nothing.
  std::string trouble() const;

 private:
  bool IsOpen();

  const std::string folder_;
  mutable std::mutex mutex_;  // guards all below
  std::optional<control::ProcessLock> lock_;
  control::Ledger ledger_;
  std::string lost_;  // of a broken ledger; stays
  std::string trouble_;
};

}  // namespace weft::daemon
