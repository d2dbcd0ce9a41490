// SPDX-License-Identifier: Apache-2.0
// The incremental table against its rules: after every event each lease is judged from scratch, and
// those in use against all others.
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

bool IsComplete(PeerState alone) {
  return alone == PeerState::kUsable || alone == PeerState::kKeptLease;
}

// The state that the table must give a lease alone.
PeerState NaiveAlone(const Lease& lease, const FamilyLease& half, const OwnIdentity& own) {
  const IpFamily family = half.subnet.family();
  const OwnFamily& ours = own.of(family);
  if (lease.node.name == own.node_name) return PeerState::kSelf;
  if (!ours.enabled) return PeerState::kFamilyOff;
  if (!absl::EqualsIgnoreCase(lease.backend_type, own.backend_type))
    return PeerState::kForeignBackend;
  if (!half.public_ip) return PeerState::kMissingPublicIp;
  const bool vxlan = own.backend_type == "vxlan";
  if (vxlan && !half.vtep_mac) return PeerState::kMissingMac;
  if (vxlan && half.vni != own.vni.value()) return PeerState::kVniMismatch;
  if (ours.subnet && ours.subnet->Overlaps(half.subnet)) return PeerState::kOverlap;
  if (half.subnet.Contains(*half.public_ip) ||
      (ours.subnet && ours.subnet->Contains(*half.public_ip)))
    return PeerState::kBadPublicIp;
  for (const HostClaim& claim : ours.claims) {
    if (half.subnet.Contains(claim.prefix)) return PeerState::kHostConflict;
  }
  if (ours.network && !ours.network->Contains(half.subnet)) return PeerState::kOutsideNetwork;
  return half.kept_since ? PeerState::kKeptLease : PeerState::kUsable;
}

// Whether the two cannot both be in use, in either order.
bool Conflict(const FamilyLease& a, const FamilyLease& b) {
  return a.subnet == b.subnet || a.subnet.Contains(*b.public_ip) || b.subnet.Contains(*a.public_ip);
}
// Whether `part` may lose to `whole`.
bool IsPart(const FamilyLease& part, const FamilyLease& whole, const OwnIdentity& own) {
  const auto& ours = own.of(part.subnet.family()).subnet;
  return ours && part.subnet.length() > ours->length() && whole.subnet.length() >= ours->length() &&
         whole.subnet.length() < part.subnet.length() && whole.subnet.Contains(part.subnet);
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
    half.node_address = Below(2) == 0;
    if (Below(20) == 0)
      half.public_ip = testing::Address(v4 ? "10.244.2.200" : "fd00:0:0:1::7");
    else if (Below(10) != 0)
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

  RefusedNode Refusal() {
    RefusedNode node{Name(), Below(2) == 0 ? "broken" : "broken otherwise"};
    if (Below(2) == 0) node.uid = Key().uid;
    return node;
  }

  OwnIdentity Own() {
    OwnIdentity own;
    own.node_name = Below(2) == 0 ? "a" : "";
    if (Below(8) == 0) own.backend_type = "host-gw";
    if (Below(2) == 0) own.v4.subnet = Prefix("10.244.0.0/24");
    if (Below(2) == 0) own.v4.network = Prefix("10.244.0.0/16");
    if (Below(2) == 0) own.v6.subnet = Prefix("fd00::/64");
    if (Below(2) == 0) own.v6.network = Prefix("fd00::/48");
    if (Below(8) == 0) own.v6.enabled = false;
    if (Below(2) == 0) own.v4.claims = {{Prefix("10.244.3.9/32"), "an address"}};
    if (Below(2) == 0) own.v4.claims.push_back({Prefix("192.168.0.0/24"), "a prefix"});
    return own;
  }
  // With other subnets, otherwise the same.
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

// The expected table, and the leases of a sink that received changes only.
class Model {
 public:
  explicit Model(LeaseTable& the_table) : own(the_table.own()), table(the_table) {}

  void Step(RandomCluster& cluster) {
    const std::size_t kind = cluster.Below(18);
    several = kind == 0;
    switch (kind) {
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
        for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
          auto& mine = received[static_cast<std::size_t>(family)];
          mine.clear();
          for (const Peer& peer : table.Snapshot(family)) mine[peer.subnet] = peer;
          given[static_cast<std::size_t>(family)] = true;
        }
        return;
      case 6: {  // a heartbeat
        if (last_reported.empty()) return;
        auto at = last_reported.begin();
        std::advance(at, static_cast<std::ptrdiff_t>(cluster.Below(last_reported.size())));
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
    auto& mine = received[static_cast<std::size_t>(family)];
    given[static_cast<std::size_t>(family)] = true;
    const PeerChanges changes = table.DrainChanges(family);
    for (const Peer& peer : changes.upserts) {
      const auto [at, is_new] = mine.try_emplace(peer.subnet, peer);
      EXPECT_TRUE(is_new || at->second != peer) << "reported again: " << Text(peer);
      at->second = peer;
    }
    for (const IpPrefix& subnet : changes.removals)
      EXPECT_EQ(mine.erase(subnet), 1u) << subnet.ToString();
  }

  std::vector<RefusedNode> Refused() const {
    std::vector<RefusedNode> nodes;
    for (const auto& [name, refusal] : refused)
      nodes.push_back({name, refusal.reason, refusal.uid});
    return nodes;
  }

  Leases leases;         // as they are used: missing values are kept
  Leases last_reported;  // as they were reported
  OwnIdentity own;
  std::array<std::map<IpPrefix, Peer>, 2> received;
  std::array<bool, 2> given{};  // sinks received the leases of the family
  bool several = false;         // the last step reported more than one node

 private:
  struct Refusal {
    std::string reason;
    std::string uid;
    bool told = false;
  };

  // As it counts after what counted before.
  static Lease Completed(const Lease& reported, const Lease& before) {
    Lease lease = reported;
    for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
      auto& half = family == IpFamily::kV4 ? lease.v4 : lease.v6;
      const auto& known = before.of(family);
      if (!half || !known || half->vtep_mac || !half->vni) continue;
      if (!absl::EqualsIgnoreCase(reported.backend_type, before.backend_type)) continue;
      if (half->subnet != known->subnet || half->vni != known->vni) continue;
      if (!known->public_ip || !known->vtep_mac) continue;
      half = known;
      if (!half->kept_since) half->kept_since = kNow;
    }
    return lease;
  }

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
        const auto refusal = refused.find(at.first.name);
        const bool kept = refusal != refused.end() && !names.contains(at.first.name) &&
                          (refusal->second.uid.empty() || refusal->second.uid == at.first.uid);
        return !told.contains(at.first) && !kept;
      });
      std::erase_if(last_reported, [&](const auto& at) { return !leases.contains(at.first); });
    }
    EXPECT_EQ(changed, leases.size() + refused.size() != before);
  }
  void Upsert(const Lease& reported) {
    const auto at = leases.find(reported.node);
    const Lease lease = at == leases.end() || reported.node.name == own.node_name
                            ? reported
                            : Completed(reported, at->second);
    const bool changes = at == leases.end() || at->second != lease;
    leases[lease.node] = lease;
    last_reported[lease.node] = reported;
    if (in_snapshot) told.insert(lease.node);
    if (const auto refusal = refused.find(lease.node.name); refusal != refused.end()) {
      refusal->second.told = false;
      if (!in_snapshot) refused.erase(refusal);
    }
    EXPECT_EQ(table.Upsert(reported), changes);
  }
  void Remove(const NodeKey& node) {
    const auto refusal = refused.find(node.name);
    if (refusal != refused.end() &&
        (node.uid.empty() || refusal->second.uid.empty() || refusal->second.uid == node.uid))
      refused.erase(refusal);
    told.erase(node);
    last_reported.erase(node);
    EXPECT_EQ(table.Remove(node), leases.erase(node) == 1);
  }
  void Refuse(const RefusedNode& node) {
    const auto at = refused.find(node.name);
    const bool is_change =
        at == refused.end() || at->second.reason != node.reason || at->second.uid != node.uid;
    refused[node.name] = {node.reason, node.uid, true};
    EXPECT_EQ(table.Refuse(node), is_change);
  }

  LeaseTable& table;
  std::map<std::string, Refusal> refused;
  bool in_snapshot = false;
  std::set<NodeKey> told;

 public:
  static constexpr std::int64_t kNow = 1'795'046'400;
};

// Which of the model's leases the table has in use, held against every rule by which it may.
class Judge {
 public:
  Judge(const LeaseTable& table, const Model& model, IpFamily family)
      : table_(table), model_(model), family_(family) {
    for (const auto& [key, lease] : model.leases) {
      const auto& half = lease.of(family);
      if (half && IsUsable(*testing::StateOf(table, key, family))) used_[key] = *half;
    }
  }

  // `before`: those that were in use before the event.
  void Expect(const std::map<NodeKey, FamilyLease>& before) const {
    for (const auto& [key, lease] : model_.leases) {
      const auto& half = lease.of(family_);
      if (!half) continue;
      SCOPED_TRACE(key.name + " " + key.uid + " " + half->subnet.ToString());
      const PeerState alone = NaiveAlone(lease, *half, model_.own);
      const PeerState state = *testing::StateOf(table_, key, family_);
      if (used_.contains(key)) {
        ExpectUsed(key, *half, alone, state, before);
      } else if (!IsComplete(alone)) {
        EXPECT_EQ(Name(state), Name(alone));
      } else {
        ExpectWaits(key, lease, *half, state, before);
      }
    }
  }

  const std::map<NodeKey, FamilyLease>& used() const { return used_; }

 private:
  bool given() const { return model_.given[static_cast<std::size_t>(family_)]; }

  void ExpectUsed(const NodeKey& key, const FamilyLease& half, PeerState alone, PeerState state,
                  const std::map<NodeKey, FamilyLease>& before) const {
    bool nested = false;
    for (const auto& [other, theirs] : used_) {
      if (other == key) continue;
      EXPECT_FALSE(Conflict(half, theirs)) << "with " << other.name;
      nested = nested || theirs.subnet.Overlaps(half.subnet);
    }
    if (alone == PeerState::kHostConflict || alone == PeerState::kOutsideNetwork) {
      EXPECT_EQ(state, PeerState::kHostChanged);
      EXPECT_TRUE(given());
      const auto was = before.find(key);
      EXPECT_TRUE(model_.several || (was != before.end() && was->second.subnet == half.subnet))
          << "a newcomer";
      return;
    }
    ASSERT_TRUE(IsComplete(alone)) << Name(alone);
    std::size_t sharing = 0;
    for (const auto& [other, theirs] : model_.leases)
      sharing += theirs.of(family_) && theirs.of(family_)->public_ip == half.public_ip ? 1 : 0;
    EXPECT_EQ(Name(state), Name(alone == PeerState::kKeptLease ? alone
                                : nested                       ? PeerState::kNestedSubnet
                                : sharing > 1                  ? PeerState::kDuplicatePublicIp
                                                               : PeerState::kUsable));
  }

  // No lease waits without a reason, and a lease in use waits because of another one only where an
  // address decides.
  void ExpectWaits(const NodeKey& key, const Lease& lease, const FamilyLease& half, PeerState state,
                   const std::map<NodeKey, FamilyLease>& before) const {
    bool reason = false, own_name = false, address = false;
    for (const auto& [other, theirs] : used_) {
      const bool by_address = !half.node_address && theirs.subnet.Contains(*half.public_ip);
      const bool by_node = theirs.node_address && half.subnet.Contains(*theirs.public_ip);
      const bool conflict =
          by_address || by_node || half.subnet == theirs.subnet || IsPart(half, theirs, model_.own);
      reason = reason || conflict;
      address = address || by_address || by_node;
      own_name = own_name || (conflict && other.name == key.name);
    }
    EXPECT_TRUE(reason) << lease.backend_type;
    EXPECT_TRUE(state == PeerState::kOverlap || state == PeerState::kBadPublicIp) << Name(state);
    const auto was = before.find(key);
    if (!given() || model_.several || was == before.end() || own_name || address) return;
    EXPECT_FALSE(was->second.subnet == half.subnet && was->second.public_ip == half.public_ip)
        << "it was in use, and has not changed";
  }

  const LeaseTable& table_;
  const Model& model_;
  const IpFamily family_;
  std::map<NodeKey, FamilyLease> used_;
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

TEST(LeaseTableRandom, KeepsItsRulesAfterEveryEvent) {
  const std::uint32_t seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomCluster cluster(seed);
  LeaseTable table({}, [] { return Model::kNow; });
  Model model(table);
  Seen seen;
  std::uint64_t generation = 0;
  std::array<std::map<NodeKey, FamilyLease>, 2> used;
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
      ASSERT_EQ(row.lease, *at->second.of(row.family));
      ASSERT_EQ(row.backend_type, at->second.backend_type);
      ASSERT_EQ(testing::StateOf(table, row.node, row.family), row.state);
      ++counts[static_cast<std::size_t>(row.family)][static_cast<std::size_t>(row.state)];
      if (IsRemarkable(row.state)) remarkable.push_back(row.node.name + row.detail);
    }
    ASSERT_TRUE(std::ranges::is_sorted(
        rows, {}, [](const LeaseRow& row) { return std::tie(row.node, row.family); }));
    std::vector<std::string> visited;
    table.ForEachRemarkable(
        [&](const LeaseRow& row) { visited.push_back(row.node.name + row.detail); });
    ASSERT_EQ(visited, remarkable);
    for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
      const auto index = static_cast<std::size_t>(family);
      ASSERT_EQ(table.Counts(family), counts[index]);
      const Judge judge(table, model, family);
      judge.Expect(used[index]);
      used[index] = judge.used();
      std::map<IpPrefix, Peer> peers;
      for (const auto& [key, half] : judge.used()) {
        peers[half.subnet] = {key.name, half.subnet, *half.public_ip,
                              half.vtep_mac.value_or(MacAddress())};
      }
      std::vector<Peer> by_subnet;
      for (const auto& [subnet, peer] : peers) by_subnet.push_back(peer);
      ASSERT_EQ(table.Snapshot(family), by_subnet);
      // Not after every event, so that changes gather.
      if (cluster.Below(3) == 0) {
        model.Listen(family);
        ASSERT_EQ(model.received[index], peers);
      }
    }
    Seen now{rows, table.Refused(), table.own()};
    ASSERT_TRUE(now == seen || table.generation() > generation) << "it changed unsaid";
    seen = std::move(now);
    generation = table.generation();
    if (HasFailure()) return;
  }
}

// A change in a large cluster must not visit every lease: 20,000 of them here would take minutes
// otherwise.
TEST(LeaseTableScale, AHundredThousandLeasesChangeOneByOne) {
  LeaseTable table;
  std::vector<Lease> all;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    Lease lease = testing::MakeLease("node-" + std::to_string(i), "0.0.0.0/24", "192.0.2.1", i);
    lease.v4->subnet = *IpPrefix::From(IpAddress::V4(0x0a000000 + (i << 8)), 24);
    lease.v4->public_ip = IpAddress::V4(0xc0000000 + i);
    all.push_back(lease);
  }
  testing::ApplySnapshot(table, all, {});
  EXPECT_EQ(table.DrainChanges(IpFamily::kV4).upserts.size(), all.size());
  for (std::size_t i = 0; i < 20'000; ++i) {
    Lease& lease = all[i * 5];
    lease.v4->vtep_mac = testing::Mac("02:00:00:00:00:02");
    table.Upsert(lease);
    ASSERT_EQ(table.DrainChanges(IpFamily::kV4).upserts.size(), 1u);
    ASSERT_EQ(testing::StateOf(table, lease.node, IpFamily::kV4), PeerState::kUsable);
  }
}

}  // namespace
}  // namespace weft::lease
