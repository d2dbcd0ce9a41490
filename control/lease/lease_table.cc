// SPDX-License-Identifier: Apache-2.0
// What the table is told. What it tells: lease_table_view.cc.
#include "control/lease/lease_table.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/match.h"

namespace weft::lease {
namespace {

bool IsVxlan(const OwnIdentity& own) { return absl::EqualsIgnoreCase(own.backend_type, "vxlan"); }

bool IsComplete(PeerState alone) {
  return alone == PeerState::kUsable || alone == PeerState::kOutsideNetwork;
}

}  // namespace

LeaseTable::Key::Key(std::string_view its_name, bool has_uuid, std::string_view its_uid)
    : name(its_name),
      uid(its_uid),
      is_uuid(has_uuid),
      hash(static_cast<std::uint32_t>(absl::HashOf(name))) {}

LeaseTable::Key::Key(const PackedLease& lease)
    : Key(lease.name(), lease.has_uuid(), lease.uid_octets()) {}

bool LeaseTable::Key::Matches(const PackedLease& lease) const {
  return lease.name() == name && lease.has_uuid() == is_uuid && lease.uid_octets() == uid;
}

LeaseTable::LeaseTable(OwnIdentity own)
    : own_(std::move(own)),
      is_vxlan_(IsVxlan(own_)),
      nodes_(store_),
      families_{Family(store_, IpFamily::kV4), Family(store_, IpFamily::kV6)} {}

void LeaseTable::SetOwn(OwnIdentity own) {
  if (own == own_) return;
  // Our PodCIDR is known last, and then all else is what it was: only who overlaps it, or did, is
  // judged anew.
  OwnIdentity moved = own_;
  moved.v4.subnet = own.v4.subnet;
  moved.v6.subnet = own.v6.subnet;
  const bool only_moved = moved == own;
  const auto overlaps = [](const PackedLease& lease, const std::optional<IpPrefix>& subnet) {
    return subnet && lease.OverlapsSubnet(*subnet);
  };
  const OwnIdentity was = std::exchange(own_, std::move(own));
  is_vxlan_ = IsVxlan(own_);
  ++generation_;
  ForEach([&](RecordId record) {
    const PackedLease lease = Read(record);
    for (const IpFamily family : kFamilies) {
      if (!lease.has(family)) continue;
      if (only_moved && !overlaps(lease, was.of(family).subnet) &&
          !overlaps(lease, own_.of(family).subnet))
        continue;
      const PeerState before = lease.alone(family);
      const IpPrefix subnet = lease.subnet(family);
      const PeerState after = JudgeAlone(lease, subnet);
      if (before == after) continue;
      Family& mine = of(family);
      --mine.alone[static_cast<std::size_t>(before)];
      ++mine.alone[static_cast<std::size_t>(after)];
      SetAlone(store_.At(record), family, after);
      if (IsComplete(before) == IsComplete(after)) continue;
      Note(family, IsComplete(after) ? mine.subnets.Add(record) : mine.subnets.Remove(record),
           subnet);
    }
  });
}

void LeaseTable::BeginSnapshot() {
  in_snapshot_ = true;
  if (told_count_ > 0) {
    ForEach([this](RecordId lease) { Mark(lease, false); });
  }
  for (auto& [name, refusal] : refused_) refusal.told = false;
}

bool LeaseTable::EndSnapshot() {
  if (!in_snapshot_) return false;
  in_snapshot_ = false;
  const std::size_t before = nodes_.size() + refused_.size();
  std::erase_if(refused_, [](const auto& at) { return !at.second.told; });
  if (told_count_ < nodes_.size()) Sweep();
  if (nodes_.size() + refused_.size() == before) return false;
  ++generation_;
  return true;
}

void LeaseTable::Sweep() {
  // Names that are refused, and told as a lease too: the lease counts.
  absl::flat_hash_set<std::string_view> readable;
  if (!refused_.empty()) {
    ForEach([&](RecordId record) {
      const PackedLease lease = Read(record);
      if (!lease.told()) return;
      if (const auto at = refused_.find(lease.name()); at != refused_.end())
        readable.insert(at->first);
    });
  }
  ForEach([&](RecordId record) {
    const PackedLease lease = Read(record);
    if (lease.told()) return;
    const bool kept =
        !refused_.empty() && refused_.contains(lease.name()) && !readable.contains(lease.name());
    if (!kept) Forget(record);
  });
}

bool LeaseTable::Upsert(const Lease& lease) {
  bool was_refused = false;
  if (!refused_.empty()) {
    if (const auto at = refused_.find(lease.node.name); at != refused_.end()) {
      // Within a snapshot it may still be told again: a name that stands there twice.
      at->second.told = false;
      if (!in_snapshot_) {
        refused_.erase(at);
        was_refused = true;
      }
    }
  }
  const bool changed = Put(lease);
  if (changed || was_refused) ++generation_;
  return changed;
}

bool LeaseTable::Remove(const NodeKey& node) {
  const bool was_refused = refused_.erase(node.name) > 0;
  const RecordId lease = Find(node);
  if (lease != kNoRecord) Forget(lease);
  if (was_refused || lease != kNoRecord) ++generation_;
  return lease != kNoRecord;
}

bool LeaseTable::Refuse(const RefusedNode& node) {
  const auto [at, is_new] = refused_.try_emplace(node.name);
  Refusal& refusal = at->second;
  refusal.told = true;
  if (!is_new && refusal.reason == node.reason) return false;
  refusal.reason = node.reason;
  ++refused_total_;
  ++generation_;
  return true;
}

RecordId LeaseTable::Find(const NodeKey& node) const {
  const PackedUid uid(node.uid);
  return nodes_.Find(Key(node.name, uid.is_uuid(), uid.octets()));
}

bool LeaseTable::Put(const Lease& lease) {
  const PackedUid uid(lease.node.uid);
  const Key key(lease.node.name, uid.is_uuid(), uid.octets());
  nodes_.Prefetch(key);
  Pack(lease, uid, packed_);
  const PackedLease wanted(packed_.data());
  for (const IpFamily family : kFamilies) {
    const auto& half = lease.of(family);
    if (!half) continue;
    of(family).subnets.Prefetch(wanted);
    if (half->public_ip) of(family).public_ips.Prefetch(*half->public_ip);
  }
  bool is_new = false;
  const auto& slot = nodes_.FindOrAdd(key, [&] {
    is_new = true;
    return store_.Add(packed_);
  });
  if (!is_new) {
    const PackedLease known = Read(slot.record);
    if (known.value() == wanted.value()) {
      if (in_snapshot_) Mark(slot.record, true);
      return false;
    }
    Unindex(slot.record);
    if (known.told()) --told_count_;
    slot.record = store_.Replace(slot.record, known.size(), packed_);
  }
  Index(slot.record, lease);
  if (in_snapshot_) Mark(slot.record, true);
  return true;
}

void LeaseTable::Forget(RecordId lease) {
  nodes_.Erase(Key(Read(lease)));
  Unindex(lease);
  Mark(lease, false);
  store_.Remove(lease, Read(lease).size());
}

void LeaseTable::Mark(RecordId lease, bool told) {
  if (Read(lease).told() == told) return;
  SetTold(store_.At(lease), told);
  told_count_ += told ? 1 : std::size_t{0} - 1;
}

// `lease` is what the record holds, told twice so that nothing need be unpacked.
void LeaseTable::Index(RecordId record, const Lease& lease) {
  for (const IpFamily family : kFamilies) {
    const auto& half = lease.of(family);
    if (!half) continue;
    Family& mine = of(family);
    const PeerState alone = JudgeAlone(Read(record), half->subnet);
    SetAlone(store_.At(record), family, alone);
    ++mine.alone[static_cast<std::size_t>(alone)];
    if (half->public_ip) mine.public_ips.Add(*half->public_ip);
    if (IsComplete(alone)) Note(family, mine.subnets.Add(record), half->subnet);
  }
}

void LeaseTable::Unindex(RecordId record) {
  const PackedLease lease = Read(record);
  for (const IpFamily family : kFamilies) {
    if (!lease.has(family)) continue;
    Family& mine = of(family);
    const PeerState alone = lease.alone(family);
    --mine.alone[static_cast<std::size_t>(alone)];
    if (const auto address = lease.public_ip(family)) mine.public_ips.Remove(*address);
    if (IsComplete(alone)) {
      const IpPrefix subnet = lease.subnet(family);
      Note(family, mine.subnets.Remove(record), subnet);
    }
  }
}

PeerState LeaseTable::JudgeAlone(const PackedLease& lease, const IpPrefix& subnet) const {
  const IpFamily family = subnet.family();
  if (!own_.node_name.empty() && lease.name() == own_.node_name) return PeerState::kSelf;
  const std::string_view backend = lease.backend_type();
  if (backend != own_.backend_type && !absl::EqualsIgnoreCase(backend, own_.backend_type))
    return PeerState::kForeignBackend;
  if (!lease.has_public_ip(family)) return PeerState::kMissingPublicIp;
  if (is_vxlan_) {
    if (!lease.has_vtep_mac(family)) return PeerState::kMissingMac;
    if (lease.vni(family) != own_.vni.value()) return PeerState::kVniMismatch;
  }
  const OwnFamily& own = own_.of(family);
  if (own.subnet && own.subnet->Overlaps(subnet)) return PeerState::kOverlap;
  if (own.network && !own.network->Contains(subnet)) return PeerState::kOutsideNetwork;
  return PeerState::kUsable;
}

}  // namespace weft::lease
