// SPDX-License-Identifier: Apache-2.0
// The part of the keeper that clears away what an earlier wish left (former_network.h).
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hns/api/hresult.h"
#include "hns/overlay_keeper.h"

namespace weft::hns {

void OverlayKeeper::SetFormer(std::vector<FormerNetwork> made) {
  former_ = std::move(made);
  former_looked_ = false;
}

// What the keeper made under the old name is former now, and what is former under the new one is
// its own again.
void OverlayKeeper::TurnFormer(const std::string& name) {
  if (made_) former_.push_back({*made_, wish_.name});
  made_.reset();
  const auto again = std::find_if(former_.begin(), former_.end(),
                                  [&](const FormerNetwork& each) { return each.name == name; });
  if (again != former_.end()) {
    made_ = again->id;
    former_.erase(again);
  }
  former_looked_ = false;
}

// What RemoveFormer would do, last of all.
absl::Status OverlayKeeper::LookAtFormers(Drift& drift) {
  std::vector<JournalEntry> endpoints;
  if (!former_.empty()) endpoints = journal_->Entries(Kind::kEndpoint);
  for (const FormerNetwork& former : former_) {
    const absl::StatusOr<FormerLook> look = LookAtFormer(client_, former, endpoints);
    if (!look.ok()) return look.status();
    if (!look->there || !look->inhabitants.empty()) continue;
    drift.Add(absl::StrCat("the network ", former.name, ", made for an earlier net-conf,"),
              "still exists");
    for (const JournalEntry& own : look->own)
      drift.calls.push_back({absl::StrCat("delete the endpoint ", own.name), ""});
    drift.calls.push_back({absl::StrCat("delete the network ", former.name, " (",
                                        former.id.ToString(), "), made for an earlier net-conf"),
                           ""});
  }
  return absl::OkStatus();
}

absl::Status OverlayKeeper::Delete(const FormerNetwork& former, const FormerLook& look) {
  if (!look.there) return absl::OkStatus();
  for (const JournalEntry& own : look.own) {
    if (absl::Status status = client_.DeleteEndpoint(*own.id, own.name); !status.ok())
      return status;
    journal_->Gone(Kind::kEndpoint, own.name);
  }
  return client_.DeleteNetwork(former.id, former.name);
}

// Empty: what could go is gone. A refusal is a note, tried again after the next Recheck.
OverlayKeeper::MaybeWait OverlayKeeper::RemoveFormer() {
  former_looked_ = true;
  former_notes_.clear();
  std::vector<JournalEntry> endpoints;
  if (!former_.empty()) endpoints = journal_->Entries(Kind::kEndpoint);
  for (std::size_t i = former_.size(); i-- > 0;) {
    const FormerNetwork former = former_[i];
    const auto gone = [&] { former_.erase(former_.begin() + static_cast<std::ptrdiff_t>(i)); };
    if (reading_ && former.id == reading_->id) {
      gone();
      continue;
    }
    const absl::StatusOr<FormerLook> look = LookAtFormer(client_, former, endpoints);
    if (look.ok() && !look->inhabitants.empty()) {
      former_notes_.push_back(LeftText(former, look->inhabitants));
      continue;
    }
    const absl::Status status = look.ok() ? Delete(former, *look) : look.status();
    if (status.ok()) {
      journal_->Gone(Kind::kNetwork, former.name);
      gone();
      continue;
    }
    if (client_.ServiceGone(status)) return Failed(OverlayState::kHns, status);
    former_notes_.push_back(
        absl::StrCat("the HNS network ", former.name,
                     ", made for an earlier net-conf, still exists: ", status.message()));
  }
  return std::nullopt;
}

// After a refused create: HNS may take no two networks with one subnet or one VSID, and then what
// may go goes first. Empty: there was nothing to make room.
OverlayKeeper::MaybeWait OverlayKeeper::MakeRoom(const absl::Status& refusal) {
  if (!MayBeAboutAnotherNetwork(refusal)) return std::nullopt;
  const std::size_t before = former_.size();
  if (auto failed = RemoveFormer()) return failed;
  former_looked_ = false;
  if (former_.size() == before) return std::nullopt;
  return Wait{
      OverlayState::kNetwork,
      absl::StrCat("the HNS network ", wish_.name, " is made again, now that what stood in ",
                   "its way is gone: ", refusal.message()),
      Duration::zero()};
}

}  // namespace weft::hns
