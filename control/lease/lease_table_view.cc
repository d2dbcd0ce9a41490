// SPDX-License-Identifier: Apache-2.0
// What the table tells: sinks what changed, people what is there.
#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/lease/lease_table.h"
#include "control/lease/quoted.h"

namespace weft::lease {
namespace {

bool IsRemarkable(PeerState state) {
  return state != PeerState::kUsable && state != PeerState::kSelf;
}

// `lease` is complete.
Peer PeerOf(const PackedLease& lease, IpFamily family) {
  const FamilyLease half = lease.half(family);
  return {std::string(lease.name()), half.subnet, *half.public_ip,
          half.vtep_mac.value_or(MacAddress())};
}

// Compares as subnets do, and faster: base, then length.
using SubnetOrder = std::tuple<std::uint64_t, std::uint64_t, int>;

SubnetOrder OrderOf(const IpPrefix& subnet) {
  const IpAddress& base = subnet.base();
  if (base.is_v4()) return {base.v4(), 0, subnet.length()};
  const std::byte* const octets = base.octets().data();
  return {LoadBe64(octets), LoadBe64(octets + 8), subnet.length()};
}

}  // namespace

void LeaseTable::Note(IpFamily family, const SubnetIndex::Change& change, const IpPrefix& subnet) {
  Family& mine = of(family);
  if (!mine.telling || change.before == change.after) return;
  const auto [at, is_new] = mine.told.try_emplace(subnet);
  if (is_new && change.before != kNoRecord) at->second = PeerOf(Read(change.before), family);
}

PeerChanges LeaseTable::TakeChanges(IpFamily family) {
  PeerChanges changes;
  Family& mine = of(family);
  if (!std::exchange(mine.telling, true)) {
    changes.upserts = Snapshot(family);
    return changes;
  }
  for (const auto& [subnet, told] : mine.told) {
    const RecordId holder = mine.subnets.Holder(subnet);
    if (holder == kNoRecord) {
      if (told) changes.removals.push_back(subnet);
      continue;
    }
    Peer now = PeerOf(Read(holder), family);
    if (told != now) changes.upserts.push_back(std::move(now));
  }
  mine.told.clear();
  std::sort(changes.upserts.begin(), changes.upserts.end(),
            [](const Peer& a, const Peer& b) { return a.subnet < b.subnet; });
  std::sort(changes.removals.begin(), changes.removals.end());
  return changes;
}

void LeaseTable::DropChanges() {
  for (Family& family : families_) {
    family.telling = true;
    family.told.clear();
  }
}

std::vector<Peer> LeaseTable::Snapshot(IpFamily family) const {
  const SubnetIndex& subnets = of(family).subnets;
  std::vector<std::pair<SubnetOrder, RecordId>> holders;
  holders.reserve(subnets.size());
  subnets.ForEachHolder(
      [&](RecordId holder) { holders.emplace_back(OrderOf(Read(holder).subnet(family)), holder); });
  std::sort(holders.begin(), holders.end());
  std::vector<Peer> peers;
  peers.reserve(holders.size());
  for (const auto& [order, holder] : holders) peers.push_back(PeerOf(Read(holder), family));
  return peers;
}

std::optional<PeerState> LeaseTable::StateOf(const NodeKey& node, IpFamily family) const {
  const RecordId lease = Find(node);
  if (lease == kNoRecord || !Read(lease).has(family)) return std::nullopt;
  return Judge(lease, family);
}

std::vector<LeaseRow> LeaseTable::Rows() const {
  std::vector<RecordId> all;
  all.reserve(nodes_.size());
  ForEach([&all](RecordId lease) { all.push_back(lease); });
  std::vector<LeaseRow> rows;
  rows.reserve(nodes_.size());
  for (const RecordId lease : InOrder(std::move(all))) {
    for (const IpFamily family : kFamilies) {
      if (Read(lease).has(family)) rows.push_back(RowOf(lease, family, Judge(lease, family)));
    }
  }
  return rows;
}

std::vector<LeaseRow> LeaseTable::RowsOf(const NodeKey& node) const {
  std::vector<LeaseRow> rows;
  const RecordId lease = Find(node);
  if (lease == kNoRecord) return rows;
  for (const IpFamily family : kFamilies) {
    if (Read(lease).has(family)) rows.push_back(RowOf(lease, family, Judge(lease, family)));
  }
  return rows;
}

void LeaseTable::ForEachRemarkable(absl::FunctionRef<void(const LeaseRow&)> visit) const {
  const auto remarkable = [this](RecordId lease, IpFamily family) {
    return Read(lease).has(family) && IsRemarkable(Judge(lease, family));
  };
  const bool none = std::all_of(kFamilies.begin(), kFamilies.end(), [this](IpFamily family) {
    const StateCounts& alone = of(family).alone;
    std::size_t count = 0;
    for (std::size_t i = 0; i < alone.size(); ++i)
      count += IsRemarkable(static_cast<PeerState>(i)) ? alone[i] : 0;
    return count == 0 && of(family).is_plain();
  });
  if (none) return;
  std::vector<RecordId> some;
  ForEach([&](RecordId lease) {
    if (remarkable(lease, IpFamily::kV4) || remarkable(lease, IpFamily::kV6)) some.push_back(lease);
  });
  for (const RecordId lease : InOrder(std::move(some))) {
    for (const IpFamily family : kFamilies) {
      if (remarkable(lease, family)) visit(RowOf(lease, family, Judge(lease, family)));
    }
  }
}

StateCounts LeaseTable::Counts(IpFamily family) const {
  Family& mine = families_[static_cast<std::size_t>(family)];
  if (mine.is_plain()) return mine.alone;
  if (mine.counted_at == generation_) return mine.counts;
  mine.counts = {};
  ForEach([&](RecordId lease) {
    if (Read(lease).has(family)) ++mine.counts[static_cast<std::size_t>(Judge(lease, family))];
  });
  mine.counted_at = generation_;
  return mine.counts;
}

std::vector<RefusedNode> LeaseTable::Refused() const {
  std::vector<RefusedNode> nodes;
  nodes.reserve(refused_.size());
  for (const auto& [name, refusal] : refused_) nodes.push_back({name, refusal.reason});
  return nodes;
}

PeerState LeaseTable::Judge(RecordId record, IpFamily family) const {
  const PackedLease lease = Read(record);
  const PeerState alone = lease.alone(family);
  const Family& mine = of(family);
  if (mine.is_plain() || (alone != PeerState::kUsable && alone != PeerState::kOutsideNetwork))
    return alone;
  const IpPrefix subnet = lease.subnet(family);
  if (mine.subnets.has_contests() && mine.subnets.Holder(subnet) != record)
    return PeerState::kOverlap;
  if (mine.subnets.Nested(subnet) != kNoRecord) return PeerState::kNestedSubnet;
  if (mine.public_ips.Of(*lease.public_ip(family)) > 1) return PeerState::kDuplicatePublicIp;
  return alone;
}

std::vector<RecordId> LeaseTable::InOrder(std::vector<RecordId> leases) const {
  std::sort(leases.begin(), leases.end(),
            [this](RecordId a, RecordId b) { return IsOfLesserNode(Read(a), Read(b)); });
  return leases;
}

LeaseRow LeaseTable::RowOf(RecordId record, IpFamily family, PeerState state) const {
  const PackedLease lease = Read(record);
  const FamilyLease half = lease.half(family);
  return {lease.node(), std::string(lease.backend_type()), family, half,
          state,        Explain(lease, half, state)};
}

std::string LeaseTable::Explain(const PackedLease& lease, const FamilyLease& half,
                                PeerState state) const {
  const IpFamily family = half.subnet.family();
  const Family& mine = of(family);
  switch (state) {
    case PeerState::kUsable:
    case PeerState::kSelf:
      return "";
    case PeerState::kOverlap: {
      if (lease.alone(family) == PeerState::kOverlap) {
        return absl::StrCat("overlaps our own subnet ", own_.of(family).subnet->ToString(),
                            ": one of the two Nodes has a stale podCIDR; delete it");
      }
      const PackedLease holder = Read(mine.subnets.Holder(half.subnet));
      return absl::StrCat("node ", Quoted(holder.name()),
                          " is newer and holds the same subnet: delete node ", Quoted(lease.name()),
                          " if it is gone");
    }
    case PeerState::kNestedSubnet: {
      const PackedLease other = Read(mine.subnets.Nested(half.subnet));
      return absl::StrCat("used by longest prefix, but nested with ",
                          other.subnet(family).ToString(), " of node ", Quoted(other.name()),
                          ": check the cluster's podCIDRs");
    }
    case PeerState::kDuplicatePublicIp:
      return absl::StrCat("used, but ", mine.public_ips.Of(*half.public_ip),
                          " leases name public IP ", half.public_ip->ToString(),
                          ": right behind a shared address, else delete the Node that is gone");
    case PeerState::kVniMismatch:
      if (!half.vni) {
        return "its backend-data has no VNI, as Linux flannel before v0.14.0 writes it: upgrade "
               "flannel on that node";
      }
      return absl::StrCat("it encapsulates under VNI ", *half.vni, ", we under ", own_.vni.value(),
                          ": give all nodes the same Backend.VNI in net-conf.json");
    case PeerState::kForeignBackend:
      return absl::StrCat("its backend is ", Quoted(lease.backend_type()), ", ours ",
                          Quoted(own_.backend_type),
                          ": give all nodes the same Backend.Type in net-conf.json");
    case PeerState::kOutsideNetwork:
      return absl::StrCat("used, but outside Network ", own_.of(family).network->ToString(),
                          " of net-conf.json: masquerading rules may not cover it");
    case PeerState::kMissingMac:
    case PeerState::kMissingPublicIp:
      return std::string(Sentence(state));
  }
  return "";
}

}  // namespace weft::lease
