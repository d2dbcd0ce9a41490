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
  std::string detail;  // one sentence: what is wrong and what to do; empty when usable or self
};

// How many family-halves are in each state, indexed by PeerState.
using StateCounts = std::array<std::size_t, kPeerStates>;

// Nodes other than our own that should be reached, and those whose every half is usable.
struct PeerCounts {
  std::size_t all = 0;
  std::size_t usable = 0;
};

// One thread (control). A change costs O(1), and nothing is allocated when it is none; 100,000
// leases are meant, about 110 bytes each. Order is made when it is asked for.
//
// A lease is *complete* when nothing is wrong with it by itself (JudgeAlone). A complete lease is
// *in use* unless it is in conflict with one in use; then it waits until that one goes or changes.
//
// What a Node says of itself is its own word, and must not cost another Node its pods: once sinks
// were given the leases in use, a newcomer that is in conflict with one waits, whatever it says.
// Until then no lease is protected; of two in conflict this one waits: of two with one subnet the
// newer; the one whose public IP lies in the other's subnet; the one inside the other's subnet, if
// its subnet is smaller than our own (a wider one takes nothing from those inside it). A Node that
// was made again under its name takes its own place.
//
// A half whose backend-data leaves out the MAC that the same Node (name, UID, backend, VNI, subnet)
// had published changes nothing, as it changes nothing for upstream's peers: the last complete one
// is kept, public IP included, until another comes. An annotation that is taken away does.
class LeaseTable {
 public:
  // Unix seconds.
  using Now = std::function<std::int64_t()>;

  // `now`: the system's time unless given.
  explicit LeaseTable(OwnIdentity own = {}, Now now = nullptr);
  LeaseTable(const LeaseTable&) = delete;
  LeaseTable& operator=(const LeaseTable&) = delete;

  // Judges every lease again. O(n). A lease in use that fails only because this host or Network
  // changed stays in use as kHostChanged.
  void SetOwn(OwnIdentity own);
  const OwnIdentity& own() const { return own_; }

  // What is told from here to EndSnapshot is all there is. Begun again: counted again; what the one
  // that was cut short told stays. O(n).
  void BeginSnapshot();
  // Takes out what was not told since BeginSnapshot, except that a refused node keeps the lease it
  // had under its UID: it is still there, only not readable now. True when that changed anything.
  // O(n) if so.
  bool EndSnapshot();
  // Adds or replaces by key. True when something differs by value.
  bool Upsert(const Lease& lease);
  // True when it was there.
  bool Remove(const NodeKey& node);
  // Keeps the node's lease if there is one. A later Upsert or Remove of that name, or a snapshot
  // that does not refuse it last, ends it. True unless it is known already.
  bool Refuse(const RefusedNode& node);
  // The same for a Node without lease; it takes none away.
  bool SetNotJoined(const NotJoinedNode& node);

  // What became true for the sinks since the last call for this family; the first time, everything.
  PeerChanges TakeChanges(IpFamily family);
  // As if all changes of both families had been taken, for who goes by Snapshot.
  void DropChanges();
  // Everything usable now, ordered by subnet. Does not touch what TakeChanges will say.
  std::vector<Peer> Snapshot(IpFamily family) const;

  std::size_t size() const { return nodes_.size(); }
  // Moves with every change of the leases, the refused nodes or our identity.
  std::uint64_t generation() const { return generation_; }
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
  // By node; a refused one without a lease counts. O(n).
  PeerCounts Peers() const;
  // Ordered by name.
  std::vector<RefusedNode> Refused() const;
  std::vector<NotJoinedNode> NotJoined() const;
  std::size_t refused() const { return refused_.size(); }
  std::size_t not_joined() const { return not_joined_.size(); }
  // A Node that is called so but for the case of its letters; empty: none. O(n).
  std::string NameInOtherCase(std::string_view name) const;

 private:
  static constexpr std::array kFamilies = {IpFamily::kV4, IpFamily::kV6};

  // What differs between the families.
  struct Family {
    Family(const RecordStore& store, IpFamily family) : subnets(store, family) {}
    SubnetIndex subnets;  // leases in use
    AddressUses public_ips;
    // Public IPs of leases in use that lie in Network: where a pod subnet may lie, too.
    absl::btree_set<std::pair<IpAddress, RecordId>> inner_ips;
    std::vector<RecordId> waiting;
    bool freed = false;   // a lease in use went: one that waits may find room
    StateCounts alone{};  // states of JudgeAlone
    // Subnets that another or nobody may hold since TakeChanges, and what was told of them then
    // (empty: nobody).
    absl::flat_hash_map<IpPrefix, std::optional<Peer>> told;
    bool telling = false;  // TakeChanges or DropChanges was called
    StateCounts counts{};
    std::uint64_t counted_at = 0;  // generation of `counts`; zero: never
    // Whether every lease's state is that of JudgeAlone.
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
  // Of a Node that is shown without a lease, or next to it.
  struct Remark {
    std::string uid;
    std::string reason;
    bool told = false;  // since BeginSnapshot
  };
  using Remarks = std::map<std::string, Remark, std::less<>>;  // by name
  // The subnet of each half that was in use, before the lease changed.
  using Used = std::array<std::optional<IpPrefix>, 2>;
  // How a lease comes to Admit: from the source; the same with the subnet that it had in use; or
  // because one it was in conflict with went.
  enum class Arrival : std::uint8_t { kNew, kStays, kWaited };

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
  // False: it stands there already.
  bool PutRemark(Remarks& remarks, const NodeKey& node, const std::string& reason);
  bool EraseRemarks(const NodeKey& node);
  // The Node is something else now. True: it is erased.
  bool Supersede(Remarks& remarks, const std::string& name);
  // `lease` with what it leaves out as it was last complete; empty: it leaves out nothing that was.
  std::optional<Lease> Completed(const Lease& lease, const Key& key) const;
  // Into and out of the indices, under the present identity.
  void Index(RecordId record, const Lease& lease, const Used& used);
  Used Unindex(RecordId record);
  // What a complete lease is: `alone`, and in use from now on, or the state it waits in.
  PeerState Admit(RecordId record, IpFamily family, PeerState alone, Arrival arrival);
  // Out of use.
  void Drop(RecordId record, IpFamily family);
  // The same, and into `waiting`.
  void Evict(RecordId record, IpFamily family, PeerState state);
  // Whoever waits and is in conflict no more.
  void AdmitWaiting();
  void SetState(RecordId record, IpFamily family, PeerState state);
  // A lease for `subnet` is about to come into use, or out of it (`record`).
  void Note(IpFamily family, const IpPrefix& subnet, RecordId record);
  bool LiesInNetwork(const IpAddress& address) const;
  // Leases in use that `subnet` is in conflict with, or kNoRecord: the one around it that a subnet
  // smaller than ours yields to; the one whose public IP lies in it; the one `address` lies in.
  RecordId Around(const IpPrefix& subnet) const;
  RecordId ContainedAddress(const IpPrefix& subnet) const;
  RecordId SubnetOf(const IpAddress& address) const;
  // Nothing of other leases.
  PeerState JudgeAlone(const PackedLease& lease, const IpPrefix& subnet) const;
  PeerState Judge(RecordId lease, IpFamily family) const;
  std::vector<RecordId> InOrder(std::vector<RecordId> leases) const;
  LeaseRow RowOf(RecordId lease, IpFamily family, PeerState state) const;
  std::string Explain(const PackedLease& lease, const FamilyLease& half, PeerState state) const;
  std::string ExplainOverlap(const PackedLease& lease, const FamilyLease& half) const;
  std::string ExplainPublicIp(const FamilyLease& half) const;
  Family& of(IpFamily family) { return families_[static_cast<std::size_t>(family)]; }
  const Family& of(IpFamily family) const { return families_[static_cast<std::size_t>(family)]; }

  OwnIdentity own_;
  const Now now_;
  bool is_vxlan_;
  RecordStore store_;
  RecordSet<Key> nodes_;
  std::size_t told_count_ = 0;  // leases that are marked as told
  bool in_snapshot_ = false;
  mutable std::array<Family, 2> families_;
  Remarks refused_, not_joined_;
  std::uint64_t generation_ = 1;
  std::string packed_;  // of the lease that was told last
};

}  // namespace weft::lease
