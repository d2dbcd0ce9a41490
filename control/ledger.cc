// SPDX-License-Identifier: Apache-2.0
#include "control/ledger.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/file_io.h"
#include "nlohmann/json.hpp"

namespace weft::control {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "weft/ledger/v1";

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
  // "Overlay 10.244.1.0/24" of "Overlay 10.244.1.0/24 VSID 4096".
  return absl::StrContains(shape, ' ') &&
         absl::StartsWithIgnoreCase(entry.shape, absl::StrCat(shape, " "));
}

std::string LedgerLockPath(std::string_view folder) { return absl::StrCat(folder, "/lock"); }

Ledger::Ledger(std::string folder) : path_(absl::StrCat(folder, "/ledger.json")) {}

absl::Status Ledger::Load() {
  entries_.clear();
  std::error_code error;
  if (!fs::exists(PathOf(path_), error)) return absl::OkStatus();
  const absl::StatusOr<std::string> text = ReadFileText(path_);
  if (!text.ok()) {
    return absl::UnavailableError(
        absl::StrCat("the ledger ", path_, " cannot be read; let this account read it"));
  }
  if (auto entries = Read(*text)) {
    entries_ = *std::move(entries);
    return absl::OkStatus();
  }
  const std::string aside = absl::StrCat(path_, ".broken");
  fs::rename(PathOf(path_), PathOf(aside), error);
  return absl::DataLossError(
      absl::StrCat("the ledger ", path_, " is no ledger of weft; it ",
                   error ? "stays there" : absl::StrCat("is now ", aside),
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
  if (entries == entries_) return absl::OkStatus();
  std::error_code error;
  fs::create_directories(PathOf(path_).parent_path(), error);
  const absl::Status status =
      error ? absl::UnavailableError(absl::StrCat("cannot make the folder: ", error.message()))
            : ReplaceFileText(path_, Text(entries));
  if (!status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat("the ledger ", path_, ": ", status.message(),
                                     "; give flanneld a folder it may write to with --state-dir"));
  }
  entries_ = std::move(entries);
  return absl::OkStatus();
}

}  // namespace weft::control
