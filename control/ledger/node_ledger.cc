// SPDX-License-Identifier: Apache-2.0
#include "control/ledger/node_ledger.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/log.h"
#include "control/own_files.h"

namespace weft::ledger {
namespace {

constexpr std::chrono::seconds kFirstRetry{1}, kLastRetry{60};

}  // namespace

NodeLedger::NodeLedger(std::string state_dir, std::string boot)
    : folder_(state_dir.empty() ? control::DefaultStateFolder()
                                : control::WithoutEndSlash(std::move(state_dir))),
      boot_(std::move(boot)),
      ledger_(folder_, /*open=*/false) {}

NodeLedger::~NodeLedger() {
  static_cast<void>(ledger_.Fold());  // if it fails, the next process does it
}

// A foreign file that was set aside is reported for as long as the process runs.
absl::Status NodeLedger::SetAside(const absl::StatusOr<std::string>& aside) {
  if (!aside.ok()) return aside.status();
  if (!aside->empty()) foreign_ = absl::StrCat(foreign_, foreign_.empty() ? "" : "; ", *aside);
  return absl::OkStatus();
}

// Takes the lock and opens the ledger. Tried at each use until it succeeds, but only with `again`
// for one of a later version: each try merges all entries.
bool NodeLedger::IsOpen(bool again) {
  if (ledger_.is_open() || (is_later_ && !again)) return ledger_.is_open();
  used_ = true;
  absl::Status status = SetAside(control::MakeOwnFolder(folder_));
  const std::string lock_path = LedgerLockPath(folder_);
  if (status.ok() && !lock_) status = SetAside(control::SetForeignAside(lock_path));
  if (status.ok() && !lock_) {
    auto taken = control::ProcessLock::TryTake(lock_path);
    status = taken.status();
    if (taken.ok()) lock_.emplace(*std::move(taken));
    for (const char* const name : {"/ledger.json", "/journal.json"})
      if (lock_) control::RemoveTemporariesOf(folder_ + name);
  }
  if (!lock_) {
    condition_ = absl::StrCat("flannelctl reset will not know what is made now: ", status.message(),
                              "; give each flanneld a folder of its own that it may write to with "
                              "--state-dir");
    return false;
  }
  if (folder_ == control::DefaultStateFolder()) {
    const auto moved = MoveFormerLedger(control::FormerStateFolder(), folder_);
    if (!moved.ok()) lost_ = moved.status().message();
    if (moved.ok() && *moved)
      control::LogInfo(absl::StrCat("took an earlier version's ledger over from ",
                                    control::FormerStateFolder(), " to ", folder_));
  }
  for (const std::string& path : {ledger_.path(), ledger_.changes_path()})
    if (status.ok()) status = SetAside(control::SetForeignAside(path));
  if (status.ok()) status = ledger_.Open(boot_);
  is_later_ = absl::IsUnimplemented(status);
  if (absl::IsDataLoss(status)) {
    lost_ = status.message();
  } else if (!status.ok()) {
    condition_ = status.message();
    return false;
  }
  condition_ = ledger_.Write().message();
  return true;
}

void NodeLedger::Open() {
  const std::lock_guard lock(mutex_);
  IsOpen(/*again=*/true);
}

void NodeLedger::Use(const std::function<Written(Ledger&)>& use) {
  const std::lock_guard lock(mutex_);
  const bool open = IsOpen(/*again=*/false);
  const Written written = use(ledger_);
  if (open && written) condition_ = written->message();
}

void NodeLedger::Retry(TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (!used_ || (ledger_.is_open() && ledger_.written())) {
    retry_at_.reset();
    delay_ = kFirstRetry;
    return;
  }
  if (!retry_at_) {
    retry_at_ = now + delay_;
    return;
  }
  if (now < *retry_at_) return;
  delay_ = std::min(2 * delay_, kLastRetry);
  retry_at_ = now + delay_;
  if (IsOpen(/*again=*/true)) condition_ = ledger_.Write().message();
}

std::string NodeLedger::condition() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  for (const std::string& each : {condition_, lost_, foreign_})
    if (!each.empty()) all.push_back(each);
  return absl::StrJoin(all, "; ");
}

}  // namespace weft::ledger
