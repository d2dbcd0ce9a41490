// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/hns_ledger.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weft::daemon {
namespace {

std::string KindName(hns::Kind kind) {
  return std::string(kind == hns::Kind::kEndpoint ? control::kHnsEndpoint : control::kHnsNetwork);
}

}  // namespace

HnsLedger::HnsLedger(std::string state_dir) : folder_(std::move(state_dir)), ledger_(folder_) {
  IsOpen();
}

// Tried again at each use until it is.
bool HnsLedger::IsOpen() {
  if (lock_) return true;
  std::error_code error;
  std::filesystem::create_directories(std::u8string(folder_.begin(), folder_.end()), error);
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

void HnsLedger::Note(const absl::Status& status) {
  trouble_ = status.ok() ? "" : std::string(status.message());
}

void HnsLedger::BeforeCreate(const hns::JournalObject& object) {
  const std::lock_guard lock(mutex_);
  if (!IsOpen()) return;
  const std::string kind = KindName(object.kind);
  const control::LedgerEntry* const entry = ledger_.Find(kind, object.name);
  before_[{kind, object.name}] =
      entry == nullptr ? std::nullopt : std::optional<control::LedgerEntry>(*entry);
  Note(ledger_.Put({kind, object.name, "", false, object.shape}));
}

void HnsLedger::NotCreated(const hns::JournalObject& object) {
  const std::lock_guard lock(mutex_);
  if (!IsOpen()) return;
  const std::string kind = KindName(object.kind);
  const auto before = before_.find({kind, object.name});
  if (before == before_.end()) return;
  Note(before->second ? ledger_.Put(*before->second) : ledger_.Remove(kind, object.name));
  before_.erase(before);
}

void HnsLedger::Stands(const hns::JournalObject& object, const hns::Guid& id) {
  const std::lock_guard lock(mutex_);
  if (!IsOpen()) return;
  const std::string kind = KindName(object.kind);
  control::LedgerEntry now{kind, object.name, id.ToString(), true, object.shape};
  if (const control::LedgerEntry* const entry = ledger_.Find(kind, object.name)) {
    if (entry->id == now.id) return;
    // Another id than the one we know: another made it anew.
    now.adopted =
        !entry->id.empty() || entry->adopted || !absl::EqualsIgnoreCase(entry->shape, object.shape);
  }
  Note(ledger_.Put(now));
}

void HnsLedger::Gone(hns::Kind kind, const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (IsOpen()) Note(ledger_.Remove(KindName(kind), name));
}

std::vector<hns::JournalEntry> HnsLedger::Entries(hns::Kind kind) {
  const std::lock_guard lock(mutex_);
  std::vector<hns::JournalEntry> found;
  if (!IsOpen()) return found;
  for (const control::LedgerEntry& entry : ledger_.entries()) {
    if (entry.kind == KindName(kind))
      found.push_back({entry.name, hns::Guid::Parse(entry.id), !entry.adopted});
  }
  return found;
}

std::string HnsLedger::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_.empty() ? lost_ : trouble_;
}

}  // namespace weft::daemon
