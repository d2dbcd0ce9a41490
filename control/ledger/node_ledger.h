// SPDX-License-Identifier: Apache-2.0
// The ledger of --state-dir while flanneld runs: whatever is made on this node is entered here, for
// `flannelctl reset`.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/file_io.h"
#include "control/ledger/ledger.h"
#include "control/process_lock.h"

namespace weft::ledger {

// Any thread, one at a time. Holds the folder's lock from its first use on, or as soon as it is to
// be had; what is entered before, and what cannot be written, is kept and written as soon as that
// works. What goes wrong is reported as trouble: a node without a ledger is better than one without
// a network.
class NodeLedger {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Empty: control::DefaultStateFolder(). `boot`: control::BootId().
  explicit NodeLedger(std::string state_dir, std::string boot = control::BootId());

  void Open();
  // What writing it answered; empty: nothing was to be written.
  using Written = std::optional<absl::Status>;
  // Calls `use` on the ledger; where it is not open, on what is entered meanwhile.
  void Use(const std::function<Written(Ledger&)>& use);
  // Tries again what failed, at growing intervals of up to a minute. To be called each second.
  void Retry(TimePoint now);

  const std::string& folder() const { return folder_; }
  const std::string& boot() const { return boot_; }
  // Why the ledger may lack something, while it lasts; empty: it lacks nothing.
  std::string trouble() const;

 private:
  bool IsOpen();
  absl::Status SetAside(const absl::StatusOr<std::string>& aside);

  const std::string folder_, boot_;
  mutable std::mutex mutex_;  // guards all below
  std::optional<control::ProcessLock> lock_;
  Ledger ledger_;
  // A ledger that was not understood or not trusted; what another user put in our place. Stay.
  std::string lost_, foreign_;
  std::string trouble_;
  bool used_ = false;
  std::optional<TimePoint> again_;
  std::chrono::seconds delay_{1};
};

}  // namespace weft::ledger
