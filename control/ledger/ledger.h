// SPDX-License-Identifier: Apache-2.0
// What weft made or found on this node, in a file of --state-dir: neither HNS's documents nor
// Windows' routes carry a mark by which ours could be told from others'.
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

// Held, as a ProcessLock, by the process that works on the ledger.
std::string LedgerLockPath(std::string_view folder);

// Moves the ledger of an earlier version's default folder to `folder`, unless there is one: true.
// PermissionDenied: other users may have written it.
absl::StatusOr<bool> MoveFormerLedger(const std::string& former_folder, const std::string& folder);

// One thread, one process: the daemon's, or flannelctl's while the daemon does not run.
//
// A write-ahead protocol: Intend before a thing is made, Confirm once it exists, Forget once it
// does not. The ledger is on disk when such a call returns: a process that dies in between leaves
// the intention, by which the next one knows its own. What cannot be written stays in, and the next
// call writes it, too.
//
// Two files. ledger.json is all of it. Where few of many entries change, they are appended to
// ledger.changes instead, a line each, "+ ENTRY" or "- KEY", which Load applies to ledger.json and
// Fold merges into it. The changes since ledger.json are complete there, so that applying them to
// a ledger.json that contains them changes nothing.
class Ledger {
 public:
  // `folder` (UTF-8) is made with the first entry. Not `open`: nothing is written before Open.
  explicit Ledger(const std::string& folder, bool open = true);

  const std::string& path() const { return path_; }
  const std::string& changes_path() const { return changes_path_; }
  // Where there is no file, the ledger is empty. One that cannot be understood is renamed to
  // "….broken-RANDOM", so that nothing is lost, and what was understood counts: DataLoss says so.
  // A torn last line of the changes is none.
  // Unavailable: one cannot be read, or not renamed.
  // PermissionDenied: one is another user's (CheckOwn), which is not trusted.
  absl::Status Load();
  // Of a ledger that is not open: Load, Fold, and what was put in meanwhile, which the next call
  // writes. What the process knows of a thing replaces what the file says; but what it took for
  // another's may be what an earlier process of this `boot` intended.
  absl::Status Open(std::string_view boot);

  // In the order in which they were put in.
  const std::list<Entry>& entries() const { return entries_; }
  template <typename T>
  std::vector<T> All() const {
    std::vector<T> all;
    for (const Entry& entry : entries_) {
      if (const T* const one = std::get_if<T>(&entry)) all.push_back(*one);
    }
    return all;
  }
  // The one of the key of `like`, or null.
  template <typename T>
  const T* Find(const T& like) const {
    const auto found = index_.find(KeyOf(like));
    return found == index_.end() ? nullptr : std::get_if<T>(&*found->second);
  }

  absl::Status Intend(const std::vector<Entry>& entries) { return Change({}, entries); }
  absl::Status Confirm(const Entry& entry) { return Change({}, {entry}); }
  absl::Status Forget(const std::vector<Entry>& entries) { return Change(entries, {}); }
  // Both in one write. Nothing is written where nothing changes.
  absl::Status Change(const std::vector<Entry>& forgotten, const std::vector<Entry>& put);

  // All entries are on disk.
  bool written() const { return unwritten_.empty(); }
  // Writes what could not be written.
  absl::Status Write();
  // Write, and all of it in ledger.json.
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
  std::set<std::string> unwritten_;  // keys; of those that are not in the index, too
  // Of ledger.changes: what lies behind `changes_size_` bytes is torn.
  std::size_t changes_size_ = 0, changes_ = 0;
};

}  // namespace weft::ledger
