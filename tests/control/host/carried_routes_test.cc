// SPDX-License-Identifier: Apache-2.0
// Static routes over the making and the end of a vSwitch.
#include "control/host/carried_routes.h"

#include <algorithm>

#include "control/emulator/host/emulated_host.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host_view.h"
#include "tests/support/lease_makers.h"

namespace weft::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::weft::testing::Address;
using ::weft::testing::Mac;
using ::weft::testing::Prefix;

class CarriedRoutesTest : public ::testing::Test {
 protected:
  CarriedRoutesTest() {
    AddNic("Ethernet", "00:15:5d:00:00:0a", "192.168.1.10");
    Put("10.8.0.0/16", "192.168.1.254");
    Put("169.254.169.254/32", "");
  }
  void AddNic(const char* name, const char* mac, const char* address) {
    Adapter nic;
    nic.name = name;
    nic.mtu = 1500;
    nic.up = true;
    nic.mac = Mac(mac);
    nic.addresses = {{Address(address), 24}};
    host_.AddAdapter(nic);
  }
  void Put(const char* destination, std::string_view gateway) {
    Route route;
    route.destination = Prefix(destination);
    if (!gateway.empty()) route.gateway = Address(gateway);
    route.adapter_index = Named("Ethernet").index;
    route.metric = 7;
    ASSERT_TRUE(host_.PutRoutes({route})[0].ok());
  }
  Adapter Named(std::string_view name) {
    for (const EmulatedAdapter& each : host_.state().adapters) {
      if (each.adapter.name == name) return each.adapter;
    }
    ADD_FAILURE() << "no adapter " << name;
    return {};
  }
  std::vector<Route> On(std::string_view name) {
    return *host_.Routes(IpFamily::kV4, Named(name).index);
  }
  std::vector<CarriedRoutes::PutBack> Read(std::string_view name) {
    return carried_.Follow(host_, Named(name), On(name));
  }
  void Bind() { host_.BindSwitch("Ethernet", "vEthernet (Ethernet)", {}, {}); }

  EmulatedHost host_;
  CarriedRoutes carried_;
};

TEST_F(CarriedRoutesTest, RoutesThatTheSwitchRemovedAreRestoredOnItsAdapter) {
  Put("10.9.0.0/16", "192.168.1.254");  // by the gateway of another
  Put("10.9.0.0/16", "192.168.1.253");
  EXPECT_THAT(Read("Ethernet"), IsEmpty());
  std::vector<Route> before = On("Ethernet");
  Bind();
  EXPECT_THAT(On("vEthernet (Ethernet)"), IsEmpty());
  const auto results = Read("vEthernet (Ethernet)");
  ASSERT_THAT(results, SizeIs(4));
  for (const auto& [route, status] : results) EXPECT_TRUE(status.ok()) << status;
  for (Route& route : before) route.adapter_index = Named("vEthernet (Ethernet)").index;
  EXPECT_EQ(On("vEthernet (Ethernet)"), before) << "their metric with them";
  EXPECT_THAT(Read("vEthernet (Ethernet)"), IsEmpty()) << "once";
}

TEST_F(CarriedRoutesTest, AlsoWhenTheSwitchIsDeletedAndTwiceInARow) {
  Read("Ethernet");
  for (int round = 0; round < 2; ++round) {
    Bind();
    EXPECT_THAT(Read("vEthernet (Ethernet)"), SizeIs(2));
    host_.UnbindSwitch("Ethernet", {}, {});
    EXPECT_THAT(Read("Ethernet"), SizeIs(2));
    EXPECT_THAT(On("Ethernet"), SizeIs(2));
  }
}

TEST_F(CarriedRoutesTest, ExistingRoutesAndThoseRemovedBeforeAreNotRestored) {
  Read("Ethernet");
  host_.RemoveRoutes({On("Ethernet")[1]});
  Read("Ethernet");
  Bind();
  Route kept;  // by Windows itself
  kept.destination = Prefix("10.8.0.0/16");
  kept.gateway = Address("192.168.1.254");
  kept.adapter_index = Named("vEthernet (Ethernet)").index;
  host_.PutRoutes({kept});
  EXPECT_THAT(Read("vEthernet (Ethernet)"), IsEmpty());
  EXPECT_THAT(On("vEthernet (Ethernet)"), SizeIs(1));
}

TEST_F(CarriedRoutesTest, ARefusedOneIsReportedAndRestoredOncePossible) {
  Read("Ethernet");
  Bind();
  host_.SetAddresses("vEthernet (Ethernet)", {{Address("172.16.0.10"), 24}});
  auto results = Read("vEthernet (Ethernet)");
  ASSERT_THAT(results, SizeIs(2));
  EXPECT_FALSE(results[0].status.ok());
  EXPECT_TRUE(results[1].status.ok());
  EXPECT_THAT(Read("vEthernet (Ethernet)"), SizeIs(1));
  host_.SetAddresses("vEthernet (Ethernet)", {{Address("192.168.1.10"), 24}});
  results = Read("vEthernet (Ethernet)");
  ASSERT_THAT(results, SizeIs(1));
  EXPECT_TRUE(results[0].status.ok()) << results[0].status;
}

// Windows may accept such a route, and send by it to any host that answers.
TEST_F(CarriedRoutesTest, OneThroughAnOffLinkGatewayIsNotRestored) {
  class Bold final : public weft::testing::HostView {
   public:
    using HostView::HostView;
    std::vector<absl::Status> PutRoutes(const std::vector<Route>& routes) override {
      for (const Route& route : routes) put.push_back(route.destination.ToString());
      return std::vector<absl::Status>(routes.size());
    }
    std::vector<std::string> put;
  };
  Bold host(host_);
  const auto route = [](const char* destination, const char* gateway) {
    Route each;
    each.destination = Prefix(destination);
    each.gateway = Address(gateway);
    each.marked = true;
    return each;
  };
  CarriedRoutes carried({{Mac("00:15:5d:00:00:0a"),
                          {route("10.1.0.0/16", "192.168.1.254"),
                           route("10.2.0.0/16", "192.168.2.1"), route("10.3.0.0/16", "169.254.0.1"),
                           route("fd08::/32", "fe80::1"), route("fd09::/32", "fd99::1")}}});
  Adapter nic = Named("Ethernet");
  nic.addresses.push_back({Address("169.254.0.2"), 255});  // no prefix of IPv4
  const auto results = carried.Follow(host, nic, {});
  EXPECT_THAT(host.put, ElementsAre("10.1.0.0/16", "fd08::/32"));
  ASSERT_THAT(results, SizeIs(5));
  EXPECT_EQ(results[1].status.message(), "its gateway 192.168.2.1 is not on that adapter's link");
}

TEST_F(CarriedRoutesTest, AnotherNicIsAnotherLink) {
  AddNic("Storage", "00:15:5d:00:00:0b", "192.168.1.11");
  Read("Ethernet");
  EXPECT_THAT(Read("Storage"), IsEmpty());
  EXPECT_THAT(On("Storage"), IsEmpty());
}

}  // namespace
}  // namespace weft::host
