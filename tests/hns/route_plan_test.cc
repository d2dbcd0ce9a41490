// SPDX-License-Identifier: Apache-2.0
#include "hns/route_plan.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/hns/overlay_makers.h"

namespace weft::hns {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Policy Stored(std::string_view destination, std::string_view mac = "0e:2a:00:00:00:01") {
  return RemoteSubnetRoutePolicy(RouteTo(destination, mac));
}

// As Stored, in another's spelling: still the same route.
Policy Shouted(std::string_view destination) {
  const RemoteSubnetRoute route = RouteTo(destination);
  return {"remotesubnetroute",
          R"({"DistributedRouterMacAddress":"0E-2A-00-00-00-01","ProviderAddress":")" +
              route.provider_address.ToString() + R"(","isolationId":4096,"DestinationPrefix":")" +
              std::string(destination) + R"("})"};
}

Policy OfVsid(std::string_view destination, std::uint32_t vsid) {
  RemoteSubnetRoute route = RouteTo(destination);
  route.isolation_id = Vsid(vsid);
  return RemoteSubnetRoutePolicy(route);
}

constexpr const char *kA = "10.244.1.0/24", *kB = "10.244.2.0/24", *kC = "10.244.4.0/24";
const Policy kUnreadable{"RemoteSubnetRoute", R"({"DestinationPrefix":"10.244.9.0/24"})"};
const Policy kForeign{"ProviderAddress", R"({"ProviderAddress":"192.168.1.10"})"};

TEST(RoutePlanTest, Rows) {
  using Changes = std::vector<RouteChange>;
  const struct {
    const char* description;
    RemoteSubnetRoutes desired;
    std::vector<Policy> there;
    std::size_t in_sync;
    Changes before;  // may_remove is false
    Changes after;   // and true
  } rows[] = {
      {"nothing", {}, {}, 0, {}, {}},
      {"a new peer", RoutesTo({kA}), {}, 0, {{kA, {}, Stored(kA)}}, {{kA, {}, Stored(kA)}}},
      {"it exists", RoutesTo({kA}), {Stored(kA)}, 1, {}, {}},
      {"another spelling exists too", RoutesTo({kA}), {Shouted(kA)}, 1, {}, {}},
      {"a peer that changed",
       RoutesTo({kA}),
       {Stored(kA, "00:00:00:00:00:02")},
       0,
       {{kA, {Stored(kA, "00:00:00:00:00:02")}, Stored(kA)}},
       {{kA, {Stored(kA, "00:00:00:00:00:02")}, Stored(kA)}}},
      {"doubles go, the first stays, removals are spelled as found",
       RoutesTo({kA}),
       {Stored(kA), Shouted(kA), Stored(kA)},
       1,
       {{kA, {Shouted(kA), Stored(kA)}, std::nullopt}},
       {{kA, {Shouted(kA), Stored(kA)}, std::nullopt}}},
      {"a wrong one next to the right one",
       RoutesTo({kA}),
       {Stored(kA, "00:00:00:00:00:02"), Stored(kA)},
       1,
       {{kA, {Stored(kA, "00:00:00:00:00:02")}, std::nullopt}},
       {{kA, {Stored(kA, "00:00:00:00:00:02")}, std::nullopt}}},
      {"a stale one",
       RoutesTo({kB}),
       {Stored(kA), Stored(kB), Stored(kC)},
       1,
       {},
       {{kA, {Stored(kA)}, std::nullopt}, {kC, {Stored(kC)}, std::nullopt}}},
      {"another VSID's, for a desired destination",
       RoutesTo({kA}),
       {OfVsid(kA, 5000)},
       0,
       {{kA, {}, Stored(kA)}},
       {{kA, {OfVsid(kA, 5000)}, Stored(kA)}}},
      {"another VSID's", {}, {OfVsid(kA, 5000)}, 0, {}, {{kA, {OfVsid(kA, 5000)}, std::nullopt}}},
      {"one without values",
       {},
       {kUnreadable},
       0,
       {},
       {{kUnreadable.settings, {kUnreadable}, std::nullopt}}},
      {"policies of other types", {}, {kForeign, HostRoutePolicy()}, 0, {}, {}},
      {"in order of destination",
       RoutesTo({kB, kC}),
       {Stored(kA), kForeign},
       0,
       {{kB, {}, Stored(kB)}, {kC, {}, Stored(kC)}},
       {{kA, {Stored(kA)}, std::nullopt}, {kB, {}, Stored(kB)}, {kC, {}, Stored(kC)}}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.description);
    const RoutePlan before = PlanRoutes(row.desired, row.there, Vsid(4096), false);
    EXPECT_EQ(before.changes, row.before);
    EXPECT_EQ(before.in_sync, row.in_sync);
    const RoutePlan after = PlanRoutes(row.desired, row.there, Vsid(4096), true);
    EXPECT_EQ(after.changes, row.after);
    EXPECT_EQ(after.in_sync, row.in_sync);
  }
}

// An exactly executed plan leads to a state without a further plan.
TEST(RoutePlanTest, AnExecutedPlanLeavesNothingToDo) {
  std::vector<Policy> there{Stored(kA),       Shouted(kA), Stored(kB, "00:00:00:00:00:02"),
                            OfVsid(kC, 5000), kUnreadable, kForeign};
  const RemoteSubnetRoutes desired = RoutesTo({kA, kB});
  for (const RouteChange& change : PlanRoutes(desired, there, Vsid(4096), true).changes) {
    for (const Policy& removal : change.removals) {
      const auto found = std::find(there.begin(), there.end(), removal);
      ASSERT_NE(found, there.end());
      there.erase(found);
    }
    if (change.addition) there.push_back(*change.addition);
  }
  EXPECT_TRUE(PlanRoutes(desired, there, Vsid(4096), true).empty());
  EXPECT_THAT(there, ElementsAre(Stored(kA), kForeign, Stored(kB)));
}

}  // namespace
}  // namespace weft::hns
