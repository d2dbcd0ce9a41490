// SPDX-License-Identifier: Apache-2.0
// The incremental table against the obvious one: every lease judged against every other, from
// scratch, after every event.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "control/lease/lease_table.h"
#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"
#include "tests/support/seed.h"

namespace weft::lease {
namespace {

using testing::Prefix;
using testing::Text;
using Leases = std::map<NodeKey, Lease>;

PeerState NaiveAlone(const Lease& lease, const FamilyLease& half, const OwnIdentity& own) {
  if (lease.node.name == own.node_name) return PeerState::kSelf;
  if (!absl::EqualsIgnoreCase(lease.backend_type, own.backend_type))
    return PeerState::kForeignBackend;
  if (!half.public_ip) return PeerState::kMissingPublicIp;
  const bool vxlan = own.backend_type == "vxlan";
  if (vxlan && !half.vtep_mac) return PeerState::kMissingMac;
  if (vxlan && half.vni != own.vni.value()) return PeerState::kVniMismatch;
  const auto& ours = own.of(half.subnet.family()).subnet;
  return ours && ours->Overlaps(half.subnet) ? PeerState::kOverlap : PeerState::kUsable;
}

bool NaivelyPrecedes(const Lease& a, const Lease& b) {
  return a.created != b.created ? a.created > b.created : a.node < b.node;
}

PeerState NaiveState(const Lease& lease, const FamilyLease& half, const Leases& all,
                     const OwnIdentity& own) {
  const IpFamily family = half.subnet.family();
  const PeerState alone = NaiveAlone(lease, half, own);
  if (alone != PeerState::kUsable) return alone;
  bool nested = false;
  std::size_t sharing = 0;
  for (const auto& [key, other] : all) {
    const auto& theirs = other.of(family);
    if (!theirs) continue;
    if (theirs->public_ip == half.public_ip) ++sharing;
    if (key == lease.node || NaiveAlone(other, *theirs, own) != PeerState::kUsable) continue;
    if (theirs->subnet == half.subnet) {
      if (NaivelyPrecedes(other, lease)) return PeerState::kOverlap;
    } else if (theirs->subnet.Overlaps(half.subnet)) {
      nested = true;
    }
  }
  if (nested) return PeerState::kNestedSubnet;
  if (sharing > 1) return PeerState::kDuplicatePublicIp;
  const auto& network = own.of(family).network;
  return network && !network->Contains(half.subnet) ? PeerState::kOutsideNetwork
                                                    : PeerState::kUsable;
}

std::map<IpPrefix, Peer> NaivePeers(const Leases& all, const OwnIdentity& own, IpFamily family) {
  std::map<IpPrefix, Peer> peers;
  for (const auto& [key, lease] : all) {
    const auto& half = lease.of(family);
    if (!half || !IsUsable(NaiveState(lease, *half, all, own))) continue;
    peers[half->subnet] = {key.name, half->subnet, *half->public_ip,
                           half->vtep_mac.value_or(MacAddress())};
  }
  return peers;
}

class RandomCluster {
 public:
  explicit RandomCluster(unsigned seed) : random_(seed) {}

  std::size_t Below(std::size_t limit) { return random_() % limit; }

  FamilyLease Half(bool v4) {
    static const char* const kV4[] = {"10.244.0.0/24",   "10.244.1.0/24", "10.244.2.0/24",
                                      "10.244.3.0/24",   "10.244.2.0/23", "10.244.0.0/20",
                                      "10.244.2.128/25", "192.168.0.0/24"};
    static const char* const kV6[] = {"fd00::/64", "fd00:0:0:1::/64", "fd00:0:0:2::/64",
                                      "fd00::/56", "fe00::/64"};
    FamilyLease half;
    half.subnet = Prefix(v4 ? kV4[Below(std::size(kV4))] : kV6[Below(std::size(kV6))]);
    if (Below(10) != 0)
      half.public_ip =
          testing::Address((v4 ? "192.0.2." : "2001:db8::") + std::to_string(1 + Below(5)));
    if (Below(10) != 0) half.vni = Below(6) == 0 ? 1 : 4096;
    if (Below(10) != 0) half.vtep_mac = testing::Mac("02:00:00:00:00:0" + std::to_string(Below(4)));
    return half;
  }

  std::string Name() {
    const std::size_t which = Below(8);
    return which == 7 ? std::string(300, 'h') : std::string(1, static_cast<char>('a' + which));
  }

  NodeKey Key() {
    static const char* const kUids[] = {"", "2", "6f1c2e0a-93b4-4c55-8d21-0a1b2c3d4e5f"};
    return {Name(), Below(4) == 0 ? kUids[Below(2)] : kUids[2]};
  }

  Lease Any() {
    static const char* const kBackends[] = {"host-gw", "VXLAN", "somebody's"};
    Lease lease;
    lease.node = Key();
    lease.created = static_cast<std::int64_t>(Below(3));
    lease.backend_type = Below(10) == 0 ? kBackends[Below(3)] : "vxlan";
    if (Below(8) != 0) lease.v4 = Half(true);
    if (Below(2) != 0) lease.v6 = Half(false);
    return lease;
  }

  RefusedNode Refusal() { return {Name(), Below(2) == 0 ? "broken" : "broken otherwise"}; }

  OwnIdentity Own() {
    OwnIdentity own;
    own.node_name = Below(2) == 0 ? "a" : "";
    if (Below(8) == 0) own.backend_type = "host-gw";
    if (Below(2) == 0) own.v4.subnet = Prefix("10.244.0.0/24");
    if (Below(2) == 0) own.v4.network = Prefix("10.244.0.0/16");
    if (Below(2) == 0) own.v6.subnet = Prefix("fd00::/64");
    if (Below(2) == 0) own.v6.network = Prefix("fd00::/48");
    return own;
  }
  // With other subnets, and else the same.
  OwnIdentity Moved(OwnIdentity own) {
    own.v4.subnet.reset();
    if (Below(4) != 0) own.v4.subnet = Half(true).subnet;
    own.v6.subnet.reset();
    if (Below(4) != 0) own.v6.subnet = Half(false).subnet;
    return own;
  }

 private:
  std::mt19937 random_;
};

// What the table must hold, and what a sink that heard only changes holds.
class Model {
 public:
  explicit Model(LeaseTable& the_table) : own(the_table.own()), table(the_table) {}

  void Step(RandomCluster& cluster) {
    switch (cluster.Below(18)) {
      case 0:
        Begin();
        for (std::size_t i = cluster.Below(10); i > 0; --i) Upsert(cluster.Any());
        if (cluster.Below(2) == 0) Refuse(cluster.Refusal());
        return End();
      case 1:
        own = cluster.Below(2) == 0 ? cluster.Own() : cluster.Moved(own);
        return table.SetOwn(own);
      case 2:
        return Refuse(cluster.Refusal());
      case 3:
        return Begin();  // also where one has begun
      case 4:
        return End();  // also where none has
      case 5:
        table.DropChanges();
        for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6})
          heard[static_cast<std::size_t>(family)] = NaivePeers(leases, own, family);
        return;
      case 6: {  // a heartbeat
        if (leases.empty()) return;
        auto at = leases.begin();
        std::advance(at, static_cast<std::ptrdiff_t>(cluster.Below(leases.size())));
        return Upsert(Lease(at->second));
      }
      case 7:
      case 8:
      case 9:
        return Remove(cluster.Key());
      default:
        return Upsert(cluster.Any());
    }
  }

  void Listen(IpFamily family) {
    auto& mine = heard[static_cast<std::size_t>(family)];
    const PeerChanges changes = table.TakeChanges(family);
    for (const Peer& peer : changes.upserts) {
      const auto [at, is_new] = mine.try_emplace(peer.subnet, peer);
      EXPECT_TRUE(is_new || at->second != peer) << "said again: " << Text(peer);
      at->second = peer;
    }
    for (const IpPrefix& subnet : changes.removals)
      EXPECT_EQ(mine.erase(subnet), 1u) << subnet.ToString();
  }

  std::vector<RefusedNode> Refused() const {
    std::vector<RefusedNode> nodes;
    for (const auto& [name, refusal] : refused) nodes.push_back({name, refusal.reason});
    return nodes;
  }

  Leases leases;
  OwnIdentity own;
  std::array<std::map<IpPrefix, Peer>, 2> heard;

 private:
  struct Refusal {
    std::string reason;
    bool told = false;
  };

  void Begin() {
    table.BeginSnapshot();
    in_snapshot = true;
    told.clear();
    for (auto& [name, refusal] : refused) refusal.told = false;
  }
  void End() {
    const std::size_t before = leases.size() + refused.size();
    const bool changed = table.EndSnapshot();
    if (std::exchange(in_snapshot, false)) {
      std::erase_if(refused, [](const auto& at) { return !at.second.told; });
      std::set<std::string> names;
      for (const NodeKey& node : told) names.insert(node.name);
      std::erase_if(leases, [&](const auto& at) {
        const std::string& name = at.first.name;
        return !told.contains(at.first) && (!refused.contains(name) || names.contains(name));
      });
    }
    EXPECT_EQ(changed, leases.size() + refused.size() != before);
  }
  void Upsert(const Lease& lease) {
    const auto at = leases.find(lease.node);
    const bool changes = at == leases.end() || at->second != lease;
    leases[lease.node] = lease;
    if (in_snapshot) told.insert(lease.node);
    if (const auto refusal = refused.find(lease.node.name); refusal != refused.end()) {
      refusal->second.told = false;
      if (!in_snapshot) refused.erase(refusal);
    }
    EXPECT_EQ(table.Upsert(lease), changes);
  }
  void Remove(const NodeKey& node) {
    refused.erase(node.name);
    told.erase(node);
    EXPECT_EQ(table.Remove(node), leases.erase(node) == 1);
  }
  void Refuse(const RefusedNode& node) {
    const auto at = refused.find(node.name);
    const bool news = at == refused.end() || at->second.reason != node.reason;
    refused[node.name] = {node.reason, true};
    EXPECT_EQ(table.Refuse(node), news);
  }

  LeaseTable& table;
  std::map<std::string, Refusal> refused;
  bool in_snapshot = false;
  std::set<NodeKey> told;
};

struct Seen {
  std::vector<LeaseRow> rows;
  std::vector<RefusedNode> refused;
  OwnIdentity own;
  bool operator==(const Seen& other) const {
    const auto same = [](const LeaseRow& a, const LeaseRow& b) {
      return a.node == b.node && a.backend_type == b.backend_type && a.family == b.family &&
             a.lease == b.lease && a.state == b.state && a.detail == b.detail;
    };
    return own == other.own && refused == other.refused &&
           std::ranges::equal(rows, other.rows, same);
  }
};

TEST(LeaseTableRandom, EqualsTheNaiveRecomputationAfterEveryEvent) {
  const std::uint32_t seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomCluster cluster(seed);
  LeaseTable table;
  Model model(table);
  Seen seen;
  std::uint64_t generation = 0;
  for (int step = 0; step < 10'000; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    model.Step(cluster);
    ASSERT_EQ(table.size(), model.leases.size());
    ASSERT_EQ(table.Refused(), model.Refused());
    ASSERT_EQ(table.refused(), model.Refused().size());
    StateCounts counts[2] = {};
    const std::vector<LeaseRow> rows = table.Rows();
    std::size_t halves = 0;
    for (const auto& [key, lease] : model.leases)
      halves += lease.v4.has_value() + lease.v6.has_value();
    ASSERT_EQ(rows.size(), halves);
    std::vector<std::string> remarkable;
    for (const LeaseRow& row : rows) {
      const auto at = model.leases.find(row.node);
      ASSERT_NE(at, model.leases.end());
      const FamilyLease& half = *at->second.of(row.family);
      ASSERT_EQ(row.lease, half);
      ASSERT_EQ(row.backend_type, at->second.backend_type);
      ASSERT_EQ(Name(row.state), Name(NaiveState(at->second, half, model.leases, model.own)))
          << row.node.name;
      ASSERT_EQ(table.StateOf(row.node, row.family), row.state);
      ++counts[static_cast<std::size_t>(row.family)][static_cast<std::size_t>(row.state)];
      if (row.state != PeerState::kUsable && row.state != PeerState::kSelf)
        remarkable.push_back(row.node.name + row.detail);
    }
    ASSERT_TRUE(std::ranges::is_sorted(
        rows, {}, [](const LeaseRow& row) { return std::tie(row.node, row.family); }));
    std::vector<std::string> visited;
    table.ForEachRemarkable(
        [&](const LeaseRow& row) { visited.push_back(row.node.name + row.detail); });
    ASSERT_EQ(visited, remarkable);
    for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
      ASSERT_EQ(table.Counts(family), counts[static_cast<std::size_t>(family)]);
      const auto peers = NaivePeers(model.leases, model.own, family);
      std::vector<Peer> by_subnet;
      for (const auto& [subnet, peer] : peers) by_subnet.push_back(peer);
      ASSERT_EQ(table.Snapshot(family), by_subnet);
      // Not after every event, so that changes gather.
      if (cluster.Below(3) == 0) {
        model.Listen(family);
        ASSERT_EQ(model.heard[static_cast<std::size_t>(family)], peers);
      }
    }
    Seen now{rows, table.Refused(), table.own()};
    ASSERT_TRUE(now == seen || table.generation() > generation) << "it changed unsaid";
    seen = std::move(now);
    generation = table.generation();
    if (HasFailure()) return;
  }
}

// A change in a large cluster must not look at every lease: 20,000 of them here would take minutes
// otherwise.
TEST(LeaseTableScale, AHundredThousandLeasesChangeOneByOne) {
  LeaseTable table;
  std::vector<Lease> all;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    Lease lease = testing::MakeLease("node-" + std::to_string(i), "0.0.0.0/24", "192.0.2.1", i);
    lease.v4->subnet = *IpPrefix::Of(IpAddress::V4(0x0a000000 + (i << 8)), 24);
    lease.v4->public_ip = IpAddress::V4(0xc0000000 + i);
    all.push_back(lease);
  }
  testing::ApplySnapshot(table, all, {});
  EXPECT_EQ(table.TakeChanges(IpFamily::kV4).upserts.size(), all.size());
  for (std::size_t i = 0; i < 20'000; ++i) {
    Lease& lease = all[i * 5];
    lease.v4->vtep_mac = testing::Mac("02:00:00:00:00:02");
    table.Upsert(lease);
    ASSERT_EQ(table.TakeChanges(IpFamily::kV4).upserts.size(), 1u);
    ASSERT_EQ(table.StateOf(lease.node, IpFamily::kV4), PeerState::kUsable);
  }
}

}  // namespace
}  // namespace weft::lease
