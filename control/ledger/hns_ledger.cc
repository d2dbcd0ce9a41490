// SPDX-License-Identifier: Apache-2.0
#include "control/ledger/hns_ledger.h"

namespace weft::ledger {
namespace {

using Written = NodeLedger::Written;

std::string KindName(hns::Kind kind) {
  return std::string(kind == hns::Kind::kEndpoint ? kHnsEndpoint : kHnsNetwork);
}

}  // namespace

HnsLedger::HnsLedger(std::shared_ptr<NodeLedger> ledger, std::string boot)
    : ledger_(std::move(ledger)), boot_(std::move(boot)) {
  ledger_->Open();
}

void HnsLedger::BeforeCreate(const hns::JournalObject& object) {
  ledger_->Use([&](Ledger& ledger) -> Written {
    const std::string kind = KindName(object.kind);
    const LedgerEntry* const entry = ledger.Find(kind, object.name);
    before_[{kind, object.name}] =
        entry == nullptr ? std::nullopt : std::optional<LedgerEntry>(*entry);
    return ledger.Put({kind, object.name, "", false, object.shape, boot_});
  });
}

void HnsLedger::NotCreated(const hns::JournalObject& object) {
  ledger_->Use([&](Ledger& ledger) -> Written {
    const std::string kind = KindName(object.kind);
    const auto found = before_.find({kind, object.name});
    if (found == before_.end()) return std::nullopt;
    const std::optional<LedgerEntry> before = found->second;
    before_.erase(found);
    return before ? ledger.Put(*before) : ledger.Remove(kind, object.name);
  });
}

void HnsLedger::Stands(const hns::JournalObject& object, const hns::Guid& id) {
  ledger_->Use([&](Ledger& ledger) -> Written {
    const std::string kind = KindName(object.kind);
    LedgerEntry now{kind, object.name, id.ToString(), true, object.shape};
    const auto before = before_.extract({kind, object.name});
    if (const LedgerEntry* const entry = ledger.Find(kind, object.name)) {
      if (entry->id == now.id) return std::nullopt;
      // A create whose end is not known made nothing: it is the one from before.
      if (before && before.mapped() && before.mapped()->id == now.id)
        return ledger.Put(*before.mapped());
      // Another id than the one we know: another made it anew.
      now.adopted = !entry->id.empty() || entry->adopted || !MayBe(*entry, object.shape, boot_);
      if (!now.adopted) {
        now.shape = entry->shape;  // HNS may show less of it
        now.boot = entry->boot;
      }
    }
    return ledger.Put(now);
  });
}

void HnsLedger::Gone(hns::Kind kind, const std::string& name) {
  ledger_->Use([&](Ledger& ledger) { return ledger.Remove(KindName(kind), name); });
}

std::vector<hns::JournalEntry> HnsLedger::Entries(hns::Kind kind) {
  std::vector<hns::JournalEntry> found;
  ledger_->Use([&](Ledger& ledger) -> Written {
    for (const LedgerEntry& entry : ledger.entries()) {
      if (entry.kind == KindName(kind))
        found.push_back({entry.name, hns::Guid::Parse(entry.id), !entry.adopted, entry.shape,
                         !boot_.empty() && entry.boot == boot_});
    }
    return std::nullopt;
  });
  return found;
}

}  // namespace weft::ledger
