// SPDX-License-Identifier: Apache-2.0
// All leases of the cluster, whether each can be used, and what that changes for the sinks.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "control/lease/lease.h"
#include "control/lease/own_identity.h"
#include "control/lease/peer_state.h"
#include "control/lease/sink.h"
#include "control/lease/source.h"
#include "control/lease/subnet_index.h"

namespace weft::lease {

// One family-half of one lease, as `flannelctl leases` shows it.
struct LeaseRow {
  NodeKey node;
  std::string backend_type;
  IpFamily family = IpFamily::kV4;
  FamilyLease lease;
  PeerState state = PeerState::kUsable;
  std::string detail;  // one sentence: what is wrong and what to do; empty when usable or self
};

// How many family-halves are in each state, indexed by PeerState.
using StateCounts = std::array<std::size_t, kPeerStates>;

// One thread (control). A change costs O(log n), a snapshot O(n log n); 100,000 leases are meant.
//
// A lease is *complete* when it is not ours, its backend is ours, it has a public IP, under vxlan
// our VNI and a MAC, and its subnet does not overlap our own. Of several complete leases for one
// subnet the newest holds it: creation time, then the lesser name, then the lesser UID. So a subnet
// that moved to a new node outlives the old node's deletion, and comes back when the new node goes;
// a new node that has published only half takes nothing away from the old one.
class LeaseTable {
 public:
  explicit LeaseTable(OwnIdentity own = {});

  // Judges every lease anew. O(n log n).
  void SetOwn(OwnIdentity own);
  const OwnIdentity& own() const { return own_; }

  // What is told from here to EndSnapshot is all there is. Begun again: counted anew; what the one
  // that was cut short told stays.
  void BeginSnapshot();
  // Takes out what was not told since BeginSnapshot, except that a refused node keeps the lease it
  // had: it is still there, only not readable now. True when that changed anything.
  bool EndSnapshot();
  // Adds or replaces by key. True when something differs by value.
  bool Upsert(const Lease& lease);
  // True when it was there.
  bool Remove(const NodeKey& node);
  // Keeps the node's lease if there is one. A later Upsert or Remove of that name, or a snapshot
  // that does not refuse it last, ends it. True unless it is known already.
  bool Refuse(const RefusedNode& node);

  // What became true for the sinks since the last call for this family.
  PeerChanges TakeChanges(IpFamily family);
  // Everything usable now, ordered by subnet. Does not touch what TakeChanges will say.
  std::vector<Peer> Snapshot(IpFamily family) const;

  std::size_t size() const { return leases_.size(); }
  // Moves with every change of the leases, the refused nodes or our identity.
  std::uint64_t generation() const { return generation_; }
  // Of this family; none where the lease has no such half. O(log n).
  std::optional<PeerState> StateOf(const NodeKey& node, IpFamily family) const;
  // Ordered by node and family. O(n log n).
  std::vector<LeaseRow> Rows() const;
  // The same of one node: none, one or two. O(log n).
  std::vector<LeaseRow> RowsOf(const NodeKey& node) const;
  // O(n log n), then free until the next change.
  const StateCounts& Counts(IpFamily family) const;
  // Ordered by name.
  std::vector<RefusedNode> Refused() const;
  // Refusals ever seen; the same one again is not counted.
  std::uint64_t refused_total() const { return refused_total_; }

 private:
  // What differs between the families.
  struct Family {
    SubnetIndex subnets;  // complete leases
    absl::flat_hash_map<IpAddress, std::size_t> public_ip_uses;
    // Subnets that another or nobody may hold since TakeChanges, and what was told of them then
    // (empty: nobody).
    absl::flat_hash_map<IpPrefix, std::optional<Peer>> told;
    StateCounts counts{};
    std::uint64_t counted_at = 0;  // generation of `counts`; zero: never
  };
  struct Entry {
    Lease lease;
    bool told = false;  // since BeginSnapshot
  };
  struct Refusal {
    std::string reason;
    bool told = false;
  };
  using Leases = std::map<NodeKey, Entry>;

  // Into and out of the indices, under the present identity.
  void Index(const Lease& lease);
  void Unindex(const Lease& lease);
  void Note(Family& family, IpFamily which, const IpPrefix& subnet,
            const SubnetIndex::Change& change);
  bool Put(const Lease& lease);
  bool HasTold(const std::string& name) const;
  // Without the contest for the subnet and the states that do no harm: kUsable means complete.
  PeerState JudgeAlone(const Lease& lease, const FamilyLease& half) const;
  PeerState Judge(const Lease& lease, const FamilyLease& half) const;
  void AppendRows(const Lease& lease, std::vector<LeaseRow>& rows) const;
  std::string Explain(const Lease& lease, const FamilyLease& half, PeerState state) const;
  Family& of(IpFamily family) { return families_[static_cast<std::size_t>(family)]; }
  const Family& of(IpFamily family) const { return families_[static_cast<std::size_t>(family)]; }

  OwnIdentity own_;
  Leases leases_;  // addresses of its values are stable: the indices point there
  mutable std::array<Family, 2> families_;
  std::map<std::string, Refusal> refused_;  // by name
  bool in_snapshot_ = false;
  std::uint64_t refused_total_ = 0;
  std::uint64_t generation_ = 1;
};

}  // namespace weft::lease
