// SPDX-License-Identifier: Apache-2.0
#include "control/lease/lease_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/lease/quoted.h"

namespace weft::lease {
namespace {

constexpr std::array kFamilies = {IpFamily::kV4, IpFamily::kV6};

// `lease` is complete.
Peer PeerOf(const Lease& lease, IpFamily family) {
  const FamilyLease& half = *lease.of(family);
  return {lease.node.name, half.subnet, *half.public_ip, half.vtep_mac.value_or(MacAddress())};
}

std::optional<Peer> PeerOrNone(const Lease* lease, IpFamily family) {
  if (lease == nullptr) return std::nullopt;
  return PeerOf(*lease, family);
}

}  // namespace

LeaseTable::LeaseTable(OwnIdentity own) : own_(std::move(own)) {}

void LeaseTable::SetOwn(OwnIdentity own) {
  if (own == own_) return;
  for (const auto& [key, entry] : leases_) Unindex(entry.lease);
  own_ = std::move(own);
  for (const auto& [key, entry] : leases_) Index(entry.lease);
  ++generation_;
}

void LeaseTable::BeginSnapshot() {
  in_snapshot_ = true;
  for (auto& [key, entry] : leases_) entry.told = false;
  for (auto& [name, refusal] : refused_) refusal.told = false;
}

bool LeaseTable::EndSnapshot() {
  if (!in_snapshot_) return false;
  in_snapshot_ = false;
  bool changed = std::erase_if(refused_, [](const auto& at) { return !at.second.told; }) > 0;
  for (auto at = leases_.begin(); at != leases_.end();) {
    const std::string& name = at->first.name;
    if (at->second.told || (refused_.contains(name) && !HasTold(name))) {
      ++at;
      continue;
    }
    Unindex(at->second.lease);
    at = leases_.erase(at);
    changed = true;
  }
  if (changed) ++generation_;
  return changed;
}

bool LeaseTable::HasTold(const std::string& name) const {
  for (auto at = leases_.lower_bound(NodeKey{name, ""});
       at != leases_.end() && at->first.name == name; ++at) {
    if (at->second.told) return true;
  }
  return false;
}

bool LeaseTable::Upsert(const Lease& lease) {
  bool was_refused = false;
  if (const auto at = refused_.find(lease.node.name); at != refused_.end()) {
    // Within a snapshot it may still be told again: a name that stands there twice.
    at->second.told = false;
    if (!in_snapshot_) {
      refused_.erase(at);
      was_refused = true;
    }
  }
  const bool changed = Put(lease);
  if (changed || was_refused) ++generation_;
  return changed;
}

bool LeaseTable::Remove(const NodeKey& node) {
  const bool was_refused = refused_.erase(node.name) > 0;
  const auto at = leases_.find(node);
  if (at != leases_.end()) {
    Unindex(at->second.lease);
    leases_.erase(at);
    ++generation_;
    return true;
  }
  if (was_refused) ++generation_;
  return false;
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

PeerChanges LeaseTable::TakeChanges(IpFamily family) {
  PeerChanges changes;
  Family& mine = of(family);
  for (const auto& [subnet, told] : mine.told) {
    std::optional<Peer> now = PeerOrNone(mine.subnets.Holder(subnet), family);
    if (now == told) continue;
    if (now) {
      changes.upserts.push_back(*std::move(now));
    } else {
      changes.removals.push_back(subnet);
    }
  }
  mine.told.clear();
  std::sort(changes.upserts.begin(), changes.upserts.end(),
            [](const Peer& a, const Peer& b) { return a.subnet < b.subnet; });
  std::sort(changes.removals.begin(), changes.removals.end());
  return changes;
}

std::vector<Peer> LeaseTable::Snapshot(IpFamily family) const {
  const auto& claims = of(family).subnets.all();
  std::vector<Peer> peers;
  peers.reserve(claims.size());
  for (const auto& [subnet, claimants] : claims)
    peers.push_back(PeerOf(*claimants.front(), family));
  return peers;
}

std::optional<PeerState> LeaseTable::StateOf(const NodeKey& node, IpFamily family) const {
  const auto at = leases_.find(node);
  if (at == leases_.end()) return std::nullopt;
  const Lease& lease = at->second.lease;
  if (!lease.of(family)) return std::nullopt;
  return Judge(lease, *lease.of(family));
}

std::vector<LeaseRow> LeaseTable::Rows() const {
  std::vector<LeaseRow> rows;
  rows.reserve(leases_.size());
  for (const auto& [key, entry] : leases_) AppendRows(entry.lease, rows);
  return rows;
}

std::vector<LeaseRow> LeaseTable::RowsOf(const NodeKey& node) const {
  std::vector<LeaseRow> rows;
  if (const auto at = leases_.find(node); at != leases_.end()) AppendRows(at->second.lease, rows);
  return rows;
}

const StateCounts& LeaseTable::Counts(IpFamily family) const {
  Family& mine = families_[static_cast<std::size_t>(family)];
  if (mine.counted_at == generation_) return mine.counts;
  mine.counts = {};
  for (const auto& [key, entry] : leases_) {
    if (const auto& half = entry.lease.of(family))
      ++mine.counts[static_cast<std::size_t>(Judge(entry.lease, *half))];
  }
  mine.counted_at = generation_;
  return mine.counts;
}

std::vector<RefusedNode> LeaseTable::Refused() const {
  std::vector<RefusedNode> nodes;
  nodes.reserve(refused_.size());
  for (const auto& [name, refusal] : refused_) nodes.push_back({name, refusal.reason});
  return nodes;
}

void LeaseTable::Index(const Lease& lease) {
  for (const IpFamily family : kFamilies) {
    const auto& half = lease.of(family);
    if (!half) continue;
    Family& mine = of(family);
    if (half->public_ip) ++mine.public_ip_uses[*half->public_ip];
    if (JudgeAlone(lease, *half) == PeerState::kUsable) {
      Note(mine, family, half->subnet, mine.subnets.Add(half->subnet, lease));
    }
  }
}

void LeaseTable::Unindex(const Lease& lease) {
  for (const IpFamily family : kFamilies) {
    const auto& half = lease.of(family);
    if (!half) continue;
    Family& mine = of(family);
    if (half->public_ip && --mine.public_ip_uses[*half->public_ip] == 0)
      mine.public_ip_uses.erase(*half->public_ip);
    if (JudgeAlone(lease, *half) == PeerState::kUsable) {
      Note(mine, family, half->subnet, mine.subnets.Remove(half->subnet, lease));
    }
  }
}

void LeaseTable::Note(Family& family, IpFamily which, const IpPrefix& subnet,
                      const SubnetIndex::Change& change) {
  if (change.before != change.after)
    family.told.try_emplace(subnet, PeerOrNone(change.before, which));
}

bool LeaseTable::Put(const Lease& lease) {
  const auto [at, is_new] = leases_.try_emplace(lease.node);
  Entry& entry = at->second;
  entry.told = true;
  if (!is_new) {
    if (entry.lease == lease) return false;
    Unindex(entry.lease);
  }
  entry.lease = lease;
  Index(entry.lease);
  return true;
}

PeerState LeaseTable::JudgeAlone(const Lease& lease, const FamilyLease& half) const {
  if (!own_.node_name.empty() && lease.node.name == own_.node_name) return PeerState::kSelf;
  if (!absl::EqualsIgnoreCase(lease.backend_type, own_.backend_type))
    return PeerState::kForeignBackend;
  if (!half.public_ip) return PeerState::kMissingPublicIp;
  if (absl::EqualsIgnoreCase(own_.backend_type, "vxlan")) {
    if (!half.vtep_mac) return PeerState::kMissingMac;
    if (half.vni != own_.vni.value()) return PeerState::kVniMismatch;
  }
  const auto& own_subnet = own_.of(half.subnet.family()).subnet;
  if (own_subnet && own_subnet->Overlaps(half.subnet)) return PeerState::kOverlap;
  return PeerState::kUsable;
}

PeerState LeaseTable::Judge(const Lease& lease, const FamilyLease& half) const {
  const PeerState alone = JudgeAlone(lease, half);
  if (alone != PeerState::kUsable) return alone;
  const Family& mine = of(half.subnet.family());
  if (mine.subnets.Holder(half.subnet) != &lease) return PeerState::kOverlap;
  if (mine.subnets.Nested(half.subnet) != nullptr) return PeerState::kNestedSubnet;
  if (mine.public_ip_uses.at(*half.public_ip) > 1) return PeerState::kDuplicatePublicIp;
  const auto& network = own_.of(half.subnet.family()).network;
  if (network && !network->Contains(half.subnet)) return PeerState::kOutsideNetwork;
  return PeerState::kUsable;
}

void LeaseTable::AppendRows(const Lease& lease, std::vector<LeaseRow>& rows) const {
  for (const IpFamily family : kFamilies) {
    const auto& half = lease.of(family);
    if (!half) continue;
    const PeerState state = Judge(lease, *half);
    rows.push_back(
        {lease.node, lease.backend_type, family, *half, state, Explain(lease, *half, state)});
  }
}

std::string LeaseTable::Explain(const Lease& lease, const FamilyLease& half,
                                PeerState state) const {
  const Family& mine = of(half.subnet.family());
  switch (state) {
    case PeerState::kUsable:
    case PeerState::kSelf:
      return "";
    case PeerState::kOverlap: {
      if (JudgeAlone(lease, half) == PeerState::kOverlap) {
        return absl::StrCat("overlaps our own subnet ",
                            own_.of(half.subnet.family()).subnet->ToString(),
                            ": one of the two Nodes has a stale podCIDR; delete it");
      }
      const Lease* holder = mine.subnets.Holder(half.subnet);
      return absl::StrCat("node ", Quoted(holder->node.name),
                          " is newer and holds the same subnet: delete node ",
                          Quoted(lease.node.name), " if it is gone");
    }
    case PeerState::kNestedSubnet: {
      const Lease* other = mine.subnets.Nested(half.subnet);
      return absl::StrCat("used by longest prefix, but nested with ",
                          other->of(half.subnet.family())->subnet.ToString(), " of node ",
                          Quoted(other->node.name), ": check the cluster's podCIDRs");
    }
    case PeerState::kDuplicatePublicIp:
      return absl::StrCat("used, but ", mine.public_ip_uses.at(*half.public_ip),
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
      return absl::StrCat("its backend is ", Quoted(lease.backend_type), ", ours ",
                          Quoted(own_.backend_type),
                          ": give all nodes the same Backend.Type in net-conf.json");
    case PeerState::kOutsideNetwork:
      return absl::StrCat("used, but outside Network ",
                          own_.of(half.subnet.family()).network->ToString(),
                          " of net-conf.json: masquerading rules may not cover it");
    case PeerState::kMissingMac:
    case PeerState::kMissingPublicIp:
      return std::string(Sentence(state));
  }
  return "";
}

}  // namespace weft::lease
