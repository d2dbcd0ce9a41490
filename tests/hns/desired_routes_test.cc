// SPDX-License-Identifier: Apache-2.0
#include "hns/desired_routes.h"

#include <cstdint>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/hns/overlay_makers.h"

namespace weft::hns {
namespace {

using ::testing::IsEmpty;

TEST(DesiredRoutesTest, NothingIsKnownUntilASourceHasSaidIt) {
  DesiredRoutes desired;
  desired.Put(RouteTo("10.244.1.0/24"));
  EXPECT_FALSE(desired.known());
  EXPECT_EQ(desired.size(), 1u);
  desired.Set({}, /*may_remove=*/false);
  EXPECT_TRUE(desired.known());
  EXPECT_FALSE(desired.Copy().may_remove);
  EXPECT_THAT(desired.Copy().routes, IsEmpty()) << "it replaces all";
}

TEST(DesiredRoutesTest, WhoMayRemoveOnceMayRemoveLater) {
  DesiredRoutes desired;
  desired.Set({}, /*may_remove=*/true);
  desired.Set(RoutesTo({"10.244.1.0/24"}), /*may_remove=*/false);
  EXPECT_TRUE(desired.Copy().may_remove);
}

TEST(DesiredRoutesTest, ACopyStaysAsItWas) {
  DesiredRoutes desired;
  desired.Set(RoutesTo({"10.244.1.0/24"}), /*may_remove=*/true);
  const DesiredRoutes::Content before = desired.Copy();
  RemoteSubnetRoute moved = RouteTo("10.244.1.0/24");
  moved.provider_address = *IpAddress::Parse("192.168.1.99");
  desired.Put(moved);
  desired.Put(RouteTo("10.244.2.0/24"));
  desired.Erase(RouteTo("10.244.3.0/24").destination);
  EXPECT_EQ(before.routes, RoutesTo({"10.244.1.0/24"}));
  EXPECT_EQ(desired.size(), 2u);
  EXPECT_EQ(desired.Copy().routes.at(moved.destination), moved);
  desired.Erase(moved.destination);
  EXPECT_EQ(desired.size(), 1u);
}

TEST(DesiredRoutesTest, OnlyAChangeIsAnotherVersion) {
  DesiredRoutes desired;
  std::uint64_t version = desired.Copy().version;
  const auto differs = [&] {
    const std::uint64_t before = std::exchange(version, desired.Copy().version);
    return before != version;
  };
  desired.Set(RoutesTo({"10.244.1.0/24"}), /*may_remove=*/true);
  EXPECT_TRUE(differs());
  desired.Set(RoutesTo({"10.244.1.0/24"}), /*may_remove=*/true);
  EXPECT_FALSE(differs());
  desired.Put(RouteTo("10.244.1.0/24"));
  EXPECT_FALSE(differs());
  desired.Put(RouteTo("10.244.2.0/24"));
  EXPECT_TRUE(differs());
  desired.Erase(RouteTo("10.244.3.0/24").destination);
  EXPECT_FALSE(differs());
  desired.Erase(RouteTo("10.244.2.0/24").destination);
  EXPECT_TRUE(differs());
}

}  // namespace
}  // namespace weft::hns
