// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/node_ledger.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/file_io.h"

namespace weft::daemon {

NodeLedger::NodeLedger(std::string state_dir) : folder_(std::move(state_dir)), ledger_(folder_) {}

// Tried again at each use until it is.
bool NodeLedger::IsOpen() {
  if (lock_) return true;
  std::error_code error;
  std::filesystem::create_directories(control::PathOf(folder_), error);
  absl::StatusOr<control::ProcessLock> lock =
      control::ProcessLock::TryTake(control::LedgerLockPath(folder_));
  if (!lock.ok()) {
    trouble_ =
        absl::StrCat("flannelctl reset will not know what is made now: ", lock.status().message(),
                     "; give each flanneld a folder of its own that it may write to with "
                     "--state-dir");
    return false;
  }
  if (const absl::Status status = ledger_.Load(); absl::IsDataLoss(status)) {
    lost_ = status.message();
  } else if (!status.ok()) {
    trouble_ = status.message();
    return false;
  }
  lock_.emplace(*std::move(lock));
  trouble_.clear();
  return true;
}

void NodeLedger::Open() {
  const std::lock_guard lock(mutex_);
  IsOpen();
}

void NodeLedger::Use(const std::function<Written(control::Ledger&)>& use) {
  const std::lock_guard lock(mutex_);
  if (!IsOpen()) return;
  if (const Written written = use(ledger_)) trouble_ = std::string(written->message());
}

std::string NodeLedger::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_.empty() ? lost_ : trouble_;
}

}  // namespace weft::daemon
