// SPDX-License-Identifier: Apache-2.0
#include "control/admin/lease_list.h"

#include <memory>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/support/lease_makers.h"

namespace weft::admin {
namespace {

using lease::FamilyLease;
using lease::Lease;

FamilyLease Half(std::string_view subnet, std::string_view public_ip, std::string_view mac) {
  return {.subnet = *IpPrefix::Parse(subnet),
          .public_ip = IpAddress::Parse(public_ip),
          .vni = 4096,
          .vtep_mac = MacAddress::Parse(mac)};
}

std::unique_ptr<lease::LeaseTable> Table() {
  lease::OwnIdentity own;
  own.node_name = "me";
  auto table = std::make_unique<lease::LeaseTable>(own);
  Lease me{.node = {"me", "u1"}, .created = 0, .backend_type = "vxlan", .v4 = {}, .v6 = {}};
  me.v4 = Half("10.244.1.0/24", "192.0.2.1", "02:00:00:00:00:01");
  Lease both{.node = {"both", "u2"}, .created = 0, .backend_type = "vxlan", .v4 = {}, .v6 = {}};
  both.v4 = Half("10.244.2.0/24", "192.0.2.2", "02:00:00:00:00:02");
  both.v6 = Half("fd00:2::/64", "2001:db8::2", "02:00:00:00:00:62");
  Lease half{.node = {"half", ""}, .created = 0, .backend_type = "vxlan", .v4 = {}, .v6 = {}};
  half.v4 = Half("10.244.3.0/24", "192.0.2.3", "");
  testing::ApplySnapshot(*table, {me, half, both}, {{"bad", "spec.podCIDR is missing"}});
  return table;
}

TEST(LeaseListTest, OneRowANodeByName) {
  const auto table = Table();
  const LeaseList list = ListLeases(*table, "file nodes.json");
  EXPECT_EQ(list.generation, table->generation());
  EXPECT_EQ(list.source, "file nodes.json");
  ASSERT_EQ(list.leases.size(), 3u);
  EXPECT_EQ(list.leases[0].node, "both");
  EXPECT_EQ(list.leases[0].uid, "u2");
  EXPECT_EQ(list.leases[0].v4->subnet.ToString(), "10.244.2.0/24");
  EXPECT_EQ(list.leases[0].v6->public_ip->ToString(), "2001:db8::2");
  EXPECT_EQ(list.leases[1].node, "half");
  EXPECT_EQ(list.leases[2].node, "me");
  EXPECT_THAT(list.refused,
              ::testing::ElementsAre(lease::RefusedNode{"bad", "spec.podCIDR is missing"}));
}

TEST(LeaseListTest, StatesCarryNameSentenceAndUse) {
  const LeaseList list = ListLeases(*Table(), "");
  EXPECT_EQ(list.leases[0].v4->state, "usable");
  EXPECT_TRUE(list.leases[0].v4->usable);
  EXPECT_EQ(list.leases[1].v4->state, "missing-mac");
  EXPECT_FALSE(list.leases[1].v4->usable);
  EXPECT_FALSE(list.leases[1].v4->vtep_mac.has_value());
  EXPECT_EQ(list.leases[2].v4->state, "self");
  for (const LeaseRow& row : list.leases) EXPECT_NE(row.v4->state_sentence, "");
  EXPECT_EQ(list.leases[0].v6->state, "usable");
  EXPECT_NE(list.leases[0].v6->state_sentence, "");
}

TEST(LeaseListTest, CountsAreOfHalvesAndLeaveEmptyStatesOut) {
  const std::vector<LeaseCount> counts = CountLeases(*Table());
  ASSERT_EQ(counts.size(), 3u);
  EXPECT_EQ(counts[0].state, "usable");
  EXPECT_EQ(counts[0].count, 2u);
  EXPECT_EQ(counts[1].state, "self");
  EXPECT_EQ(counts[1].count, 1u);
  EXPECT_EQ(counts[2].state, "missing-mac");
  EXPECT_EQ(counts[2].count, 1u);
}

TEST(LeaseListTest, TheFirstFiveOfAStateAreNamed) {
  lease::LeaseTable table;
  for (int i = 0; i < 7; ++i) {
    const std::string n = std::to_string(i);
    Lease one{.node = {"n" + n, ""}, .created = 0, .backend_type = "vxlan", .v4 = {}, .v6 = {}};
    one.v4 = Half("10.244." + n + ".0/24", "192.0.2." + n, "");
    table.Upsert(one);
  }
  const std::vector<LeaseCount> counts = CountLeases(table);
  ASSERT_EQ(counts.size(), 1u);
  ASSERT_EQ(counts[0].examples.size(), 5u);
  EXPECT_EQ(counts[0].examples[4].node, "n4");
  EXPECT_NE(counts[0].examples[4].why, "");
}

TEST(LeaseListTest, KeptLeasesAndUnjoinedNodesSurviveTheirJson) {
  lease::LeaseTable table({}, [] { return 1'795'046'400; });
  Lease one{.node = {"one", ""}, .created = 0, .backend_type = "vxlan", .v4 = {}, .v6 = {}};
  one.v4 = Half("10.244.1.0/24", "192.0.2.1", "02:00:00:00:00:01");
  table.Upsert(one);
  one.v4->vtep_mac.reset();
  table.Upsert(one);
  table.SetNotJoined({{"plain", "u7"}, "annotation x is missing"});
  table.Refuse({"bad", "why", "u8"});
  const LeaseList list = ListLeases(table, "");
  EXPECT_EQ(list.leases[0].v4->state, "kept-lease");
  EXPECT_TRUE(list.leases[0].v4->usable);
  EXPECT_EQ(ToJson(list)["leases"][0]["ipv4"]["keptSince"], "2026-11-19T00:00:00Z");
  const auto read = ParseLeaseList(ToJson(list).dump());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, list);
}

// A flannelctl of this version reads what an earlier flanneld answers, and the reverse.
TEST(LeaseListTest, NewMembersMayBeAbsent) {
  const nlohmann::ordered_json json = ToJson(LeaseList());
  EXPECT_FALSE(json.contains("notJoined"));
  EXPECT_TRUE(ParseLeaseList(json.dump()).ok());
  const nlohmann::ordered_json status = ToJson(Status());
  EXPECT_FALSE(status.contains("reach"));
  EXPECT_FALSE(status.contains("notJoinedNodes"));
  Status full;
  full.reach = Reach{.peers = 3, .programmed = 2, .heard = 1};
  full.not_joined_nodes = 1;
  full.leases = {{"usable", "s", 1, {{"n", "w"}}}};
  const auto read = ParseStatus(ToJson(full).dump());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, full);
}

TEST(LeaseListTest, AnEmptyTableIsAnEmptyList) {
  const LeaseList list = ListLeases(lease::LeaseTable(), "nothing");
  EXPECT_TRUE(list.leases.empty());
  EXPECT_TRUE(list.refused.empty());
  EXPECT_TRUE(CountLeases(lease::LeaseTable()).empty());
}

}  // namespace
}  // namespace weft::admin
