// SPDX-License-Identifier: Apache-2.0
// All leases of the cluster, whether each can be used, and the resulting changes for the sinks.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_set.h"
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
  std::string detail;  // one sentence: cause and next step; empty when usable or self
};

// How many family-halves are in each state, indexed by PeerState.
using StateCounts = std::array<std::size_t, kPeerStates>;

// Nodes other than our own that should be reachable, and those of them whose halves are all usable.
struct PeerCounts {
  std::size_t all = 0;
  std::size_t usable = 0;
};

// One thread (control). A change costs O(1); an Upsert that changes nothing allocates nothing.
// Designed for 100,000 leases, about 110 bytes each. Sorting is left to the functions that return
// an order.
//
// A lease is *complete* when it is valid on its own (JudgeAlone). A complete lease is *in use*
// unless it conflicts with one in use; then it waits until that one is removed or changes.
//
// A Node's annotations are unverified and must not disconnect another Node's pods.
//
// Where the public IP of one lease lies in the subnet of another, a property of its Node decides,
// in any order of arrival and at each start: if the address is among the Node's status.addresses,
// the lease with the subnet waits, because it would cut the node off; else the lease with the
// address does, because an annotation proves nothing. Where each lies in the other's subnet, the
// older Node's is used.
//
// Of two leases with one subnet, and of two one of which is smaller than our own subnet and lies
// inside the other, the one in use stays: once the sinks have received the leases in use, a new
// lease takes nothing from them. Before that the newer one and the inner one wait. (A wider one
// takes nothing from those inside it.) A Node that was created again under its name replaces its
// former self.
//
// A half whose backend-data omits the MAC that the same Node (name, UID, backend, VNI, subnet) had
// published changes nothing, as it changes nothing for upstream's peers: the last complete half,
// public IP included, is kept until the next complete one. Removing the annotation does change it.
class LeaseTable {
 public:
  // Unix seconds.
  using Now = std::function<std::int64_t()>;

  // `now` defaults to the system's time.
  explicit LeaseTable(OwnIdentity own = {}, Now now = nullptr);
  LeaseTable(const LeaseTable&) = delete;
  LeaseTable& operator=(const LeaseTable&) = delete;

  // Judges every lease again. O(n). A lease in use that fails only because this host or Network
  // changed stays in use as kHostChanged.
  void SetOwn(OwnIdentity own);
  const OwnIdentity& own() const { return own_; }

  // The nodes reported from here to EndSnapshot are all there are. Called again before EndSnapshot,
  // it starts over; what the interrupted snapshot reported stays. O(n).
  void BeginSnapshot();
  // Removes what was not reported since BeginSnapshot, except that a refused node keeps the lease
  // it had under its UID: the Node exists, but is not readable now. True if anything changed; then
  // O(n). `gone` is called for each lease before it is removed, and may read the table.
  bool EndSnapshot(absl::FunctionRef<void(const NodeKey&)> gone = [](const NodeKey&) {});
  // Adds or replaces by key. True if the value changed.
  bool Upsert(const Lease& lease);
  // True if the lease existed.
  bool Remove(const NodeKey& node);
  // Keeps the node's lease if there is one. A later Upsert or Remove of that name ends the refusal,
  // and so does a snapshot whose last report of the name is not a refusal. False if it was already
  // refused for the same reason, or concerns a half that is not enabled.
  bool Refuse(const RefusedNode& node);
  // The same for a Node without a lease; does not remove a lease either.
  bool SetNotJoined(const NotJoinedNode& node);

  // The changes for the sinks since the last call for this family; on the first call, everything.
  PeerChanges DrainChanges(IpFamily family);
  // Discards the pending changes of both families, for a caller that uses Snapshot instead.
  void DropChanges();
  // All usable peers, ordered by subnet. Leaves the pending changes of DrainChanges as they are.
  std::vector<Peer> Snapshot(IpFamily family) const;
  Peer PeerAt(const IpPrefix& subnet) const;  // of these; without a name: none has it

  std::size_t size() const { return nodes_.size(); }
  // Increases with every change of what Rows and Refused return.
  std::uint64_t generation() const { return generation_ + readiness_changes_; }
  // The same without changes of Nodes' readiness, of which a large cluster always has some.
  std::uint64_t lease_generation() const { return generation_; }
  // Ordered by node and family. O(n log n).
  std::vector<LeaseRow> Rows() const;
  // The halves in use of each other node, without the time of creation, in no order. The lease
  // lives until `visit` returns. O(n).
  void ForEachInUse(absl::FunctionRef<void(const Lease&)> visit) const;
  // The rows of one node: none, one or two; with or without their details.
  std::vector<LeaseRow> RowsOf(const NodeKey& node, bool explained = true) const;
  // Visits the rows that are remarkable (IsRemarkable). O(1) when there are none, else O(n). The
  // row lives until `visit` returns.
  void ForEachRemarkable(absl::FunctionRef<void(const LeaseRow&)> visit) const;
  // O(1) while all subnets have one length and no public IP is shared; else O(n), cached until a
  // lease changes.
  StateCounts Counts(IpFamily family) const;
  // Counts nodes, including refused ones without a lease. O(n).
  PeerCounts Peers() const;
  // Ordered by name.
  std::vector<RefusedNode> Refused() const;
  std::vector<NotJoinedNode> NotJoined() const;
  std::size_t refused() const { return refused_.size(); }
  std::size_t not_joined() const { return not_joined_.size(); }
  // Another node that has a complete lease of `subnet`, whether or not it is ours, too; empty:
  // none. O(n).
  std::string UserOf(const IpPrefix& subnet) const;
  // Two nodes, one of them perhaps ourselves, whose leases have one VTEP MAC, as a condition;
  // empty: there are none. O(n).
  std::string DuplicateMac() const;
  // The name of a Node that differs from `name` only in case; empty: none. O(n).
  std::string NameInOtherCase(std::string_view name) const;
  std::size_t scans() const { return scans_; }  // over all leases so far; for tests

 private:
  static constexpr std::array kFamilies = {IpFamily::kV4, IpFamily::kV6};

  // What differs between the families.
  struct Family {
    Family(const RecordStore& store, IpFamily family) : subnets(store, family) {}
    SubnetIndex subnets;  // leases in use
    AddressUses public_ips;
    // Two nodes' leases of each shared public IP, as TwinOf found them.
    absl::flat_hash_map<IpAddress, std::array<RecordId, 2>> twins;
    // Public IPs of leases in use that lie in Network: where a pod subnet may lie, too.
    absl::btree_set<std::pair<IpAddress, RecordId>> inner_ips;
    std::vector<RecordId> waiting;
    bool freed = false;   // a lease in use was removed: a waiting one may now be admitted
    StateCounts alone{};  // states of JudgeAlone
    // Subnets whose holder may have changed since DrainChanges, and the peer that was reported for
    // each of them then (empty: none).
    absl::flat_hash_map<IpPrefix, std::optional<Peer>> changed;
    bool tracking = false;  // DrainChanges or DropChanges was called: the sinks have the leases
    StateCounts counts{};
    std::uint64_t counted_at = 0;  // generation of `counts`; zero: never
    // Whether every lease's state is the one that JudgeAlone returned.
    bool is_plain() const { return !subnets.has_many_lengths() && !public_ips.any_shared(); }
  };
  struct Key {
    Key(std::string_view its_name, bool has_uuid, std::string_view its_uid);
    explicit Key(const PackedLease& lease);
    bool Matches(const PackedLease& lease) const;
    std::string_view name, uid;
    bool is_uuid;
    std::uint32_t hash;  // of the name: its UID changes seldom enough
  };
  // Why a Node is refused or has not joined. It may have a lease as well.
  struct Remark {
    std::string uid;
    std::string reason;
    bool reported = false;  // since BeginSnapshot
  };
  using Remarks = std::map<std::string, Remark, std::less<>>;  // by name
  // The subnet of each half that was in use, before the lease changed.
  using Used = std::array<std::optional<IpPrefix>, 2>;
  // Why Admit is called: the source reported the lease; the same, with the subnet that it had in
  // use; or a lease that it conflicted with was removed.
  enum class Arrival : std::uint8_t { kNew, kStays, kWaited };

  PackedLease Read(RecordId lease) const { return PackedLease(store_.At(lease)); }
  void ForEach(const auto& visit) const {
    ++scans_;
    store_.ForEach([](const char* at) { return PackedLease(at).size(); }, visit);
  }
  RecordId Find(const NodeKey& node) const;
  bool Put(const Lease& lease);
  void Forget(RecordId lease);
  void Mark(RecordId lease, bool reported);
  void Sweep(absl::FunctionRef<void(const NodeKey&)> gone);
  // False if nothing changed.
  bool PutRemark(Remarks& remarks, const NodeKey& node, const std::string& reason);
  bool EraseRemarks(const NodeKey& node);
  // The Node was reported as something else. True if its remark is erased.
  bool Supersede(Remarks& remarks, const std::string& name);
  // `lease` completed by the last complete half of each family that omits its MAC, and the last one
  // of a family that could not be read; empty: nothing to complete.
  std::optional<Lease> Completed(const Lease& lease, const Key& key) const;
  // Adds to and removes from the indices, under the current identity.
  void Index(RecordId record, const Lease& lease, const Used& used);
  Used Unindex(RecordId record);
  // For a complete lease: returns `alone` and puts it in use, or returns the state it waits in.
  PeerState Admit(RecordId record, IpFamily family, PeerState alone, Arrival arrival);
  // Takes the lease out of use.
  void Drop(RecordId record, IpFamily family);
  // Drop, and adds the lease to `waiting`.
  void Evict(RecordId record, IpFamily family, PeerState state);
  // Admits the waiting leases that have no conflict any more.
  void AdmitWaiting();
  void SetState(RecordId record, IpFamily family, PeerState state);
  // Call before a lease for `subnet` is put in use, or is taken out of use (then `record` is it).
  void Note(IpFamily family, const IpPrefix& subnet, RecordId record);
  bool LiesInNetwork(const IpAddress& address) const;
  // Leases in use that conflict, or kNoRecord: the one around `subnet`, if `subnet` is smaller than
  // ours; one whose subnet contains `address`, the longest.
  RecordId Around(const IpPrefix& subnet) const;
  RecordId SubnetOf(const IpAddress& address) const;
  // One whose subnet contains the public IP of `lease` and is used nevertheless; one whose public
  // IP lies in the subnet of `lease` and precludes that, or does not.
  RecordId StrongerAround(const PackedLease& lease, IpFamily family) const;
  RecordId Inside(const PackedLease& lease, IpFamily family, bool precluding) const;
  // Ignores other leases.
  PeerState JudgeAlone(const PackedLease& lease, const IpPrefix& subnet) const;
  PeerState Judge(RecordId lease, IpFamily family) const;
  std::vector<RecordId> InOrder(std::vector<RecordId> leases) const;
  // A lease of another node with the public IP of `lease`, or kNoRecord. O(n) at the first call,
  // and after one of the two leases in `twins` changed.
  RecordId TwinOf(const PackedLease& lease, IpFamily family) const;
  LeaseRow RowOf(RecordId lease, IpFamily family, bool explained = true) const;
  std::string Explain(const PackedLease& lease, const FamilyLease& half, PeerState state) const;
  std::string ExplainOverlap(const PackedLease& lease, const FamilyLease& half) const;
  std::string ExplainPublicIp(const PackedLease& lease, const FamilyLease& half) const;
  // Why other nodes refuse our own lease, as published; empty: they do not.
  std::string ExplainSelf(const PackedLease& lease, const FamilyLease& half) const;
  Family& of(IpFamily family) { return families_[static_cast<std::size_t>(family)]; }
  const Family& of(IpFamily family) const { return families_[static_cast<std::size_t>(family)]; }

  OwnIdentity own_;
  const Now now_;
  bool is_vxlan_;
  RecordStore store_;
  RecordSet<Key> nodes_;
  std::size_t reported_count_ = 0;  // leases that are marked as reported
  bool in_snapshot_ = false;
  mutable std::array<Family, 2> families_;
  Remarks refused_, not_joined_;
  std::uint64_t generation_ = 1, readiness_changes_ = 0;
  mutable std::size_t scans_ = 0;
  std::string packed_;  // the lease that was reported last; kept for its memory
};

}  // namespace weft::lease
