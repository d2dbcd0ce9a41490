// SPDX-License-Identifier: Apache-2.0
// Changes to the table. Its results: lease_table_view.cc.
#include "control/lease/lease_table.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "control/lease/host_claims.h"

namespace weft::lease {
namespace {

bool IsVxlan(std::string_view backend) { return absl::EqualsIgnoreCase(backend, "vxlan"); }

// In the state of a record: the lease is in use.
bool IsComplete(PeerState alone) {
  return alone == PeerState::kUsable || alone == PeerState::kKeptLease ||
         alone == PeerState::kHostChanged;
}

// The state follows from this host, not from the Node.
bool IsOfHost(PeerState alone) {
  return alone == PeerState::kHostConflict || alone == PeerState::kOutsideNetwork;
}

// How often the waiting leases are judged again: the longest chain of conflicts that one change
// resolves. Leases whose addresses lie in each other's subnets in a circle would never end.
constexpr int kMostPasses = 16;

std::int64_t SystemTime() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

}  // namespace

LeaseTable::Key::Key(std::string_view its_name, bool has_uuid, std::string_view its_uid)
    : name(its_name),
      uid(its_uid),
      is_uuid(has_uuid),
      hash(static_cast<std::uint32_t>(absl::HashOf(name))) {}

LeaseTable::Key::Key(const PackedLease& lease)
    : Key(lease.name(), lease.has_uuid(), lease.uid_bytes()) {}

bool LeaseTable::Key::Matches(const PackedLease& lease) const {
  return lease.name() == name && lease.has_uuid() == is_uuid && lease.uid_bytes() == uid;
}

LeaseTable::LeaseTable(OwnIdentity own, Now now)
    : own_(std::move(own)),
      now_(now ? std::move(now) : SystemTime),
      is_vxlan_(IsVxlan(own_.backend_type)),
      nodes_(store_),
      families_{Family(store_, IpFamily::kV4), Family(store_, IpFamily::kV6)} {}

void LeaseTable::SetOwn(OwnIdentity own) {
  if (own == own_) return;
  // At startup our PodCIDR is known last, and nothing else changes then: only leases that the new
  // or the former PodCIDR affects are judged again.
  OwnIdentity moved = own_;
  moved.v4.subnet = own.v4.subnet;
  moved.v6.subnet = own.v6.subnet;
  const bool only_moved = moved == own;
  const OwnIdentity was = std::exchange(own_, std::move(own));
  is_vxlan_ = IsVxlan(own_.backend_type);
  ++generation_;
  // Whether our PodCIDR `ours` affects the lease.
  const auto affects = [](const PackedLease& lease, const std::optional<IpPrefix>& ours,
                          IpFamily family) {
    if (!ours) return false;
    const std::optional<IpAddress> address = lease.public_ip(family);
    return lease.OverlapsSubnet(*ours) || (address && ours->Contains(*address)) ||
           lease.subnet(family).length() > ours->length();
  };
  std::array<std::vector<RecordId>, 2> waited;
  for (const IpFamily family : kFamilies) {
    Family& mine = of(family);
    std::swap(waited[static_cast<std::size_t>(family)], mine.waiting);
    mine.freed = true;
    if (was.of(family).network != own_.of(family).network) mine.inner_ips.clear();
  }
  ForEach([&](RecordId record) {
    const PackedLease lease = Read(record);
    for (const IpFamily family : kFamilies) {
      if (!lease.has(family)) continue;
      Family& mine = of(family);
      if (only_moved && waited[static_cast<std::size_t>(family)].empty() &&
          !affects(lease, was.of(family).subnet, family) &&
          !affects(lease, own_.of(family).subnet, family))
        continue;
      const bool used = IsComplete(lease.alone(family));
      const IpPrefix subnet = lease.subnet(family);
      PeerState after = JudgeAlone(lease, subnet);
      if (used && mine.tracking && IsOfHost(after)) after = PeerState::kHostChanged;
      if (used && IsComplete(after) && (mine.tracking || Around(subnet) == kNoRecord)) {
        SetState(record, family, after);
      } else {
        if (used) Drop(record, family);
        // A complete lease is decided below, together with all that wait.
        SetState(record, family, IsComplete(after) ? PeerState::kOverlap : after);
        if (IsComplete(after)) mine.waiting.push_back(record);
      }
    }
  });
  for (const IpFamily family : kFamilies) {
    Family& mine = of(family);
    if (was.of(family).network == own_.of(family).network) continue;
    mine.subnets.ForEachHolder([&](RecordId record) {
      const IpAddress address = *Read(record).public_ip(family);
      if (LiesInNetwork(address)) mine.inner_ips.emplace(address, record);
    });
  }
  AdmitWaiting();
}

void LeaseTable::BeginSnapshot() {
  in_snapshot_ = true;
  if (reported_count_ > 0) {
    ForEach([this](RecordId lease) { Mark(lease, false); });
  }
  for (Remarks* const remarks : {&refused_, &not_joined_})
    for (auto& [name, remark] : *remarks) remark.reported = false;
}

bool LeaseTable::EndSnapshot(absl::FunctionRef<void(const NodeKey&)> gone) {
  if (!in_snapshot_) return false;
  in_snapshot_ = false;
  const std::size_t before = nodes_.size() + refused_.size() + not_joined_.size();
  for (Remarks* const remarks : {&refused_, &not_joined_})
    std::erase_if(*remarks, [](const auto& at) { return !at.second.reported; });
  if (reported_count_ < nodes_.size()) Sweep(gone);
  if (nodes_.size() + refused_.size() + not_joined_.size() == before) return false;
  ++generation_;
  return true;
}

void LeaseTable::Sweep(absl::FunctionRef<void(const NodeKey&)> gone) {
  // Names that were reported both as refused and with a lease: the lease counts.
  absl::flat_hash_set<std::string_view> readable;
  if (!refused_.empty()) {
    ForEach([&](RecordId record) {
      const PackedLease lease = Read(record);
      if (!lease.reported()) return;
      if (const auto at = refused_.find(lease.name()); at != refused_.end())
        readable.insert(at->first);
    });
  }
  ForEach([&](RecordId record) {
    const PackedLease lease = Read(record);
    if (lease.reported()) return;
    const auto refusal = refused_.empty() ? refused_.end() : refused_.find(lease.name());
    const bool kept = refusal != refused_.end() && !readable.contains(lease.name()) &&
                      (refusal->second.uid.empty() || refusal->second.uid == lease.node().uid);
    if (kept) return;
    gone(lease.node());
    Forget(record);
  });
  AdmitWaiting();
}

bool LeaseTable::Upsert(const Lease& lease) {
  // The refusal of a half is reported next.
  const bool is_half = lease.unread && own_.of(*lease.unread).enabled;
  const bool was_refused = !is_half && Supersede(refused_, lease.node.name);
  const bool was_remarked = Supersede(not_joined_, lease.node.name) || was_refused;
  const bool changed = Put(lease);
  if (changed || was_remarked) ++generation_;
  return changed;
}

bool LeaseTable::Supersede(Remarks& remarks, const std::string& name) {
  if (remarks.empty()) return false;
  const auto at = remarks.find(name);
  if (at == remarks.end()) return false;
  // Within a snapshot it may be reported again: a name that occurs there twice.
  at->second.reported = false;
  if (!in_snapshot_) remarks.erase(at);
  return !in_snapshot_;
}

bool LeaseTable::Remove(const NodeKey& node) {
  const bool was_remarked = EraseRemarks(node);
  const RecordId lease = Find(node);
  if (lease != kNoRecord) {
    Forget(lease);
    AdmitWaiting();
  }
  if (was_remarked || lease != kNoRecord) ++generation_;
  return lease != kNoRecord;
}

bool LeaseTable::EraseRemarks(const NodeKey& node) {
  bool erased = false;
  for (Remarks* const remarks : {&refused_, &not_joined_}) {
    const auto at = remarks->find(node.name);
    // Deleting a Node keeps the remark of a newer Node with the same name.
    if (at == remarks->end() ||
        (!node.uid.empty() && !at->second.uid.empty() && at->second.uid != node.uid))
      continue;
    remarks->erase(at);
    erased = true;
  }
  return erased;
}

bool LeaseTable::PutRemark(Remarks& remarks, const NodeKey& node, const std::string& reason) {
  const auto [at, is_new] = remarks.try_emplace(node.name);
  Remark& remark = at->second;
  remark.reported = true;
  if (!is_new && remark.reason == reason && remark.uid == node.uid) return false;
  remark.reason = reason;
  remark.uid = node.uid;
  ++generation_;
  return true;
}

bool LeaseTable::Refuse(const RefusedNode& node) {
  if (node.half && !own_.of(*node.half).enabled) return false;
  Supersede(not_joined_, node.name);
  return PutRemark(refused_, {node.name, node.uid}, node.reason);
}

bool LeaseTable::SetNotJoined(const NotJoinedNode& node) {
  Supersede(refused_, node.node.name);
  return PutRemark(not_joined_, node.node, node.reason);
}

RecordId LeaseTable::Find(const NodeKey& node) const {
  const PackedUid uid(node.uid);
  return nodes_.Find(Key(node.name, uid.is_uuid(), uid.bytes()));
}

bool LeaseTable::Put(const Lease& reported) {
  const PackedUid uid(reported.node.uid);
  const Key key(reported.node.name, uid.is_uuid(), uid.bytes());
  nodes_.Prefetch(key);
  const std::optional<Lease> completed = Completed(reported, key);
  const Lease& lease = completed ? *completed : reported;
  Pack(lease, uid, packed_);
  const PackedLease desired(packed_.data());
  for (const IpFamily family : kFamilies) {
    const auto& half = lease.of(family);
    if (!half) continue;
    of(family).subnets.Prefetch(desired);
    if (half->public_ip) of(family).public_ips.Prefetch(*half->public_ip);
  }
  bool is_new = false;
  const auto& slot = nodes_.FindOrAdd(key, [&] {
    is_new = true;
    return store_.Add(packed_);
  });
  Used used;
  if (!is_new) {
    const PackedLease known = Read(slot.record);
    if (known.value() == desired.value()) {
      if (in_snapshot_) Mark(slot.record, true);
      if (SetReadiness(store_.At(slot.record), lease.readiness)) ++readiness_changes_;
      return false;
    }
    used = Unindex(slot.record);
    if (known.reported()) --reported_count_;
    slot.record = store_.Replace(slot.record, known.size(), packed_);
  }
  Index(slot.record, lease, used);
  if (in_snapshot_) Mark(slot.record, true);
  AdmitWaiting();
  return true;
}

std::optional<Lease> LeaseTable::Completed(const Lease& lease, const Key& key) const {
  const auto leaves_out = [](const std::optional<FamilyLease>& half) {
    return half && !half->vtep_mac && half->vni;
  };
  if (!leaves_out(lease.v4) && !leaves_out(lease.v6) && !lease.unread) return std::nullopt;
  const RecordId record = nodes_.Find(key);
  if (record == kNoRecord || lease.node.name == own_.node_name) return std::nullopt;
  const PackedLease known = Read(record);
  if (!absl::EqualsIgnoreCase(known.backend_type(), lease.backend_type)) return std::nullopt;
  std::optional<Lease> completed;
  for (const IpFamily family : kFamilies) {
    const std::optional<FamilyLease>& half = lease.of(family);
    const bool unread = lease.unread == family;
    if (!known.has(family)) continue;
    if (!unread && (!leaves_out(half) || known.subnet(family) != half->subnet ||
                    !known.has_public_ip(family) || !known.has_vtep_mac(family) ||
                    known.vni(family) != half->vni))
      continue;
    if (!completed) completed = lease;
    std::optional<FamilyLease>& kept = family == IpFamily::kV4 ? completed->v4 : completed->v6;
    kept = known.half(family);
    if (!unread && !kept->kept_since) kept->kept_since = now_();
  }
  return completed;
}

void LeaseTable::Forget(RecordId lease) {
  nodes_.Erase(Key(Read(lease)));
  Unindex(lease);
  Mark(lease, false);
  store_.Remove(lease, Read(lease).size());
}

void LeaseTable::Mark(RecordId lease, bool reported) {
  if (Read(lease).reported() == reported) return;
  SetReported(store_.At(lease), reported);
  reported_count_ += reported ? 1 : std::size_t{0} - 1;
}

// `lease` is the record unpacked, passed to avoid unpacking it again.
void LeaseTable::Index(RecordId record, const Lease& lease, const Used& used) {
  for (const IpFamily family : kFamilies) {
    const auto& half = lease.of(family);
    if (!half) continue;
    Family& mine = of(family);
    const bool stays = used[static_cast<std::size_t>(family)] == half->subnet;
    PeerState alone = JudgeAlone(Read(record), half->subnet);
    if (stays && mine.tracking && IsOfHost(alone)) alone = PeerState::kHostChanged;
    if (half->public_ip) mine.public_ips.Add(*half->public_ip);
    if (IsComplete(alone))
      alone = Admit(record, family, alone, stays ? Arrival::kStays : Arrival::kNew);
    SetAlone(store_.At(record), family, alone);
    ++mine.alone[static_cast<std::size_t>(alone)];
  }
}

LeaseTable::Used LeaseTable::Unindex(RecordId record) {
  Used used;
  const PackedLease lease = Read(record);
  for (const IpFamily family : kFamilies) {
    if (!lease.has(family)) continue;
    Family& mine = of(family);
    const PeerState alone = lease.alone(family);
    --mine.alone[static_cast<std::size_t>(alone)];
    if (const auto address = lease.public_ip(family)) {
      mine.public_ips.Remove(*address);
      const auto twins = mine.twins.find(*address);
      if (twins != mine.twins.end() && std::ranges::count(twins->second, record) > 0)
        mine.twins.erase(twins);
    }
    if (IsComplete(alone)) {
      used[static_cast<std::size_t>(family)] = lease.subnet(family);
      Drop(record, family);
    } else if (!mine.waiting.empty()) {
      std::erase(mine.waiting, record);
    }
  }
  return used;
}

PeerState LeaseTable::Admit(RecordId record, IpFamily family, PeerState alone, Arrival arrival) {
  Family& mine = of(family);
  const PackedLease lease = Read(record);
  const IpPrefix subnet = lease.subnet(family);
  const IpAddress address = *lease.public_ip(family);
  const bool waited = arrival == Arrival::kWaited;
  const bool may_displace = !waited && !mine.tracking;
  const auto takes_from = [&](const PackedLease& other) {
    if (other.name() != lease.name()) return may_displace && Precedes(lease, other);
    return lease.created() > other.created() || (!waited && lease.created() == other.created());
  };
  const RecordId holder = mine.subnets.Holder(subnet);
  std::optional<PeerState> yields;
  if (holder != kNoRecord && !takes_from(Read(holder)))
    yields = PeerState::kOverlap;
  else if (StrongerAround(lease, family) != kNoRecord)
    yields = PeerState::kBadPublicIp;
  else if (arrival != Arrival::kStays && Around(subnet) != kNoRecord)
    yields = PeerState::kOverlap;
  else if (Inside(lease, family, /*precluding=*/true) != kNoRecord)
    yields = PeerState::kOverlap;
  if (yields) {
    mine.waiting.push_back(record);
    return *yields;
  }
  if (holder != kNoRecord) Evict(holder, family, PeerState::kOverlap);
  for (RecordId other = SubnetOf(address); other != kNoRecord; other = SubnetOf(address))
    Evict(other, family, PeerState::kOverlap);
  const auto inside = [&] { return Inside(lease, family, /*precluding=*/false); };
  for (RecordId other = inside(); other != kNoRecord; other = inside())
    Evict(other, family, PeerState::kBadPublicIp);
  const auto& ours = own_.of(family).subnet;
  if (may_displace && ours && subnet.length() >= ours->length()) {
    for (const RecordId other : mine.subnets.Inside(subnet))
      Evict(other, family, PeerState::kOverlap);
  }
  Note(family, subnet, kNoRecord);
  mine.subnets.Add(record);
  if (LiesInNetwork(address)) mine.inner_ips.emplace(address, record);
  return alone;
}

void LeaseTable::Drop(RecordId record, IpFamily family) {
  Family& mine = of(family);
  const PackedLease lease = Read(record);
  Note(family, lease.subnet(family), record);
  mine.subnets.Remove(record);
  if (!mine.inner_ips.empty()) mine.inner_ips.erase({*lease.public_ip(family), record});
  mine.freed = true;
}

void LeaseTable::Evict(RecordId record, IpFamily family, PeerState state) {
  Drop(record, family);
  SetState(record, family, state);
  of(family).waiting.push_back(record);
}

void LeaseTable::AdmitWaiting() {
  for (const IpFamily family : kFamilies) {
    Family& mine = of(family);
    for (int passes = 0; std::exchange(mine.freed, false) && !mine.waiting.empty(); ++passes) {
      if (passes == kMostPasses) break;
      std::vector<RecordId> waiting = std::exchange(mine.waiting, {});
      // Wider subnets first: those inside them yield.
      std::sort(waiting.begin(), waiting.end(), [&](RecordId a, RecordId b) {
        const int a_length = Read(a).subnet(family).length();
        const int b_length = Read(b).subnet(family).length();
        return a_length != b_length ? a_length < b_length : Precedes(Read(a), Read(b));
      });
      for (const RecordId record : waiting) {
        PeerState state = JudgeAlone(Read(record), Read(record).subnet(family));
        if (IsComplete(state)) state = Admit(record, family, state, Arrival::kWaited);
        SetState(record, family, state);
      }
    }
  }
}

void LeaseTable::SetState(RecordId record, IpFamily family, PeerState state) {
  Family& mine = of(family);
  --mine.alone[static_cast<std::size_t>(Read(record).alone(family))];
  ++mine.alone[static_cast<std::size_t>(state)];
  SetAlone(store_.At(record), family, state);
}

bool LeaseTable::LiesInNetwork(const IpAddress& address) const {
  const auto& network = own_.of(address.family()).network;
  return !network || network->Contains(address);
}

RecordId LeaseTable::Around(const IpPrefix& subnet) const {
  const auto& ours = own_.of(subnet.family()).subnet;
  if (!ours || subnet.length() <= ours->length()) return kNoRecord;
  return of(subnet.family()).subnets.Around(subnet, ours->length());
}

RecordId LeaseTable::StrongerAround(const PackedLease& lease, IpFamily family) const {
  RecordId around = SubnetOf(*lease.public_ip(family));
  while (around != kNoRecord && Precludes(lease, Read(around), family))
    around = of(family).subnets.Around(Read(around).subnet(family));
  return around;
}

RecordId LeaseTable::Inside(const PackedLease& lease, IpFamily family, bool precluding) const {
  const IpPrefix subnet = lease.subnet(family);
  const auto& inner = of(family).inner_ips;
  for (auto at = inner.lower_bound({subnet.base(), kNoRecord});
       at != inner.end() && subnet.Contains(at->first); ++at) {
    if (Precludes(Read(at->second), lease, family) == precluding) return at->second;
  }
  return kNoRecord;
}

RecordId LeaseTable::SubnetOf(const IpAddress& address) const {
  const Family& mine = of(address.family());
  // Only a lease in the state kHostChanged may lie outside Network.
  if (mine.alone[static_cast<std::size_t>(PeerState::kHostChanged)] == 0 && !LiesInNetwork(address))
    return kNoRecord;
  return mine.subnets.Around(address);
}

PeerState LeaseTable::JudgeAlone(const PackedLease& lease, const IpPrefix& subnet) const {
  const IpFamily family = subnet.family();
  const OwnFamily& own = own_.of(family);
  if (!own_.node_name.empty() && lease.name() == own_.node_name) return PeerState::kSelf;
  if (!own.enabled) return PeerState::kFamilyOff;
  const std::string_view backend = lease.backend_type();
  if (backend != own_.backend_type && !absl::EqualsIgnoreCase(backend, own_.backend_type))
    return PeerState::kForeignBackend;
  if (!lease.has_public_ip(family)) return PeerState::kMissingPublicIp;
  if (is_vxlan_) {
    if (!lease.has_vtep_mac(family)) return PeerState::kMissingMac;
    if (lease.vni(family) != own_.vni.value()) return PeerState::kVniMismatch;
  }
  if (own.subnet && own.subnet->Overlaps(subnet)) return PeerState::kOverlap;
  if (ReservedRange(subnet)) return PeerState::kReservedRange;
  const IpAddress address = *lease.public_ip(family);
  if (!IsNodeAddress(address) || subnet.Contains(address) ||
      (own.subnet && own.subnet->Contains(address)) ||
      FindClaim(own.addresses, *IpPrefix::From(address, address.bits())) != nullptr)
    return PeerState::kBadPublicIp;
  if (FindClaim(own.claims, subnet) != nullptr) return PeerState::kHostConflict;
  if (own.network && !own.network->Contains(subnet)) return PeerState::kOutsideNetwork;
  if (lease.is_kept(family)) return PeerState::kKeptLease;
  return FindClaim(own.addresses, subnet) ? PeerState::kHostChanged : PeerState::kUsable;
}

}  // namespace weft::lease
