// SPDX-License-Identifier: Apache-2.0
// The incremental table against the obvious one: every lease judged against every other, from
// scratch, after every event.
#include <algorithm>
#include <map>
#include <random>
#include <set>

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
  if (lease.backend_type != own.backend_type) return PeerState::kForeignBackend;
  if (!half.public_ip) return PeerState::kMissingPublicIp;
  if (!half.vtep_mac) return PeerState::kMissingMac;
  if (half.vni != own.vni.value()) return PeerState::kVniMismatch;
  const auto& ours = own.of(half.subnet.family()).subnet;
  return ours && ours->Overlaps(half.subnet) ? PeerState::kOverlap : PeerState::kUsable;
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
      if (Precedes(other, lease)) return PeerState::kOverlap;
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
    peers[half->subnet] = {key.name, half->subnet, *half->public_ip, *half->vtep_mac};
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

  NodeKey Key() {
    return {std::string(1, static_cast<char>('a' + Below(8))), Below(4) == 0 ? "2" : "1"};
  }

  Lease Any() {
    Lease lease;
    lease.node = Key();
    lease.created = static_cast<std::int64_t>(Below(3));
    lease.backend_type = Below(10) == 0 ? "host-gw" : "vxlan";
    if (Below(8) != 0) lease.v4 = Half(true);
    if (Below(2) != 0) lease.v6 = Half(false);
    return lease;
  }

  OwnIdentity Own() {
    OwnIdentity own;
    own.node_name = Below(2) == 0 ? "a" : "";
    if (Below(2) == 0) own.v4.subnet = Prefix("10.244.0.0/24");
    if (Below(2) == 0) own.v4.network = Prefix("10.244.0.0/16");
    if (Below(2) == 0) own.v6.subnet = Prefix("fd00::/64");
    if (Below(2) == 0) own.v6.network = Prefix("fd00::/48");
    return own;
  }

 private:
  std::mt19937 random_;
};

// What the table must hold, and what a sink that heard only changes holds.
class Model {
 public:
  void Apply(RandomCluster& cluster, LeaseTable& table) {
    switch (cluster.Below(12)) {
      case 0: {
        Leases next;
        std::vector<Lease> list;
        for (std::size_t i = cluster.Below(10); i > 0; --i) list.push_back(cluster.Any());
        for (const Lease& lease : list) next[lease.node] = lease;
        std::vector<RefusedNode> refused;
        if (cluster.Below(2) == 0) refused.push_back({cluster.Key().name, "broken"});
        for (const RefusedNode& node : refused) {
          const bool readable = std::any_of(
              next.begin(), next.end(), [&](const auto& at) { return at.first.name == node.name; });
          for (const auto& [key, lease] : leases) {
            if (key.name == node.name && !readable) kept.emplace(key, lease);
          }
        }
        next.merge(kept);
        kept.clear();
        leases = std::move(next);
        testing::ApplySnapshot(table, std::move(list), std::move(refused));
        break;
      }
      case 1:
        own = cluster.Own();
        table.SetOwn(own);
        break;
      case 2:
        table.Refuse({cluster.Key().name, "broken"});
        break;
      case 3:
      case 4:
      case 5: {
        const NodeKey key = cluster.Key();
        EXPECT_EQ(table.Remove(key), leases.erase(key) == 1);
        break;
      }
      default: {
        const Lease lease = cluster.Any();
        leases[lease.node] = lease;
        table.Upsert(lease);
      }
    }
  }

  void Listen(LeaseTable& table, IpFamily family) {
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

  Leases leases;
  Leases kept;
  OwnIdentity own;
  std::array<std::map<IpPrefix, Peer>, 2> heard;
};

TEST(LeaseTableRandom, EqualsTheNaiveRecomputationAfterEveryEvent) {
  const std::uint32_t seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomCluster cluster(seed);
  LeaseTable table;
  Model model;
  model.own = table.own();
  for (int step = 0; step < 6000; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    model.Apply(cluster, table);
    ASSERT_EQ(table.size(), model.leases.size());
    StateCounts counts[2] = {};
    for (const LeaseRow& row : table.Rows()) {
      const auto at = model.leases.find(row.node);
      ASSERT_NE(at, model.leases.end());
      const FamilyLease& half = *at->second.of(row.family);
      ASSERT_EQ(row.lease, half);
      ASSERT_EQ(Name(row.state), Name(NaiveState(at->second, half, model.leases, model.own)))
          << row.node.name;
      ++counts[static_cast<std::size_t>(row.family)][static_cast<std::size_t>(row.state)];
    }
    for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
      ASSERT_EQ(table.Counts(family), counts[static_cast<std::size_t>(family)]);
      // Not after every event, so that changes gather.
      if (cluster.Below(3) == 0) {
        model.Listen(table, family);
        ASSERT_EQ(model.heard[static_cast<std::size_t>(family)],
                  NaivePeers(model.leases, model.own, family));
      }
    }
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
