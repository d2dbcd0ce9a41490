// SPDX-License-Identifier: Apache-2.0
#include "dataplane/remote_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/dataplane/support.h"
#include "tests/support/seed.h"

namespace weft::dataplane {
namespace {

LocalVtep Local() { return DefaultConfig().local; }

std::string VtepFor(const RemoteTable& table, std::string_view address) {
  const auto snapshot = table.snapshot();
  const Remote* const remote = snapshot->Find(Ip(address));
  return remote == nullptr ? "none" : remote->vtep.ToString();
}

std::set<std::string> NamesOf(const PeerTable& peers) {
  std::set<std::string> names;
  for (const auto& row : peers.Read()) {
    if (!row.name.empty()) names.insert(row.name);
  }
  return names;
}

TEST(RemoteTable, FindsLeasesOfBothFamilies) {
  PeerTable peers;
  RemoteTable table(Local(), peers);
  table.Resync(DefaultLeases());
  EXPECT_EQ(table.size(), 5u);
  const std::pair<const char*, const char*> rows[] = {
      {"10.244.1.0", "192.0.2.1"},   {"10.244.1.255", "192.0.2.1"}, {"10.244.2.1", "none"},
      {"10.244.6.1", "2001:db8::6"}, {"fd00:1::1", "192.0.2.1"},    {"fd00:2::1", "none"},
  };
  for (const auto& [address, vtep] : rows) EXPECT_EQ(VtepFor(table, address), vtep) << address;
}

TEST(RemoteTable, HoldsWhatTheForwarderStamps) {
  PeerTable peers;
  RemoteTable table(Local(), peers);
  table.Resync(DefaultLeases());
  const auto snapshot = table.snapshot();
  const Remote* const remote = snapshot->Find(Ip("10.244.1.9"));
  ASSERT_NE(remote, nullptr);
  EXPECT_EQ(remote->mac, Mac("02:00:00:00:00:01"));
  EXPECT_EQ(remote->slots, peers.slots(peers.Acquire("linux-1")));
  const EncapsulationSpec spec = SpecOf(remote->encapsulation);
  EXPECT_EQ(spec.outer_source, Ip("192.0.2.2"));
  EXPECT_EQ(spec.outer_destination, Ip("192.0.2.1"));
  EXPECT_EQ(spec.inner_source, Mac("02:00:00:00:00:02"));
  EXPECT_EQ(spec.inner_destination, Mac("02:00:00:00:00:01"));
  EXPECT_EQ(spec.ttl, 64);
  EXPECT_TRUE(spec.udp_checksum);
  EXPECT_EQ(SpecOf(snapshot->Find(Ip("10.244.6.1"))->encapsulation).outer_source, Ip("::"))
      << "an IPv6 peer of an IPv4 node: the kernel chooses the source";
}

TEST(RemoteTable, PublishesOncePerUpdateAndNotWhenNothingDiffers) {
  PeerTable peers;
  RemoteTable table(Local(), peers);
  const std::uint64_t start = table.version();
  table.Resync(DefaultLeases());
  EXPECT_EQ(table.version(), start + 1);
  EXPECT_EQ(table.snapshot()->version(), table.version());
  table.Resync(DefaultLeases());
  table.Update(DefaultLeases(), {});
  table.Update({}, std::vector{Prefix("10.9.0.0/16")});
  EXPECT_EQ(table.version(), start + 1);
}

TEST(RemoteTable, ResyncRemovesWhatIsNotDesiredAndUpdatePrefersRemoval) {
  PeerTable peers;
  RemoteTable table(Local(), peers);
  table.Resync(DefaultLeases());
  table.Resync(std::vector{Lease("linux-3", "10.244.3.0/24", "192.0.2.3", "02:00:00:00:00:03")});
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(VtepFor(table, "10.244.1.1"), "none");
  EXPECT_EQ(VtepFor(table, "fd00:1::1"), "none");
  const std::vector both{Lease("x", "10.244.9.0/24", "192.0.2.9", "02:00:00:00:00:09")};
  table.Update(both, std::vector{both[0].subnet});
  EXPECT_EQ(VtepFor(table, "10.244.9.1"), "none");
}

TEST(RemoteTable, ALeaseMovesToAnotherVtepAndPeer) {
  PeerTable peers;
  RemoteTable table(Local(), peers);
  table.Resync(DefaultLeases());
  table.Update(std::vector{Lease("other", "10.244.3.0/24", "192.0.2.4", "02:00:00:00:00:04")}, {});
  EXPECT_EQ(table.size(), 5u);
  EXPECT_EQ(VtepFor(table, "10.244.3.1"), "192.0.2.4");
  EXPECT_TRUE(table.snapshot()->IsVtep(Ip("192.0.2.3"))) << "linux-3b is still there";
  EXPECT_TRUE(table.snapshot()->IsVtep(Ip("192.0.2.4")));
  table.Update(std::vector{Lease("other", "10.244.3.0/24", "192.0.2.5", "02:00:00:00:00:04")}, {});
  EXPECT_EQ(VtepFor(table, "10.244.3.1"), "192.0.2.5") << "the VTEP alone";
  table.Update(std::vector{Lease("other", "10.244.3.0/24", "192.0.2.5", "02:00:00:00:00:05")}, {});
  EXPECT_EQ(table.snapshot()->Find(Ip("10.244.3.1"))->mac, Mac("02:00:00:00:00:05"))
      << "the MAC alone";
}

TEST(RemoteTable, KnowsVtepsAsLongAsOneLeaseHasThem) {
  PeerTable peers;
  RemoteTable table(Local(), peers);
  table.Resync(DefaultLeases());
  EXPECT_FALSE(table.snapshot()->IsVtep(Ip("192.0.2.9")));
  EXPECT_TRUE(table.snapshot()->IsVtep(Ip("2001:db8::6")));
  table.Update({}, std::vector{Prefix("10.244.33.0/24")});
  EXPECT_TRUE(table.snapshot()->IsVtep(Ip("192.0.2.3")));
  table.Update({}, std::vector{Prefix("10.244.3.0/24")});
  EXPECT_FALSE(table.snapshot()->IsVtep(Ip("192.0.2.3")));
}

TEST(RemoteTable, RemovalUncoversTheShorterPrefix) {
  PeerTable peers;
  RemoteTable table(Local(), peers);
  table.Resync(std::vector{Lease("wide", "10.0.0.0/8", "192.0.2.8", "02:00:00:00:00:08"),
                           Lease("wide6", "fd00::/16", "192.0.2.8", "02:00:00:00:00:08"),
                           Lease("narrow", "10.1.2.128/25", "192.0.2.9", "02:00:00:00:00:09"),
                           Lease("narrow6", "fd00:1::/64", "192.0.2.9", "02:00:00:00:00:09")});
  EXPECT_EQ(VtepFor(table, "10.1.2.200"), "192.0.2.9");
  EXPECT_EQ(VtepFor(table, "fd00:1::5"), "192.0.2.9");
  table.Update({}, std::vector{Prefix("10.1.2.128/25"), Prefix("fd00:1::/64")});
  EXPECT_EQ(VtepFor(table, "10.1.2.200"), "192.0.2.8");
  EXPECT_EQ(VtepFor(table, "fd00:1::5"), "192.0.2.8");
}

TEST(RemoteTable, AHeldSnapshotStaysAsItWasAndItsPagesAreFreedAfterwards) {
  PeerTable peers;
  RemoteTable table(Local(), peers);
  table.Resync(DefaultLeases());
  auto held = table.snapshot();
  table.Resync({});
  EXPECT_NE(held->Find(Ip("10.244.1.1")), nullptr);
  EXPECT_EQ(table.retired_states(), 1u);
  table.Resync(DefaultLeases());
  EXPECT_EQ(table.retired_states(), 2u) << "younger states wait for older ones";
  held.reset();
  table.Update({}, {});
  EXPECT_EQ(table.retired_states(), 0u);
}

TEST(RemoteTable, APeerKeepsItsSlotAcrossChangesAndLosesItWithItsLastSubnet) {
  PeerTable peers;
  RemoteTable table(Local(), peers);
  table.Resync(DefaultLeases());
  const PeerTable::Slot* const slot = table.snapshot()->Find(Ip("10.244.1.1"))->slots;
  table.Update(std::vector{Lease("linux-1", "10.244.1.0/24", "192.0.2.77", "02:00:00:00:00:77")},
               {});
  EXPECT_EQ(table.snapshot()->Find(Ip("10.244.1.1"))->slots, slot);
  // Replaced by another subnet in one update: the slot is kept.
  table.Update(std::vector{Lease("linux-3", "10.244.4.0/24", "192.0.2.3", "02:00:00:00:00:03")},
               std::vector{Prefix("10.244.3.0/24")});
  EXPECT_TRUE(NamesOf(peers).contains("linux-3"));

  auto held = table.snapshot();
  table.Update({}, std::vector{Prefix("10.244.4.0/24")});
  EXPECT_TRUE(NamesOf(peers).contains("linux-3")) << "a snapshot that names its slot is held";
  held.reset();
  table.Update({}, {});
  EXPECT_FALSE(NamesOf(peers).contains("linux-3"));
}

TEST(RemoteTable, APeerThatComesBackBeforeItsSlotWasFreedKeepsIt) {
  PeerTable peers;
  RemoteTable table(Local(), peers);
  const std::vector lease{Lease("a", "10.1.0.0/24", "192.0.2.1", "02:00:00:00:00:01")};
  table.Resync(lease);
  auto first = table.snapshot();
  const PeerTable::Slot* const slot = first->Find(Ip("10.1.0.1"))->slots;
  table.Resync({});
  table.Resync(lease);
  EXPECT_EQ(table.snapshot()->Find(Ip("10.1.0.1"))->slots, slot);
  auto second = table.snapshot();
  table.Resync({});
  first.reset();
  table.Update({}, {});
  EXPECT_TRUE(NamesOf(peers).contains("a")) << "the second snapshot still names the slot";
  second.reset();
  table.Update({}, {});
  EXPECT_FALSE(NamesOf(peers).contains("a"));
}

TEST(RemoteTable, APeerThatIsBackIsNotReleasedWithTheStateThatItHadLeft) {
  PeerTable peers;
  RemoteTable table(Local(), peers);
  const std::vector lease{Lease("a", "10.1.0.0/24", "192.0.2.1", "02:00:00:00:00:01")};
  table.Resync(lease);
  auto held = table.snapshot();
  table.Resync({});
  table.Resync(lease);
  held.reset();
  table.Update({}, {});
  EXPECT_EQ(NamesOf(peers), std::set<std::string>{"a"});
}

TEST(RemoteTable, APeerMayLeaveTwiceInOneUpdate) {
  PeerTable peers;
  RemoteTable table(Local(), peers);
  const RemoteSpec a = Lease("a", "10.1.0.0/24", "192.0.2.1", "02:00:00:00:00:01");
  const RemoteSpec b = Lease("b", "10.1.0.0/24", "192.0.2.2", "02:00:00:00:00:02");
  table.Resync(std::vector{a});
  table.Update(std::vector{b, a}, std::vector{a.subnet});
  table.Update({}, {});
  EXPECT_TRUE(NamesOf(peers).empty());
}

TEST(RemoteTable, AHundredThousandLeasesAreFound) {
  PeerTable peers;
  RemoteTable table(Local(), peers);
  std::vector<RemoteSpec> leases;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    leases.push_back({"n" + std::to_string(i),
                      *IpPrefix::From(IpAddress::V4(0x0a00'0000 + (i << 8)), 24),
                      IpAddress::V4(0xac10'0000 + i), Mac("02:00:00:00:00:01")});
  }
  table.Resync(leases);
  EXPECT_EQ(table.size(), 100'000u);
  EXPECT_EQ(table.snapshot()->Find(IpAddress::V4(0x0a00'0000 + (99'999u << 8) + 1))->vtep,
            IpAddress::V4(0xac10'0000 + 99'999));
}

// Random leases of all lengths and both families against a linear search.
TEST(RemoteTable, AgreesWithALinearSearchThroughRandomUpdates) {
  const std::uint32_t seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  PeerTable peers;
  RemoteTable table(Local(), peers);
  std::map<IpPrefix, RemoteSpec> naive;
  const auto random_address = [&]() -> IpAddress {
    if (random() % 2 == 0) return IpAddress::V4(0x0af0'0000 | (random() & 0x000f'03ff));
    std::array<std::byte, 16> bytes{std::byte{0xfd}};
    bytes[7] = static_cast<std::byte>(random() % 4);
    bytes[8] = static_cast<std::byte>(random() % 4);
    bytes[15] = static_cast<std::byte>(random() % 4);
    return IpAddress::V6(bytes);
  };
  std::vector<std::shared_ptr<const RemoteSnapshot>> held;
  for (int step = 0; step < 400; ++step) {
    std::map<IpPrefix, RemoteSpec> changed;
    std::vector<IpPrefix> removed;
    for (auto i = random() % 6; i > 0; --i) {
      const IpAddress address = random_address();
      const IpPrefix subnet = *IpPrefix::From(
          address, static_cast<int>(random() % static_cast<unsigned>(address.bits() + 1)));
      const auto number = random() % 5;
      changed[subnet] = {"peer-" + std::to_string(number), subnet,
                         IpAddress::V4(0xc000'0200 + static_cast<std::uint32_t>(number % 3)),
                         Mac("02:00:00:00:00:01")};
    }
    for (const auto& [subnet, spec] : naive) {
      if (random() % 8 == 0) removed.push_back(subnet);
    }
    std::vector<RemoteSpec> specs;
    for (const auto& [subnet, spec] : changed) specs.push_back(spec), naive[subnet] = spec;
    for (const IpPrefix& subnet : removed) naive.erase(subnet);
    table.Update(specs, removed);
    if (random() % 3 == 0) held.push_back(table.snapshot());
    if (held.size() > 4)
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(random() % held.size()));

    ASSERT_EQ(table.size(), naive.size());
    const auto snapshot = table.snapshot();
    std::set<IpAddress> vteps;
    for (const auto& [subnet, spec] : naive) vteps.insert(spec.vtep);
    for (std::uint32_t i = 0; i < 4; ++i) {
      const IpAddress vtep = IpAddress::V4(0xc000'0200 + i);
      ASSERT_EQ(snapshot->IsVtep(vtep), vteps.contains(vtep));
      std::size_t chained = 0;
      for (std::uint32_t at = snapshot->FirstAtVtep(vtep); at != 0; at = snapshot->NextAtVtep(at)) {
        ASSERT_EQ(snapshot->At(at)->vtep, vtep);
        ++chained;
      }
      ASSERT_EQ(chained, static_cast<std::size_t>(std::count_if(
                             naive.begin(), naive.end(),
                             [&](const auto& entry) { return entry.second.vtep == vtep; })));
    }
    for (int i = 0; i < 50; ++i) {
      const IpAddress address = random_address();
      const RemoteSpec* best = nullptr;
      for (const auto& [subnet, spec] : naive) {
        if (subnet.Contains(address) &&
            (best == nullptr || subnet.length() > best->subnet.length()))
          best = &spec;
      }
      const Remote* const remote = snapshot->Find(address);
      ASSERT_EQ(remote == nullptr, best == nullptr) << address.ToString() << " step " << step;
      if (best != nullptr) {
        ASSERT_EQ(remote->vtep, best->vtep);
        ASSERT_EQ(remote->slots, peers.slots(peers.Acquire(best->peer)));
      }
    }
  }
  held.clear();
  table.Resync({});
  table.Update({}, {});
  EXPECT_EQ(table.retired_states(), 0u);
  EXPECT_TRUE(NamesOf(peers).empty());
}

}  // namespace
}  // namespace weft::dataplane
