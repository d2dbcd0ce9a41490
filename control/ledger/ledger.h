// SPDX-License-Identifier: Apache-2.0
// The objects that weft made or found on this node, in a file of --state-dir: neither HNS's
// documents nor Windows' routes have a field for a mark that would identify ours.
#pragma once

#include <cstddef>
#include <list>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/ledger/entry.h"

namespace weft::ledger {

// The path of the ProcessLock that the process which uses the ledger holds.
std::string LedgerLockPath(std::string_view folder);

// Moves the ledger from an earlier version's default folder to `folder`, unless `folder` has one.
// True if it moved. PermissionDenied: other users may have written it.
absl::StatusOr<bool> MoveFormerLedger(const std::string& former_folder, const std::string& folder);

// One thread, one process: the daemon, or flannelctl while the daemon does not run.
//
// A write-ahead protocol: Intend before an object is made, Confirm once it exists, Forget once it
// does not. The ledger is on disk when such a call returns: a process that dies in between leaves
// the intention, by which the next process recognises the object. An entry that cannot be written
// stays in memory, and the next call writes it too.
//
// There are two files. ledger.json has all entries. If few of many entries change, they are
// appended to ledger.changes instead, one line each, "+ ENTRY" or "- KEY", which Load applies to
// ledger.json and Fold merges into it. ledger.changes has all changes since ledger.json was
// written, so applying them to a ledger.json that contains them changes nothing.
class Ledger {
 public:
  // `folder` (UTF-8) is created with the first entry. If not `open`, nothing is written before
  // Open.
  explicit Ledger(const std::string& folder, bool open = true);

  const std::string& path() const { return path_; }
  const std::string& changes_path() const { return changes_path_; }
  bool is_open() const { return open_; }
  // Without files the ledger is empty. DataLoss: a file could not be parsed; it is renamed to
  // "….broken-RANDOM", so that nothing is lost, and the entries that were parsed are used. An
  // incomplete last line of the changes is ignored. Unavailable: a file cannot be read or renamed.
  // PermissionDenied: a file belongs to another user (CheckOwn) and is not trusted. Unimplemented:
  // a later weft wrote it (state_version.h); nothing is written then. If not `open`, no file is
  // renamed.
  absl::Status Load();
  // Opens a ledger that is not open: Load, Fold, then merges the entries that were put before,
  // which the next call writes. An entry of this process replaces the file's; but an object that
  // this process adopted may be one that an earlier process of this `boot` intended.
  absl::Status Open(std::string_view boot);

  // In the order in which they were put.
  const std::list<Entry>& entries() const { return entries_; }
  template <typename T>
  std::vector<T> All() const {
    std::vector<T> all;
    for (const Entry& entry : entries_)
      if (const T* const one = std::get_if<T>(&entry)) all.push_back(*one);
    return all;
  }
  // The entry with the key of `like`, or null.
  template <typename T>
  const T* Find(const T& like) const {
    const auto found = index_.find(KeyOf(like));
    return found == index_.end() ? nullptr : std::get_if<T>(&*found->second);
  }

  absl::Status Intend(const std::vector<Entry>& entries) { return Change({}, entries); }
  absl::Status Confirm(const Entry& entry) { return Change({}, {entry}); }
  absl::Status Forget(const std::vector<Entry>& entries) { return Change(entries, {}); }
  // Both in one write. Writes nothing if nothing changes.
  absl::Status Change(const std::vector<Entry>& forgotten, const std::vector<Entry>& put);

  // Whether all entries are on disk.
  bool written() const { return unwritten_.empty(); }
  // Writes the entries that could not be written before.
  absl::Status Write();
  // Writes all entries to ledger.json.
  absl::Status Fold();

 private:
  void Put(const Entry& entry);
  void Erase(const std::string& key);
  void Clear();
  void Merge(const Entry& entered, std::string_view boot);
  absl::Status LoadWhole();
  absl::Status LoadChanges();
  bool ApplyLine(std::string_view line);
  absl::Status WriteWhole();
  absl::Status Append();

  const std::string path_, changes_path_;
  bool open_;
  std::list<Entry> entries_;
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;  // by key
  std::set<std::string> unwritten_;  // keys, also of removed entries
  // Of ledger.changes: valid bytes (the rest is an incomplete line) and lines.
  std::size_t changes_size_ = 0, changes_ = 0;
};

}  // namespace weft::ledger
