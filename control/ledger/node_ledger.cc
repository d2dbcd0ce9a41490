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

std::string OrDefault(std::string folder) {
  return folder.empty() ? control::DefaultStateFolder()
                        : control::WithoutEndSlash(std::move(folder));
}

}  // namespace

NodeLedger::NodeLedger(std::string state_dir, std::string boot)
    : folder_(OrDefault(std::move(state_dir))),
      boot_(std::move(boot)),
      ledger_(folder_, /*open=*/false) {}

NodeLedger::~NodeLedger() {
  if (lock_) static_cast<void>(ledger_.Fold());  // if it fails, the next process does it
}

// A foreign file that was set aside is reported for as long as the process runs.
absl::Status NodeLedger::SetAside(const absl::StatusOr<std::string>& aside) {
  if (!aside.ok()) return aside.status();
  if (!aside->empty()) foreign_ = absl::StrCat(foreign_, foreign_.empty() ? "" : "; ", *aside);
  return absl::OkStatus();
}

// Opens the ledger; retried at each use until it succeeds.
bool NodeLedger::IsOpen() {
  if (lock_) return true;
  used_ = true;
  absl::Status status = SetAside(control::MakeOwnFolder(folder_));
  const std::string lock_path = LedgerLockPath(folder_);
  if (status.ok()) status = SetAside(control::SetForeignAside(lock_path));
  std::optional<control::ProcessLock> lock;
  if (status.ok()) {
    auto taken = control::ProcessLock::TryTake(lock_path);
    status = taken.status();
    if (taken.ok()) lock.emplace(*std::move(taken));
  }
  if (!lock) {
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
  if (absl::IsDataLoss(status)) {
    lost_ = status.message();
  } else if (!status.ok()) {
    condition_ = status.message();
    return false;
  }
  lock_.emplace(*std::move(lock));
  condition_ = ledger_.Write().message();
  return true;
}

void NodeLedger::Open() {
  const std::lock_guard lock(mutex_);
  IsOpen();
}

void NodeLedger::Use(const std::function<Written(Ledger&)>& use) {
  const std::lock_guard lock(mutex_);
  const bool open = IsOpen();
  const Written written = use(ledger_);
  if (open && written) condition_ = written->message();
}

void NodeLedger::Retry(TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (!used_ || (lock_ && ledger_.written())) {
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
  if (IsOpen()) condition_ = ledger_.Write().message();
}

std::string NodeLedger::condition() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  for (const std::string& each : {condition_, lost_, foreign_})
    if (!each.empty()) all.push_back(each);
  return absl::StrJoin(all, "; ");
}

}  // namespace weft::ledger
