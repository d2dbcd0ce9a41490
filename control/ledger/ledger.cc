// SPDX-License-Identifier: Apache-2.0
#include "control/ledger/ledger.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/file_io.h"
#include "control/json_fields.h"
#include "control/own_files.h"
#include "control/state_version.h"
#include "nlohmann/json.hpp"

namespace weft::ledger {

void Fields(auto& visit, control::Is<Row> auto& row) {
  visit.Required("kind", row.kind);
  visit.Required("name", row.name);
  visit.Required("id", row.id);
  visit.Required("adopted", row.adopted);
  visit.Optional("shape", row.shape);
  visit.Optional("boot", row.boot);
}

namespace {

namespace fs = std::filesystem;
using control::Json;
using control::MayExist;

constexpr std::string_view kFormat = "weft/ledger/v1";
constexpr std::size_t kMostText = std::size_t{256} << 20;  // a million routes
// A ledger with fewer entries is always written whole: people read it, and it costs no more than
// appending a line.
constexpr std::size_t kFew = 64;

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

// One line.
void AppendJson(std::string& text, const Entry& entry) {
  text += control::JsonWriter::Encode(RowOf(entry))
              .dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string LedgerText(const std::list<Entry>& entries) {
  std::string text =
      absl::StrCat("{\n \"format\": \"", kFormat, "\",\n \"version\": ", control::kStateVersion,
                   ",\n \"entries\": [");
  const char* before = "\n  ";
  for (const Entry& entry : entries) {
    text += before;
    AppendJson(text, entry);
    before = ",\n  ";
  }
  return text + "\n ]\n}\n";
}

// Empty: no entry.
std::optional<Entry> ReadEntry(const Json& json) {
  Row row;
  control::JsonReader visit(json, "");
  Fields(visit, row);
  if (!visit.status().ok()) return std::nullopt;
  return EntryFrom(std::move(row));
}

// DataLoss: not a ledger.
absl::StatusOr<std::vector<Entry>> ReadEntries(const std::string& path, const std::string& text) {
  const Json file = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const absl::Status broken = absl::DataLossError(absl::StrCat(path, " is not a ledger of weft"));
  if (!file.is_object()) return broken;
  if (file.value("format", Json()) != kFormat) return broken;
  const Json rows = file.value("entries", Json());
  if (!rows.is_array()) return broken;
  std::vector<Entry> entries;
  for (const Json& row : rows) {
    std::optional<Entry> entry = ReadEntry(row);
    if (!entry) return broken;
    entries.push_back(*std::move(entry));
  }
  return entries;
}

absl::StatusOr<std::string> ReadText(const std::string& path) {
  absl::StatusOr<std::string> text = control::ReadFileText(path, kMostText);
  if (text.ok()) return text;
  return absl::UnavailableError(absl::StrCat("the ledger ", path,
                                             " cannot be read: ", text.status().message(),
                                             "; let this account read it, or move it away"));
}

// Renames a file that is not a ledger of ours.
absl::Status SetAside(const std::string& path, std::string_view lost) {
  const std::string aside = absl::StrCat(path, ".broken-", control::RandomName());
  std::error_code error;
  fs::rename(control::PathOf(path), control::PathOf(aside), error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("the ledger ", path, " is not a ledger of weft, and ",
                     "it cannot be renamed: ", error.message(), "; rename or remove it"));
  }
  return absl::DataLossError(
      absl::StrCat("the ledger ", path, " is not a ledger of weft; it is now ", aside, ", and ",
                   lost, " is treated as not made by flanneld: flannelctl reset keeps it"));
}

}  // namespace

std::string LedgerLockPath(std::string_view folder) { return absl::StrCat(folder, "/lock"); }

absl::StatusOr<bool> MoveFormerLedger(const std::string& former_folder, const std::string& folder) {
  const std::string from = absl::StrCat(former_folder, "/ledger.json");
  const std::string to = absl::StrCat(folder, "/ledger.json");
  if (former_folder.empty() || !MayExist(from) || MayExist(to)) return false;
  const auto failed = [&](std::string_view what, const absl::Status& why) {
    return absl::Status(why.code(),
                        absl::StrCat("the ledger of an earlier version ", what, ": ", why.message(),
                                     "; what it lists is treated as not made by flanneld; if it is "
                                     "correct, stop flanneld and copy ",
                                     from, " to ", to, " as an administrator"));
  };
  absl::Status own = control::CheckOwn(former_folder);
  own.Update(control::CheckOwn(from));
  if (!own.ok()) return failed("is not trusted", own);
  const absl::StatusOr<std::string> text = control::ReadFileText(from, kMostText);
  const absl::Status moved = text.ok() ? control::ReplaceFileText(to, *text) : text.status();
  if (!moved.ok()) return failed("cannot be moved", moved);
  std::error_code error;
  fs::remove(control::PathOf(from), error);
  return true;
}

Ledger::Ledger(const std::string& folder, bool open)
    : path_(absl::StrCat(folder, "/ledger.json")),
      changes_path_(absl::StrCat(folder, "/ledger.changes")),
      open_(open) {}

// ---- the entries

void Ledger::Put(const Entry& entry) {
  const auto [at, fresh] = index_.try_emplace(KeyOf(entry));
  if (fresh) {
    at->second = entries_.insert(entries_.end(), entry);
  } else if (*at->second != entry) {
    *at->second = entry;
  } else {
    return;
  }
  unwritten_.insert(at->first);
}

void Ledger::Erase(const std::string& key) {
  const auto found = index_.find(key);
  if (found == index_.end()) return;
  entries_.erase(found->second);
  index_.erase(found);
  unwritten_.insert(key);
}

void Ledger::Clear() {
  entries_.clear();
  index_.clear();
  unwritten_.clear();
  changes_size_ = changes_ = 0;
}

absl::Status Ledger::Change(const std::vector<Entry>& forgotten, const std::vector<Entry>& put) {
  for (const Entry& entry : forgotten) Erase(KeyOf(entry));
  for (const Entry& entry : put) Put(entry);
  return Write();
}

// ---- reading

absl::Status Ledger::Load() {
  Clear();
  for (const std::string& path : {path_, changes_path_}) {
    if (const absl::Status own = control::CheckOwn(path); !own.ok()) {
      return absl::PermissionDeniedError(
          absl::StrCat("the ledger ", own.message(), " and is not trusted; if it is correct, copy ",
                       "it to a folder of your own and give that with --state-dir"));
    }
  }
  absl::Status status = LoadWhole();
  if (status.ok() || absl::IsDataLoss(status)) {
    const absl::Status changes = LoadChanges();
    if (!changes.ok()) status = changes;
  }
  unwritten_.clear();
  if (!status.ok() && !absl::IsDataLoss(status)) Clear();
  return status;
}

absl::Status Ledger::LoadWhole() {
  if (!MayExist(path_)) return absl::OkStatus();
  if (const absl::Status known = control::CheckStateFile(path_); !known.ok())
    return absl::Status(known.code(), absl::StrCat("the ledger ", known.message()));
  const absl::StatusOr<std::string> text = ReadText(path_);
  if (!text.ok()) return text.status();
  const absl::StatusOr<std::vector<Entry>> entries = ReadEntries(path_, *text);
  if (absl::IsDataLoss(entries.status()) && open_) return SetAside(path_, "what it listed");
  if (!entries.ok())
    return absl::DataLossError(absl::StrCat("the ledger ", entries.status().message()));
  for (const Entry& entry : *entries) Put(entry);
  return absl::OkStatus();
}

// "+ {ENTRY}" or "- KEY".
bool Ledger::ApplyLine(std::string_view line) {
  if (line.substr(0, 2) == "- ") {
    Erase(std::string(line.substr(2)));
    return true;
  }
  if (line.substr(0, 2) != "+ ") return false;
  const Json json = Json::parse(line.substr(2), nullptr, /*allow_exceptions=*/false);
  const std::optional<Entry> entry = ReadEntry(json);
  if (entry) Put(*entry);
  return entry.has_value();
}

absl::Status Ledger::LoadChanges() {
  if (!MayExist(changes_path_)) return absl::OkStatus();
  const absl::StatusOr<std::string> text = ReadText(changes_path_);
  if (!text.ok()) return text.status();
  bool understood = true;
  for (std::size_t end = 0; (end = text->find('\n', changes_size_)) != std::string::npos;
       ++changes_) {
    const std::string_view line(text->data() + changes_size_, end - changes_size_);
    understood = ApplyLine(line) && understood;
    changes_size_ = end + 1;
  }
  if (understood || !open_) return absl::OkStatus();
  // The lines that were understood are kept in ledger.json, because the file is renamed.
  if (const absl::Status kept = control::ReplaceFileText(path_, LedgerText(entries_)); !kept.ok())
    return absl::UnavailableError(absl::StrCat("the ledger ", path_, ": ", kept.message()));
  changes_size_ = changes_ = 0;
  return SetAside(changes_path_, "what is only in its other lines");
}

absl::Status Ledger::Open(std::string_view boot) {
  if (open_) return absl::OkStatus();
  const std::list<Entry> entered = entries_;
  open_ = true;
  const absl::Status status = Load();
  open_ = status.ok() || absl::IsDataLoss(status);
  if (open_) static_cast<void>(Fold());  // if it fails, the next process does it
  for (const Entry& entry : entered) {
    if (open_)
      Merge(entry, boot);
    else
      Put(entry);
  }
  return status;
}

void Ledger::Merge(const Entry& entered, std::string_view boot) {
  const auto* const object = std::get_if<HnsObject>(&entered);
  const HnsObject* const old = object != nullptr && object->adopted ? Find(*object) : nullptr;
  if (old == nullptr) return Put(entered);
  if (!old->id && !old->adopted && MayBe(*old, object->shape, boot)) {
    HnsObject made = *old;
    made.id = object->id;
    Put(made);
  } else if (old->id != object->id) {
    Put(entered);
  }
}

// ---- writing

absl::Status Ledger::Write() {
  if (unwritten_.empty() || !open_) return absl::OkStatus();
  absl::Status status = control::MakeOwnFolder(FolderOf(path_)).status();
  // Whole only while ledger.changes is empty: a ledger.changes that lacks changes which could not
  // be appended must not be applied to a newer ledger.json.
  const bool whole = changes_size_ == 0 && (entries_.size() < kFew || !MayExist(path_) ||
                                            2 * unwritten_.size() > entries_.size());
  if (status.ok()) status = whole ? WriteWhole() : Append();
  if (absl::IsOutOfRange(status)) status = WriteWhole();  // the file lost changes; memory has them
  if (!status.ok()) {
    return absl::Status(status.code(), absl::StrCat("the ledger ", whole ? path_ : changes_path_,
                                                    ": ", status.message(), "; ",
                                                    control::StepToWrite(status, "--state-dir")));
  }
  unwritten_.clear();
  // Errors are ignored: the entries are on disk already, WriteWhole only makes the files smaller.
  if (changes_ > std::max(entries_.size(), kFew) || !MayExist(path_))
    static_cast<void>(WriteWhole());
  return absl::OkStatus();
}

absl::Status Ledger::Fold() {
  if (absl::Status status = Write(); !status.ok() || !open_) return status;
  return MayExist(changes_path_) ? WriteWhole() : absl::OkStatus();
}

absl::Status Ledger::WriteWhole() {
  if (absl::Status status = control::ReplaceFileText(path_, LedgerText(entries_)); !status.ok())
    return status;
  std::error_code error;
  fs::remove(control::PathOf(changes_path_), error);
  if (!error) changes_size_ = changes_ = 0;
  return absl::OkStatus();
}

absl::Status Ledger::Append() {
  std::string text;
  for (const std::string& key : unwritten_) {
    const auto found = index_.find(key);
    if (found == index_.end()) {
      absl::StrAppend(&text, "- ", key);
    } else {
      text += "+ ";
      AppendJson(text, *found->second);
    }
    text += "\n";
  }
  absl::Status status = control::AppendFileText(changes_path_, changes_size_, text);
  if (!status.ok()) return status;
  changes_size_ += text.size();
  changes_ += unwritten_.size();
  return status;
}

}  // namespace weft::ledger
