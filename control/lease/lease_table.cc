// SPDX-License-Identifier: Apache-2.0
#include "control/lease/lease_table.h"

#include <algorithm>
#include <iterator>
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
  for (const auto& [key, lease] : leases_) Unindex(lease);
  own_ = std::move(own);
  for (const auto& [key, lease] : leases_) Index(lease);
  ++generation_;
}

void LeaseTable::ApplySnapshot(std::vector<Lease> leases, std::vector<RefusedNode> refused) {
  std::map<std::string, std::string> refusals;
  bool changed = false;
  for (RefusedNode& node : refused) {
    const auto known = refused_.find(node.name);
    if (known == refused_.end() || known->second != node.reason) {
      ++refused_total_;
      changed = true;
    }
    refusals.insert_or_assign(std::move(node.name), std::move(node.reason));
  }
  changed |= refusals.size() != refused_.size();
  refused_ = std::move(refusals);

  std::map<NodeKey, Lease> wanted;
  for (Lease& lease : leases) {
    NodeKey key = lease.node;
    wanted.insert_or_assign(std::move(key), std::move(lease));
  }
  const auto readable = [&](const std::string& name) {
    const auto first = wanted.lower_bound(NodeKey{name, ""});
    return first != wanted.end() && first->first.name == name;
  };
  for (auto at = leases_.begin(); at != leases_.end();) {
    const std::string& name = at->first.name;
    if (wanted.contains(at->first) || (refused_.contains(name) && !readable(name))) {
      ++at;
      continue;
    }
    Unindex(at->second);
    at = leases_.erase(at);
    changed = true;
  }
  for (auto& [key, lease] : wanted) changed |= Put(std::move(lease));
  if (changed) ++generation_;
}

bool LeaseTable::Upsert(Lease lease) {
  const bool was_refused = refused_.erase(lease.node.name) > 0;
  const bool changed = Put(std::move(lease));
  if (changed || was_refused) ++generation_;
  return changed;
}

bool LeaseTable::Remove(const NodeKey& node) {
  const bool was_refused = refused_.erase(node.name) > 0;
  const auto at = leases_.find(node);
  if (at != leases_.end()) {
    Unindex(at->second);
    leases_.erase(at);
    ++generation_;
    return true;
  }
  if (was_refused) ++generation_;
  return false;
}

void LeaseTable::Refuse(RefusedNode node) {
  const auto [at, is_new] = refused_.try_emplace(std::move(node.name), node.reason);
  if (!is_new && at->second == node.reason) return;
  at->second = std::move(node.reason);
  ++refused_total_;
  ++generation_;
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
  if (at == leases_.end() || !at->second.of(family)) return std::nullopt;
  return Judge(at->second, *at->second.of(family));
}

std::vector<LeaseRow> LeaseTable::Rows() const {
  std::vector<LeaseRow> rows;
  rows.reserve(leases_.size());
  for (const auto& [key, lease] : leases_) AppendRows(lease, rows);
  return rows;
}

std::vector<LeaseRow> LeaseTable::RowsOf(const NodeKey& node) const {
  std::vector<LeaseRow> rows;
  if (const auto at = leases_.find(node); at != leases_.end()) AppendRows(at->second, rows);
  return rows;
}

const StateCounts& LeaseTable::Counts(IpFamily family) const {
  Family& mine = families_[static_cast<std::size_t>(family)];
  if (mine.counted_at == generation_) return mine.counts;
  mine.counts = {};
  for (const auto& [key, lease] : leases_) {
    if (const auto& half = lease.of(family))
      ++mine.counts[static_cast<std::size_t>(Judge(lease, *half))];
  }
  mine.counted_at = generation_;
  return mine.counts;
}

std::vector<RefusedNode> LeaseTable::Refused() const {
  std::vector<RefusedNode> nodes;
  nodes.reserve(refused_.size());
  for (const auto& [name, reason] : refused_) nodes.push_back({name, reason});
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

bool LeaseTable::Put(Lease lease) {
  const auto at = leases_.find(lease.node);
  if (at == leases_.end()) {
    NodeKey key = lease.node;
    Index(leases_.emplace(std::move(key), std::move(lease)).first->second);
    return true;
  }
  if (at->second == lease) return false;
  Unindex(at->second);
  at->second = std::move(lease);
  Index(at->second);
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
