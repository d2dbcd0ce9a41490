// SPDX-License-Identifier: Apache-2.0
#include "control/ledger/ledger.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/file_io.h"
#include "control/own_files.h"
#include "nlohmann/json.hpp"

namespace weft::ledger {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "weft/ledger/v1";
constexpr std::size_t kMostText = std::size_t{256} << 20;  // a million routes

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

bool Is(const LedgerEntry& entry, std::string_view kind, std::string_view name) {
  return entry.kind == kind && entry.name == name;
}

std::string JsonText(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
  });
  if (plain) return absl::StrCat("\"", text, "\"");
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A line for each entry. Without a tree, which with 5,000 routes is most of the work of a write,
// and each of them that changes is one.
std::string Text(const std::vector<LedgerEntry>& entries) {
  std::string text =
      absl::StrCat("{\n \"format\": ", JsonText(std::string(kFormat)), ",\n \"entries\": [");
  const char* before = "\n";
  for (const LedgerEntry& entry : entries) {
    absl::StrAppend(&text, before, "  {\"kind\": ", JsonText(entry.kind),
                    ", \"name\": ", JsonText(entry.name), ", \"id\": ", JsonText(entry.id),
                    ", \"adopted\": ", entry.adopted ? "true" : "false");
    if (!entry.shape.empty()) absl::StrAppend(&text, ", \"shape\": ", JsonText(entry.shape));
    if (!entry.boot.empty()) absl::StrAppend(&text, ", \"boot\": ", JsonText(entry.boot));
    text += "}";
    before = ",\n";
  }
  return text + "\n ]\n}\n";
}

// Empty: not a ledger.
std::optional<std::vector<LedgerEntry>> Read(const std::string& text) {
  const Json file = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object() || file.value("format", Json()) != kFormat) return std::nullopt;
  const Json rows = file.value("entries", Json());
  if (!rows.is_array()) return std::nullopt;
  std::vector<LedgerEntry> entries;
  for (const Json& row : rows) {
    LedgerEntry entry;
    for (const auto& [key, member] : {std::pair("kind", &entry.kind),
                                      std::pair("name", &entry.name), std::pair("id", &entry.id)}) {
      const auto found = row.find(key);
      if (found == row.end() || !found->is_string()) return std::nullopt;
      *member = found->get<std::string>();
    }
    const auto adopted = row.find("adopted");
    if (adopted == row.end() || !adopted->is_boolean()) return std::nullopt;
    entry.adopted = adopted->get<bool>();
    for (const auto& [key, member] :
         {std::pair("shape", &entry.shape), std::pair("boot", &entry.boot)}) {
      const auto found = row.find(key);
      if (found == row.end()) continue;
      if (!found->is_string()) return std::nullopt;
      *member = found->get<std::string>();
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

bool MayBe(const LedgerEntry& entry, std::string_view shape, std::string_view boot) {
  if (boot.empty() || entry.boot != boot) return false;
  if (absl::EqualsIgnoreCase(shape, entry.shape)) return true;
  // "Overlay 10.244.1.0/24 port 8472" of "Overlay 10.244.1.0/24 VSID 4096 port 8472": two words say
  // one thing.
  const std::vector<std::string> shown = absl::StrSplit(absl::AsciiStrToLower(shape), ' ');
  const std::vector<std::string> made = absl::StrSplit(absl::AsciiStrToLower(entry.shape), ' ');
  std::size_t at = 0;
  for (std::size_t i = 0; i + 1 < made.size() && at + 1 < shown.size(); i += 2)
    if (shown[at] == made[i] && shown[at + 1] == made[i + 1]) at += 2;
  return at > 0 && at == shown.size() && shown[1] == made[1];
}

std::string LedgerLockPath(std::string_view folder) { return absl::StrCat(folder, "/lock"); }

std::vector<LedgerEntry> Merged(std::vector<LedgerEntry> on_disk,
                                const std::vector<LedgerEntry>& entered, std::string_view boot) {
  for (const LedgerEntry& entry : entered) {
    // Of other kinds there may be several of one name.
    const bool several =
        entry.kind != kHnsNetwork && entry.kind != kHnsEndpoint && entry.kind != kFirewallRule;
    const auto found = std::find_if(on_disk.begin(), on_disk.end(), [&](const LedgerEntry& old) {
      return Is(old, entry.kind, entry.name) &&
             (!several || (old.id == entry.id && old.shape == entry.shape));
    });
    if (found == on_disk.end()) {
      on_disk.push_back(entry);
    } else if (!entry.adopted || several) {
      *found = entry;
    } else if (found->id.empty() && !found->adopted && MayBe(*found, entry.shape, boot)) {
      found->id = entry.id;
    } else if (found->id != entry.id) {
      *found = entry;
    }
  }
  return on_disk;
}

absl::StatusOr<bool> MoveFormerLedger(const std::string& former_folder, const std::string& folder) {
  const std::string from = absl::StrCat(former_folder, "/ledger.json");
  const std::string to = absl::StrCat(folder, "/ledger.json");
  std::error_code error;
  if (former_folder.empty() || !fs::exists(control::PathOf(from), error) ||
      fs::exists(control::PathOf(to), error))
    return false;
  const auto failed = [&](std::string_view what, const absl::Status& why) {
    return absl::Status(why.code(),
                        absl::StrCat("the ledger of an earlier version ", what, ": ", why.message(),
                                     "; what it lists counts as found, not as made by us. If it is "
                                     "right, stop flanneld and copy ",
                                     from, " to ", to, " as an administrator"));
  };
  absl::Status own = control::CheckOwn(former_folder);
  own.Update(control::CheckOwn(from));
  if (!own.ok()) return failed("is not trusted", own);
  const absl::StatusOr<std::string> text = control::ReadFileText(from, kMostText);
  const absl::Status moved = text.ok() ? control::ReplaceFileText(to, *text) : text.status();
  if (!moved.ok()) return failed("cannot be moved", moved);
  fs::remove(control::PathOf(from), error);
  return true;
}

Ledger::Ledger(std::string folder, bool open)
    : path_(absl::StrCat(folder, "/ledger.json")), open_(open) {}

absl::Status Ledger::Open(std::string_view boot) {
  if (open_) return absl::OkStatus();
  std::vector<LedgerEntry> entered = std::move(entries_);
  const absl::Status status = Load();
  if (!status.ok() && !absl::IsDataLoss(status)) {
    entries_ = std::move(entered);
    return status;
  }
  open_ = true;
  std::vector<LedgerEntry> merged = Merged(entries_, entered, boot);
  unwritten_ = merged != entries_;
  entries_ = std::move(merged);
  return status;
}

absl::Status Ledger::Load() {
  entries_.clear();
  unwritten_ = false;
  std::error_code error;
  if (!fs::exists(control::PathOf(path_), error)) return absl::OkStatus();
  if (const absl::Status own = control::CheckOwn(path_); !own.ok()) {
    return absl::PermissionDeniedError(
        absl::StrCat("the ledger ", own.message(), " and is not trusted; if it is right, copy ",
                     "it to a folder of your own and give that with --state-dir"));
  }
  const absl::StatusOr<std::string> text = control::ReadFileText(path_, kMostText);
  if (!text.ok()) {
    return absl::UnavailableError(
        absl::StrCat("the ledger ", path_, " cannot be read; let this account read it"));
  }
  if (auto entries = Read(*text)) {
    entries_ = *std::move(entries);
    return absl::OkStatus();
  }
  const std::string aside = absl::StrCat(path_, ".broken-", control::RandomName());
  fs::rename(control::PathOf(path_), control::PathOf(aside), error);
  if (error) {
    return absl::UnavailableError(absl::StrCat("the ledger ", path_, " is no ledger of weft and ",
                                               "cannot be renamed: ", error.message(),
                                               "; rename or remove it"));
  }
  return absl::DataLossError(
      absl::StrCat("the ledger ", path_, " is no ledger of weft; it is now ", aside,
                   ", and what it listed counts as found, not as made by us: flannelctl reset will "
                   "leave it"));
}

const LedgerEntry* Ledger::Find(std::string_view kind, std::string_view name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const LedgerEntry& entry) { return Is(entry, kind, name); });
  return found == entries_.end() ? nullptr : &*found;
}

absl::Status Ledger::Put(const LedgerEntry& entry) {
  std::vector<LedgerEntry> entries = entries_;
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const LedgerEntry& old) {
    return Is(old, entry.kind, entry.name);
  });
  if (found == entries.end()) {
    entries.push_back(entry);
  } else {
    *found = entry;
  }
  return Save(std::move(entries));
}

absl::Status Ledger::Remove(std::string_view kind, std::string_view name) {
  std::vector<LedgerEntry> entries = entries_;
  std::erase_if(entries, [&](const LedgerEntry& entry) { return Is(entry, kind, name); });
  return Save(std::move(entries));
}

absl::Status Ledger::Replace(std::string_view kind, std::vector<LedgerEntry> entries) {
  std::vector<LedgerEntry> all = entries_;
  std::erase_if(all, [&](const LedgerEntry& entry) { return entry.kind == kind; });
  all.insert(all.end(), std::make_move_iterator(entries.begin()),
             std::make_move_iterator(entries.end()));
  return Save(std::move(all));
}

absl::Status Ledger::Save(std::vector<LedgerEntry> entries) {
  if (entries != entries_) {
    entries_ = std::move(entries);
    unwritten_ = true;
  }
  return Write();
}

absl::Status Ledger::Write() {
  if (!unwritten_ || !open_) return absl::OkStatus();
  const absl::StatusOr<std::string> made = control::MakeOwnFolder(FolderOf(path_));
  const absl::Status status =
      made.ok() ? control::ReplaceFileText(path_, Text(entries_)) : made.status();
  if (!status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat("the ledger ", path_, ": ", status.message(),
                                     "; give flanneld a folder it may write to with --state-dir"));
  }
  unwritten_ = false;
  return absl::OkStatus();
}

}  // namespace weft::ledger
