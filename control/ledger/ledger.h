// SPDX-License-Identifier: Apache-2.0
// What weft made or found on this node, in a file of --state-dir: neither HNS's documents nor
// Windows' routes carry a mark by which ours could be told from others'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft::ledger {

inline constexpr std::string_view kHnsNetwork = "hns-network";
inline constexpr std::string_view kHnsEndpoint = "hns-endpoint";
inline constexpr std::string_view kHostRoute = "host-route";
inline constexpr std::string_view kFormerRoute = "former-route";  // in whose place one of ours is
inline constexpr std::string_view kFirewallRule = "firewall-rule";
inline constexpr std::string_view kStaticRoute = "static-route";    // the administrator's
inline constexpr std::string_view kFilterTable = "filter-table";    // "inet weft" of nftables
inline constexpr std::string_view kForwardRules = "forward-rules";  // "nftables", "iptables-legacy"

struct LedgerEntry {
  std::string kind;  // one of the above
  std::string name;  // within the kind: "flannel.4096", "10.244.1.0/24"
  // HNS's id, which is empty while it is about to be made; the route's next hop; the rule's port.
  std::string id;
  // It was there before us, and was right: used, repaired, never removed by `flannelctl reset`.
  // Routes and rules that were are not entered at all.
  bool adopted = false;
  // What it looks like, for one without an id: "Overlay 10.244.1.0/24 VSID 4096"; of a static route
  // where it was.
  std::string shape{};
  // The boot (BootId) in which we made it (in HNS) or saw it last (a static route). A thing of HNS
  // without an id is known by its looks in that boot only: later, another program may have made its
  // like.
  std::string boot{};
  friend bool operator==(const LedgerEntry&, const LedgerEntry&) = default;
};

// Whether `entry`, which has no id, may be what is found now and looks so: HNS may show less of a
// thing than it was made of.
bool MayBe(const LedgerEntry& entry, std::string_view shape, std::string_view boot);

// Held, as a ProcessLock, by whoever works on the ledger.
std::string LedgerLockPath(std::string_view folder);

// What `on_disk` and a process that could not read it say together. Of one thing the process knows
// better, but for this: what it found and took for another's may be what the disk says we made.
std::vector<LedgerEntry> Merged(std::vector<LedgerEntry> on_disk,
                                const std::vector<LedgerEntry>& entered, std::string_view boot);

// Moves the ledger of an earlier version's default folder to `folder`, unless there is one: true.
// PermissionDenied: other users may have written it.
absl::StatusOr<bool> MoveFormerLedger(const std::string& former_folder, const std::string& folder);

// One thread, one process: the daemon's, or flannelctl's while the daemon does not run. What is put
// in is on disk when the call returns, so that a thing is entered before it is made: what dies in
// between leaves an entry without an id, by which the next start knows its own. What could not be
// written stays in, and the next call writes it, too.
class Ledger {
 public:
  // `folder` (UTF-8) is made with the first entry. Not `open`: nothing is written before Open.
  explicit Ledger(std::string folder, bool open = true);

  const std::string& path() const { return path_; }
  // A file that is not there is an empty ledger. One that cannot be understood is renamed to
  // "….broken-RANDOM", so that nothing is lost, and the ledger is empty: DataLoss says so.
  // Unavailable: it cannot be read, or not renamed.
  // PermissionDenied: another user's (CheckOwn), which is not trusted.
  absl::Status Load();
  // Of one that is not open: what the file says is Merged with what was put in meanwhile; what they
  // say together is written by the next call.
  absl::Status Open(std::string_view boot);

  // In the order in which they were put in.
  const std::vector<LedgerEntry>& entries() const { return entries_; }
  // All of them are on disk.
  bool written() const { return !unwritten_; }
  // Writes what could not be written.
  absl::Status Write();
  const LedgerEntry* Find(std::string_view kind, std::string_view name) const;
  // By kind and name, by which a thing is one; but a route, which by another next hop is another
  // (Replace). Nothing is written where nothing changes.
  absl::Status Put(const LedgerEntry& entry);
  absl::Status Remove(std::string_view kind, std::string_view name);
  // All of one kind at once.
  absl::Status Replace(std::string_view kind, std::vector<LedgerEntry> entries);

 private:
  absl::Status Save(std::vector<LedgerEntry> entries);

  std::string path_;
  bool open_;
  std::vector<LedgerEntry> entries_;
  bool unwritten_ = false;
};

}  // namespace weft::ledger
