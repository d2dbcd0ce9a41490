// SPDX-License-Identifier: Apache-2.0
// The table's results: changes for the sinks, rows and sentences for people.
#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "control/lease/host_claims.h"
#include "control/lease/lease_table.h"
#include "vxlan/text/printable.h"

namespace weft::lease {
namespace {

std::string TimeText(std::int64_t unix_seconds) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromUnixSeconds(unix_seconds),
                          absl::UTCTimeZone());
}

// `lease` is complete.
Peer PeerOf(const PackedLease& lease, IpFamily family) {
  const FamilyLease half = lease.half(family);
  return {std::string(lease.name()), half.subnet, *half.public_ip,
          half.vtep_mac.value_or(MacAddress()), half.behind_nat};
}

// Sorts as IpPrefix does, but faster: base, then length.
using SubnetOrder = std::tuple<std::uint64_t, std::uint64_t, int>;

SubnetOrder OrderOf(const IpPrefix& subnet) {
  const IpAddress& base = subnet.base();
  if (base.is_v4()) return {base.v4(), 0, subnet.length()};
  const std::byte* const bytes = base.bytes().data();
  return {LoadBe64(bytes), LoadBe64(bytes + 8), subnet.length()};
}

}  // namespace

void LeaseTable::Note(IpFamily family, const IpPrefix& subnet, RecordId record) {
  Family& mine = of(family);
  if (!mine.tracking) return;
  const auto [at, is_new] = mine.changed.try_emplace(subnet);
  if (is_new && record != kNoRecord) at->second = PeerOf(Read(record), family);
}

PeerChanges LeaseTable::DrainChanges(IpFamily family) {
  PeerChanges changes;
  Family& mine = of(family);
  if (!std::exchange(mine.tracking, true)) {
    changes.upserts = Snapshot(family);
    return changes;
  }
  for (const auto& [subnet, before] : mine.changed) {
    const RecordId holder = mine.subnets.Holder(subnet);
    if (holder == kNoRecord) {
      if (before) changes.removals.push_back(subnet);
      continue;
    }
    Peer now = PeerOf(Read(holder), family);
    if (before != now) changes.upserts.push_back(std::move(now));
  }
  mine.changed.clear();
  std::sort(changes.upserts.begin(), changes.upserts.end(),
            [](const Peer& a, const Peer& b) { return a.subnet < b.subnet; });
  std::sort(changes.removals.begin(), changes.removals.end());
  return changes;
}

void LeaseTable::DropChanges() {
  for (Family& family : families_) {
    family.tracking = true;
    family.changed.clear();
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

std::vector<LeaseRow> LeaseTable::Rows() const {
  std::vector<LeaseRow> rows;
  rows.reserve(nodes_.size());
  ForEachRow([&rows](LeaseRow&& row) { rows.push_back(std::move(row)); });
  return rows;
}

void LeaseTable::ForEachRow(absl::FunctionRef<void(LeaseRow&&)> visit) const {
  std::vector<RecordId> all;
  all.reserve(nodes_.size());
  ForEach([&all](RecordId lease) { all.push_back(lease); });
  for (const RecordId lease : InOrder(std::move(all))) {
    for (const IpFamily family : kFamilies) {
      if (Read(lease).has(family)) visit(RowOf(lease, family, Judge(lease, family)));
    }
  }
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

PeerCounts LeaseTable::Peers() const {
  PeerCounts peers;
  absl::flat_hash_set<std::string_view> refused_with_lease;
  ForEach([&](RecordId record) {
    const PackedLease lease = Read(record);
    if (!own_.node_name.empty() && lease.name() == own_.node_name) return;
    bool any = false, all = true;
    for (const IpFamily family : kFamilies) {
      if (!lease.has(family) || lease.alone(family) == PeerState::kFamilyOff) continue;
      any = true;
      all = all && IsUsable(Judge(record, family));
    }
    ++peers.all;
    if (any && all) ++peers.usable;
    if (const auto at = refused_.find(lease.name()); at != refused_.end())
      refused_with_lease.insert(at->first);
  });
  for (const auto& [name, refusal] : refused_)
    peers.all += name != own_.node_name && !refused_with_lease.contains(name) ? 1 : 0;
  return peers;
}

std::vector<RefusedNode> LeaseTable::Refused() const {
  std::vector<RefusedNode> nodes;
  nodes.reserve(refused_.size());
  for (const auto& [name, refusal] : refused_) nodes.push_back({name, refusal.reason, refusal.uid});
  return nodes;
}

std::vector<NotJoinedNode> LeaseTable::NotJoined() const {
  std::vector<NotJoinedNode> nodes;
  nodes.reserve(not_joined_.size());
  for (const auto& [name, remark] : not_joined_)
    nodes.push_back({{name, remark.uid}, remark.reason});
  return nodes;
}

std::string LeaseTable::NameInOtherCase(std::string_view name) const {
  std::string found;
  const auto consider = [&](std::string_view other) {
    if (other != name && absl::EqualsIgnoreCase(other, name)) found = other;
  };
  ForEach([&](RecordId lease) { consider(Read(lease).name()); });
  for (const Remarks* const remarks : {&refused_, &not_joined_}) {
    for (const auto& [other, remark] : *remarks) consider(other);
  }
  return found;
}

PeerState LeaseTable::Judge(RecordId record, IpFamily family) const {
  const PackedLease lease = Read(record);
  const PeerState alone = lease.alone(family);
  const Family& mine = of(family);
  if (mine.is_plain() || alone != PeerState::kUsable) return alone;
  if (mine.subnets.Nested(lease.subnet(family)) != kNoRecord) return PeerState::kNestedSubnet;
  if (mine.public_ips.Count(*lease.public_ip(family)) > 1) return PeerState::kDuplicatePublicIp;
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
    case PeerState::kOverlap:
      return ExplainOverlap(lease, half);
    case PeerState::kNestedSubnet: {
      const PackedLease other = Read(mine.subnets.Nested(half.subnet));
      return absl::StrCat("used by longest prefix, but nested with ",
                          other.subnet(family).ToString(), " of node ", Quoted(other.name()),
                          ": check the cluster's podCIDRs");
    }
    case PeerState::kDuplicatePublicIp:
      return absl::StrCat("used, but ", mine.public_ips.Count(*half.public_ip),
                          " leases name public IP ", half.public_ip->ToString(),
                          ": right behind a shared address, else delete the Node that is gone");
    case PeerState::kVniMismatch:
      if (!half.vni) {
        return absl::StrCat(
            "its backend-data has no VNI: on the Node of an appliance add \"VNI\":",
            own_.vni.value(),
            " to that annotation; Linux flannel before v0.14.0 writes none: upgrade "
            "it");
      }
      return absl::StrCat("it encapsulates under VNI ", *half.vni, ", we under ", own_.vni.value(),
                          ": give all nodes the same Backend.VNI in net-conf.json");
    case PeerState::kForeignBackend:
      return absl::StrCat("its backend is ", Quoted(lease.backend_type()), ", ours ",
                          Quoted(own_.backend_type),
                          ": give all nodes the same Backend.Type in net-conf.json");
    case PeerState::kOutsideNetwork:
      return absl::StrCat("its subnet is outside Network ", own_.of(family).network->ToString(),
                          " of net-conf.json: widen Network there, or delete node ",
                          Quoted(lease.name()), " and let it have another podCIDR");
    case PeerState::kKeptLease:
      return absl::StrCat("the node publishes no VTEP MAC since ", TimeText(*half.kept_since),
                          "; its last complete lease stays in use: if this lasts, check its "
                          "flanneld");
    case PeerState::kHostChanged: {
      const HostClaim* const claim = FindClaim(own_.of(family).claims, half.subnet);
      return absl::StrCat(
          "used, because it was in use before this host changed: its subnet ",
          claim ? absl::StrCat("contains ", claim->what)
                : absl::StrCat("is outside Network ", own_.of(family).network->ToString(),
                               " of net-conf.json"),
          "; correct ", claim ? "that, or the podCIDR of the node" : "Network");
    }
    case PeerState::kHostConflict:
      return absl::StrCat("its subnet contains ",
                          FindClaim(own_.of(family).claims, half.subnet)->what, ": delete node ",
                          Quoted(lease.name()), " and let it have another podCIDR");
    case PeerState::kReservedRange:
      return absl::StrCat("its subnet overlaps ", ReservedRange(half.subnet)->ToString(),
                          ", which is reserved: delete node ", Quoted(lease.name()),
                          " and let it have another podCIDR");
    case PeerState::kBadPublicIp:
      return ExplainPublicIp(half);
    case PeerState::kMissingMac:
    case PeerState::kMissingPublicIp:
    case PeerState::kFamilyOff:
      return std::string(Sentence(state));
  }
  return "";
}

std::string LeaseTable::ExplainOverlap(const PackedLease& lease, const FamilyLease& half) const {
  const IpFamily family = half.subnet.family();
  const Family& mine = of(family);
  const auto& ours = own_.of(family).subnet;
  if (ours && ours->Overlaps(half.subnet)) {
    return absl::StrCat("overlaps our own subnet ", ours->ToString(),
                        ": one of the two Nodes has a stale podCIDR; delete it");
  }
  if (const RecordId holder = mine.subnets.Holder(half.subnet); holder != kNoRecord) {
    return absl::StrCat("node ", Quoted(Read(holder).name()),
                        " holds the same subnet: delete node ", Quoted(Read(holder).name()),
                        " if it is gone, else node ", Quoted(lease.name()));
  }
  if (const RecordId around = Around(half.subnet); around != kNoRecord) {
    return absl::StrCat("lies inside ", Read(around).subnet(family).ToString(), " of node ",
                        Quoted(Read(around).name()), ", which is in use: delete node ",
                        Quoted(lease.name()), " and let it have another podCIDR");
  }
  if (const RecordId inside = ContainedAddress(half.subnet); inside != kNoRecord) {
    return absl::StrCat("contains public IP ", Read(inside).public_ip(family)->ToString(),
                        " of node ", Quoted(Read(inside).name()), ", which is in use: delete node ",
                        Quoted(lease.name()), " and let it have another podCIDR");
  }
  return std::string(Sentence(PeerState::kOverlap));
}

std::string LeaseTable::ExplainPublicIp(const FamilyLease& half) const {
  const IpAddress& address = *half.public_ip;
  const auto& ours = own_.of(address.family()).subnet;
  std::string why = " is not an address of a node";
  if (half.subnet.Contains(address)) {
    why = absl::StrCat(" lies in the node's own podCIDR ", half.subnet.ToString());
  } else if (ours && ours->Contains(address)) {
    why = absl::StrCat(" lies in our own subnet ", ours->ToString());
  } else if (const RecordId around = SubnetOf(address); around != kNoRecord) {
    why = absl::StrCat(" lies in ", Read(around).subnet(address.family()).ToString(), " of node ",
                       Quoted(Read(around).name()));
  }
  return absl::StrCat("its public IP ", address.ToString(), why,
                      ": check its flanneld's --public-ip and --iface");
}

}  // namespace weft::lease
