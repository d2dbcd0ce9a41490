// SPDX-License-Identifier: Apache-2.0
// The table's results: changes for the sinks, rows and sentences for people.
#include <algorithm>
#include <map>
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

// `node "a" (Ready since 2026-11-19 00:00:00 UTC)`. Conditions are without its readiness, which
// changes often.
std::string Named(const PackedLease& lease, bool with_readiness = true) {
  const auto readiness = lease.readiness();
  if (!readiness || !with_readiness) return absl::StrCat("node ", Quoted(lease.name()));
  return absl::StrCat("node ", Quoted(lease.name()), readiness->ready ? " (Ready" : " (NotReady",
                      readiness->since == 0 ? "" : " since ",
                      readiness->since == 0 ? "" : TimeText(readiness->since), ")");
}

// Follows from no state of a Node: one that is not Ready may come back with its pods.
constexpr std::string_view kDeleteOnly =
    ": give one of them another podCIDR; delete a Node only if its host no longer exists";

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

Peer LeaseTable::PeerAt(const IpPrefix& subnet) const {
  const RecordId holder = of(subnet.family()).subnets.Holder(subnet);
  return holder == kNoRecord ? Peer() : PeerOf(Read(holder), subnet.family());
}

std::vector<LeaseRow> LeaseTable::Rows() const {
  std::vector<LeaseRow> rows;
  rows.reserve(nodes_.size());
  std::vector<RecordId> all;
  all.reserve(nodes_.size());
  ForEach([&all](RecordId lease) { all.push_back(lease); });
  for (const RecordId lease : InOrder(std::move(all))) {
    for (const IpFamily family : kFamilies)
      if (Read(lease).has(family)) rows.push_back(RowOf(lease, family));
  }
  return rows;
}

void LeaseTable::ForEachInUse(absl::FunctionRef<void(const Lease&)> visit) const {
  ForEach([&](RecordId record) {
    const PackedLease packed = Read(record);
    Lease lease;
    for (const IpFamily family : kFamilies) {
      if (packed.has(family) && IsUsable(Judge(record, family)))
        (family == IpFamily::kV4 ? lease.v4 : lease.v6) = packed.half(family);
    }
    if (!lease.v4 && !lease.v6) return;
    lease.node = packed.node();
    lease.backend_type = packed.backend_type();
    visit(lease);
  });
}

std::vector<LeaseRow> LeaseTable::RowsOf(const NodeKey& node, bool explained) const {
  std::vector<LeaseRow> rows;
  const RecordId lease = Find(node);
  if (lease == kNoRecord) return rows;
  for (const IpFamily family : kFamilies)
    if (Read(lease).has(family)) rows.push_back(RowOf(lease, family, explained));
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
    for (const IpFamily family : kFamilies)
      if (remarkable(lease, family)) visit(RowOf(lease, family));
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

std::string LeaseTable::UserOf(const IpPrefix& subnet) const {
  const IpFamily family = subnet.family();
  std::string user;
  ForEach([&](RecordId record) {
    const PackedLease lease = Read(record);
    if (!lease.has(family) || lease.subnet(family) != subnet || lease.name() == own_.node_name)
      return;
    const PeerState alone = lease.alone(family);
    if (IsUsable(alone) || alone == PeerState::kOverlap) user = lease.name();
  });
  return user;
}

std::string LeaseTable::DuplicateMac() const {
  if (!is_vxlan_) return "";
  // By the names of the nodes, the lesser first.
  std::map<std::pair<std::string, std::string>, MacAddress> pairs;
  for (const IpFamily family : kFamilies) {
    absl::flat_hash_map<MacAddress, RecordId> users;
    ForEach([&](RecordId record) {
      const PackedLease lease = Read(record);
      if (!lease.has(family) || !lease.has_vtep_mac(family)) return;
      if (!IsUsable(lease.alone(family)) && lease.alone(family) != PeerState::kSelf) return;
      const MacAddress mac = *lease.half(family).vtep_mac;
      const auto [at, is_new] = users.try_emplace(mac, record);
      const std::string_view first = Read(at->second).name();
      if (is_new || first == lease.name()) return;
      pairs.try_emplace(std::minmax(std::string(first), std::string(lease.name())), mac);
    });
  }
  if (pairs.empty()) return "";
  const auto& [names, mac] = *pairs.begin();
  return absl::StrCat(
      "nodes ", Quoted(names.first), " and ", Quoted(names.second), " publish one VTEP MAC, ",
      mac.ToString(), pairs.size() > 1 ? absl::StrCat(", as do ", pairs.size() - 1, " more") : "",
      ": nodes with a vxlan device of the kernel find a node by its MAC, so they send the packets ",
      "for both to one of them, and the other one's pods do not get theirs; weft finds it by its ",
      "subnet. For a new MAC stop flannel on one of the two, remove the annotation backend-data of "
      "its Node and, on Windows, its HNS network, on Linux its device flannel.",
      own_.vni.value(), "; cloned machines need a new /etc/machine-id, too; start flannel again");
}

std::string LeaseTable::NameInOtherCase(std::string_view name) const {
  std::string found;
  const auto consider = [&](std::string_view other) {
    if (other != name && absl::EqualsIgnoreCase(other, name)) found = other;
  };
  ForEach([&](RecordId lease) { consider(Read(lease).name()); });
  for (const Remarks* const remarks : {&refused_, &not_joined_})
    for (const auto& [other, remark] : *remarks) consider(other);
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

RecordId LeaseTable::TwinOf(const PackedLease& lease, IpFamily family) const {
  Family& mine = families_[static_cast<std::size_t>(family)];
  const IpAddress address = *lease.public_ip(family);
  if (!mine.twins.contains(address)) {
    ForEach([&](RecordId record) {
      const PackedLease each = Read(record);
      const auto shared = each.has(family) ? each.public_ip(family) : std::nullopt;
      if (!shared || mine.public_ips.Count(*shared) < 2) return;
      auto& [one, other] =
          mine.twins.try_emplace(*shared, std::array{record, kNoRecord}).first->second;
      if (other == kNoRecord && Read(one).name() != each.name()) other = record;
    });
    absl::erase_if(mine.twins, [](const auto& each) { return each.second[1] == kNoRecord; });
  }
  const auto found = mine.twins.find(address);
  if (found == mine.twins.end()) return kNoRecord;
  const auto& [first, second] = found->second;
  return Read(first).name() == lease.name() ? second : first;
}

LeaseRow LeaseTable::RowOf(RecordId record, IpFamily family, bool explained) const {
  const PackedLease lease = Read(record);
  const FamilyLease half = lease.half(family);
  const PeerState state = Judge(record, family);
  return {lease.node(), std::string(lease.backend_type()),           family, half,
          state,        explained ? Explain(lease, half, state) : ""};
}

std::string LeaseTable::Explain(const PackedLease& lease, const FamilyLease& half,
                                PeerState state) const {
  const IpFamily family = half.subnet.family();
  const Family& mine = of(family);
  switch (state) {
    case PeerState::kUsable:
      return "";
    case PeerState::kSelf:
      return ExplainSelf(lease, half);
    case PeerState::kOverlap:
      return ExplainOverlap(lease, half);
    case PeerState::kNestedSubnet: {
      const PackedLease other = Read(mine.subnets.Nested(half.subnet));
      return absl::StrCat("used by longest prefix, but nested with ",
                          other.subnet(family).ToString(), " of node ", Quoted(other.name()),
                          ": check the cluster's podCIDRs");
    }
    case PeerState::kDuplicatePublicIp: {
      const RecordId other = TwinOf(lease, family);
      return absl::StrCat(
          "used, but ", mine.public_ips.Count(*half.public_ip), " leases name public IP ",
          half.public_ip->ToString(), ", those of ", Named(lease), " and ",
          other == kNoRecord ? "its former self" : Named(Read(other)),
          ": right behind a shared address, else correct the flanneld of one of them; delete a "
          "Node only if its host no longer exists");
    }
    case PeerState::kVniMismatch:
      if (!half.vni) {
        return absl::StrCat(
            "its backend-data has no VNI: on the Node of an appliance add \"VNI\":",
            own_.vni.value(),
            " to that annotation; Linux flannel before v0.14.0 writes none: upgrade it");
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
      const OwnFamily& own = own_.of(family);
      const HostClaim* const claim = FindClaim(own.claims, half.subnet);
      if (!claim && (!own.network || own.network->Contains(half.subnet))) {
        return absl::StrCat("used, but its subnet contains ",
                            FindClaim(own.addresses, half.subnet)->what,
                            ": remove that address, or its device if nothing uses it");
      }
      return absl::StrCat(
          "used, because it was in use before this host changed: its subnet ",
          claim ? absl::StrCat("contains ", claim->what)
                : absl::StrCat("is outside Network ", own.network->ToString(), " of net-conf.json"),
          "; correct ", claim ? "that, or the podCIDR of the node" : "Network");
    }
    case PeerState::kHostConflict:
      return absl::StrCat("its subnet contains ",
                          FindClaim(own_.of(family).claims, half.subnet)->what,
                          ": if unused, remove that and wait ten minutes; else give node ",
                          Quoted(lease.name()), " another podCIDR");
    case PeerState::kReservedRange:
      return absl::StrCat("its subnet overlaps ", ReservedRange(half.subnet)->ToString(),
                          ", which is reserved: delete node ", Quoted(lease.name()),
                          " and let it have another podCIDR");
    case PeerState::kBadPublicIp:
      return ExplainPublicIp(lease, half);
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
  const auto text = [&](auto... words) {
    return absl::StrCat(Named(lease), words..., kDeleteOnly);
  };
  if (ours && ours->Overlaps(half.subnet))
    return text(" overlaps our own subnet ", ours->ToString());
  if (const RecordId holder = mine.subnets.Holder(half.subnet); holder != kNoRecord)
    return text(" has the same subnet as ", Named(Read(holder)), ", which is in use");
  if (const RecordId around = Around(half.subnet); around != kNoRecord) {
    return text(" lies inside ", Read(around).subnet(family).ToString(), " of ",
                Named(Read(around)), ", which is in use");
  }
  if (const RecordId inside = Inside(lease, family, /*precluding=*/true); inside != kNoRecord) {
    return text(" contains public IP ", Read(inside).public_ip(family)->ToString(), " of ",
                Named(Read(inside)), ", which is an address of that Node");
  }
  return std::string(Sentence(PeerState::kOverlap));
}

std::string LeaseTable::ExplainSelf(const PackedLease& lease, const FamilyLease& half) const {
  const IpFamily family = half.subnet.family();
  const auto refused = [&](std::string_view by, auto... why) {
    return absl::StrCat("our own lease is published, but ", by,
                        " that run weft do not use it: ", why...);
  };
  if (!half.public_ip) return "";
  const IpAddress& address = *half.public_ip;
  if (!IsNodeAddress(address) || half.subnet.Contains(address)) {
    return refused("all nodes", "its public IP ", address.ToString(),
                   half.subnet.Contains(address) ? " lies in our own subnet " : " is not a node's",
                   half.subnet.Contains(address) ? half.subnet.ToString() : "",
                   "; correct --public-ip or --iface");
  }
  if (ReservedRange(half.subnet))
    return refused("all nodes", "its subnet ", half.subnet.ToString(), " is reserved");
  // Leases that conflict with our subnet or with an address of this host are not in use here.
  const StateCounts& alone = of(family).alone;
  if (SubnetOf(address) == kNoRecord &&
      alone[static_cast<std::size_t>(PeerState::kOverlap)] +
              alone[static_cast<std::size_t>(PeerState::kHostConflict)] +
              alone[static_cast<std::size_t>(PeerState::kBadPublicIp)] ==
          0)
    return "";
  std::string why;
  ForEach([&](RecordId record) {
    const PackedLease other = Read(record);
    if (!why.empty() || !other.has(family) || other.name() == lease.name()) return;
    const auto public_ip = other.public_ip(family);
    const PeerState state = other.alone(family);
    if ((IsUsable(state) || state == PeerState::kHostConflict) && !half.node_address &&
        other.subnet(family).Contains(address)) {
      why = refused("nodes", "its public IP ", address.ToString(), " lies in ",
                    other.subnet(family).ToString(), " of ", Named(other, false),
                    " and is not among our Node's status.addresses; correct --public-ip or "
                    "--iface, or give that Node another podCIDR");
    } else if (state == PeerState::kBadPublicIp && half.subnet.Contains(*public_ip) &&
               other.is_node_address(family)) {
      why = refused("nodes", "its subnet ", half.subnet.ToString(), " contains public IP ",
                    public_ip->ToString(), " of ", Named(other, false),
                    ", which is an address of that Node; give our Node another podCIDR");
    } else if (state == PeerState::kOverlap && other.subnet(family) == half.subnet &&
               Precedes(other, lease)) {
      why = refused("nodes", Named(other, false), " is older and has the same subnet, ",
                    half.subnet.ToString(), "; give one of the two another podCIDR");
    }
  });
  return why;
}

std::string LeaseTable::ExplainPublicIp(const PackedLease& lease, const FamilyLease& half) const {
  const IpAddress& address = *half.public_ip;
  const OwnFamily& own = own_.of(address.family());
  const auto& ours = own.subnet;
  std::string why = " is not an address of a node";
  if (const HostClaim* const claim =
          FindClaim(own.addresses, *IpPrefix::From(address, address.bits()))) {
    return absl::StrCat(
        "its public IP is ", claim->what, ": ", Named(lease),
        " is this host under a former name, or another host with our address; delete that Node if "
        "this host was renamed, else remove that address here, or give that host another");
  }
  if (half.subnet.Contains(address)) {
    why = absl::StrCat(" lies in the node's own podCIDR ", half.subnet.ToString());
  } else if (ours && ours->Contains(address)) {
    why = absl::StrCat(" lies in our own subnet ", ours->ToString());
  } else if (const RecordId around = SubnetOf(address); around != kNoRecord) {
    why = absl::StrCat(" lies in ", Read(around).subnet(address.family()).ToString(), " of ",
                       Named(Read(around)), " and is not among its own Node's status.addresses");
  }
  return absl::StrCat("its public IP ", address.ToString(), why,
                      ": check its flanneld's --public-ip and --iface");
}

}  // namespace weft::lease
