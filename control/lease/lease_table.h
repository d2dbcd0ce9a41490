// SPDX-License-Identifier: Apache-2.0
// All leases of the cluster, whether each can be used, and what that changes for the sinks.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "control/lease/address_uses.h"
#include "control/lease/lease.h"
#include "control/lease/own_identity.h"
#include "control/lease/packed_lease.h"
#include "control/lease/peer_state.h"
#include "control/lease/record_set.h"
#include "control/lease/record_store.h"
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

// One thread (control). A change costs O(1), and nothing is allocated when it is none; 100,000
// leases are meant, about 110 octets each. Order is made when it is asked for.
//
// A lease is *complete* when it is not ours, its backend is ours, it has a public IP, under vxlan
// our VNI and a MAC, and its subnet does not overlap our own. Of several complete leases for one
// subnet the newest holds it: creation time, then the lesser name, then the lesser UID. So a subnet
// that moved to a new node outlives the old node's deletion, and comes back when the new node goes;
// a new node that has published only half takes nothing away from the old one.
class LeaseTable {
 public:
  explicit LeaseTable(OwnIdentity own = {});
  LeaseTable(const LeaseTable&) = delete;
  LeaseTable& operator=(const LeaseTable&) = delete;

  // Judges every lease anew. O(n).
  void SetOwn(OwnIdentity own);
  const OwnIdentity& own() const { return own_; }

  // What is told from here to EndSnapshot is all there is. Begun again: counted anew; what the one
  // that was cut short told stays. O(n).
  void BeginSnapshot();
  // Takes out what was not told since BeginSnapshot, except that a refused node keeps the lease it
  // had: it is still there, only not readable now. True when that changed anything. O(n) if so.
  bool EndSnapshot();
  // Adds or replaces by key. True when something differs by value.
  bool Upsert(const Lease& lease);
  // True when it was there.
  bool Remove(const NodeKey& node);
  // Keeps the node's lease if there is one. A later Upsert or Remove of that name, or a snapshot
  // that does not refuse it last, ends it. True unless it is known already.
  bool Refuse(const RefusedNode& node);

  // What became true for the sinks since the last call for this family; the first time, everything.
  PeerChanges TakeChanges(IpFamily family);
  // As if all changes of both families had been taken, for who goes by Snapshot.
  void DropChanges();
  // Everything usable now, ordered by subnet. Does not touch what TakeChanges will say.
  std::vector<Peer> Snapshot(IpFamily family) const;

  std::size_t size() const { return nodes_.size(); }
  // Moves with every change of the leases, the refused nodes or our identity.
  std::uint64_t generation() const { return generation_; }
  // Of this family; none where the lease has no such half.
  std::optional<PeerState> StateOf(const NodeKey& node, IpFamily family) const;
  // Ordered by node and family. O(n log n).
  std::vector<LeaseRow> Rows() const;
  // The same of one node: none, one or two.
  std::vector<LeaseRow> RowsOf(const NodeKey& node) const;
  // Of those of Rows that are neither plainly usable nor our own; costs nothing when there are
  // none, else O(n). The row lives until `visit` returns.
  void ForEachRemarkable(absl::FunctionRef<void(const LeaseRow&)> visit) const;
  // Costs nothing while no subnet is contested or nested and no public IP shared; else O(n), then
  // nothing until the next change.
  StateCounts Counts(IpFamily family) const;
  // Ordered by name.
  std::vector<RefusedNode> Refused() const;
  std::size_t refused() const { return refused_.size(); }
  // Refusals ever seen; the same one again is not counted.
  std::uint64_t refused_total() const { return refused_total_; }

 private:
  static constexpr std::array kFamilies = {IpFamily::kV4, IpFamily::kV6};

  // What differs between the families.
  struct Family {
    Family(const RecordStore& store, IpFamily family) : subnets(store, family) {}
    SubnetIndex subnets;  // complete leases
    AddressUses public_ips;
    StateCounts alone{};  // states of JudgeAlone
    // Subnets that another or nobody may hold since TakeChanges, and what was told of them then
    // (empty: nobody).
    absl::flat_hash_map<IpPrefix, std::optional<Peer>> told;
    bool telling = false;  // TakeChanges or DropChanges was called
    StateCounts counts{};
    std::uint64_t counted_at = 0;  // generation of `counts`; zero: never
    // Whether every lease's state is that of JudgeAlone.
    bool is_plain() const {
      return !subnets.has_contests() && !subnets.has_many_lengths() && !public_ips.any_shared();
    }
  };
  struct Key {
    Key(std::string_view its_name, bool has_uuid, std::string_view its_uid);
    explicit Key(const PackedLease& lease);
    bool Matches(const PackedLease& lease) const;
    std::string_view name, uid;
    bool is_uuid;
    std::uint32_t hash;  // of the name: its UID changes seldom enough
  };
  struct Refusal {
    std::string reason;
    bool told = false;  // since BeginSnapshot
  };

  PackedLease Read(RecordId lease) const { return PackedLease(store_.At(lease)); }
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    store_.ForEach([](const char* at) { return PackedLease(at).size(); }, visit);
  }
  RecordId Find(const NodeKey& node) const;
  bool Put(const Lease& lease);
  void Forget(RecordId lease);
  void Mark(RecordId lease, bool told);
  void Sweep();
  // Into and out of the indices, under the present identity.
  void Index(RecordId record, const Lease& lease);
  void Unindex(RecordId record);
  void Note(IpFamily family, const SubnetIndex::Change& change, const IpPrefix& subnet);
  // Without the contest for the subnet and the states that do no harm except kOutsideNetwork.
  PeerState JudgeAlone(const PackedLease& lease, const IpPrefix& subnet) const;
  PeerState Judge(RecordId lease, IpFamily family) const;
  std::vector<RecordId> InOrder(std::vector<RecordId> leases) const;
  LeaseRow RowOf(RecordId lease, IpFamily family, PeerState state) const;
  std::string Explain(const PackedLease& lease, const FamilyLease& half, PeerState state) const;
  Family& of(IpFamily family) { return families_[static_cast<std::size_t>(family)]; }
  const Family& of(IpFamily family) const { return families_[static_cast<std::size_t>(family)]; }

  OwnIdentity own_;
  bool is_vxlan_;
  RecordStore store_;
  RecordSet<Key> nodes_;
  std::size_t told_count_ = 0;  // leases that are marked as told
  bool in_snapshot_ = false;
  mutable std::array<Family, 2> families_;
  std::map<std::string, Refusal, std::less<>> refused_;  // by name
  std::uint64_t refused_total_ = 0;
  std::uint64_t generation_ = 1;
  std::string packed_;  // of the lease that was told last
};

}  // namespace weft::lease
