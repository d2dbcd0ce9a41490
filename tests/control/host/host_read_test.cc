// SPDX-License-Identifier: Apache-2.0
// Facts of every system, read from the host that runs the test (Windows: Wine's). Reads only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "control/host/host.h"

namespace weft::host {
namespace {

class HostReadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Host>> host = OpenHost();
    ASSERT_TRUE(host.ok()) << host.status();
    host_ = *std::move(host);
  }
  std::unique_ptr<Host> host_;
};

TEST_F(HostReadTest, AdaptersHaveDistinctIndicesAndNames) {
  const auto adapters = host_->Adapters();
  ASSERT_TRUE(adapters.ok()) << adapters.status();
  ASSERT_FALSE(adapters->empty());
  std::set<std::uint32_t> indices;
  std::set<std::string> names;
  for (const Adapter& adapter : *adapters) {
    EXPECT_NE(adapter.index, 0u) << adapter.name;
    EXPECT_FALSE(adapter.name.empty());
    EXPECT_TRUE(indices.insert(adapter.index).second) << adapter.name;
    EXPECT_TRUE(names.insert(adapter.name).second) << adapter.name;
  }
}

TEST_F(HostReadTest, TheLoopbackIsListedWithItsAddress) {
  const auto adapters = host_->Adapters();
  ASSERT_TRUE(adapters.ok()) << adapters.status();
  const auto loopback =
      std::find_if(adapters->begin(), adapters->end(), [](const Adapter& a) { return a.loopback; });
  ASSERT_NE(loopback, adapters->end());
  const auto has = std::any_of(
      loopback->addresses.begin(), loopback->addresses.end(), [](const AssignedAddress& a) {
        return a.address == *IpAddress::Parse("127.0.0.1") && a.prefix_length == 8;
      });
  EXPECT_TRUE(has);
  EXPECT_GE(loopback->mtu, 1500u);
}

TEST_F(HostReadTest, AWatchBeginsAndEnds) {
  auto watch = host_->WatchChanges([] {});
  EXPECT_TRUE(watch.ok()) << watch.status();
}

TEST_F(HostReadTest, RoutesBelongToAdaptersAndToTheRequestedFamily) {
  const auto adapters = host_->Adapters();
  ASSERT_TRUE(adapters.ok());
  for (IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    const auto routes = host_->Routes(family);
    ASSERT_TRUE(routes.ok()) << routes.status();
    for (const Route& route : *routes) {
      EXPECT_EQ(route.destination.family(), family) << route.destination.ToString();
      if (route.kind == RouteKind::kUnreachable) continue;
      EXPECT_TRUE(std::any_of(adapters->begin(), adapters->end(),
                              [&](const Adapter& a) { return a.index == route.adapter_index; }))
          << route.destination.ToString() << " on " << route.adapter_index;
      if (route.gateway) EXPECT_EQ(route.gateway->family(), family);
    }
  }
}

TEST_F(HostReadTest, TheDefaultRouteIsFound) {
  const auto routes = host_->Routes(IpFamily::kV4);
  ASSERT_TRUE(routes.ok());
  const auto is_default = [](const Route& route) {
    return route.destination.length() == 0 && route.kind == RouteKind::kPlain;
  };
  if (std::count_if(routes->begin(), routes->end(), is_default) != 1)
    GTEST_SKIP() << "needs exactly one default route";
  const auto found = std::find_if(routes->begin(), routes->end(), is_default);
  const auto way = host_->RouteTo(*IpAddress::Parse("198.51.100.1"));  // RFC 5737: no host's
  ASSERT_TRUE(way.ok()) << way.status();
  EXPECT_EQ(way->adapter_index, found->adapter_index);
  EXPECT_EQ(way->gateway, found->gateway);
}

}  // namespace
}  // namespace weft::host
