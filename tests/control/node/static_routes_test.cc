// SPDX-License-Identifier: Apache-2.0
#include "control/node/static_routes.h"

#include <filesystem>
#include <memory>

#include "control/emulator/host/emulated_host.h"
#include "control/file_io.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"
#include "tests/support/ledger_rows.h"
#include "tests/support/test_path.h"

namespace weft::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::weft::testing::Address;
using ::weft::testing::Mac;
using ::weft::testing::Prefix;

class StaticRoutesTest : public ::testing::Test {
 protected:
  StaticRoutesTest() {
    conf_.network = Prefix("10.244.0.0/16");
    host::Adapter nic;
    nic.name = "Ethernet";
    nic.up = true;
    nic.mac = Mac("00:15:5d:00:00:0a");
    nic.addresses = {{Address("192.168.1.10"), 24}};
    underlay_.index = host_.AddAdapter(nic);
  }
  // `gateway` empty: on link.
  void Put(const char* destination, std::string_view gateway) {
    host::Route route;
    route.destination = Prefix(destination);
    if (!gateway.empty()) route.gateway = Address(gateway);
    route.adapter_index = underlay_.index;
    ASSERT_TRUE(host_.PutRoutes({route})[0].ok());
  }
  void Inspect() {
    const auto facts = underlay::ReadHostFacts(host_);
    ASSERT_TRUE(facts.ok()) << facts.status();
    routes_.Inspect(*facts, underlay_);
  }

  host::EmulatedHost host_;
  control::NetConf conf_;
  underlay::InterfaceChoice underlay_;
  StaticRoutes routes_{host_, conf_};
};

TEST_F(StaticRoutesTest, AStaticRouteThatCannotBeRestoredIsReportedUntilItCan) {
  Put("10.8.0.0/16", "192.168.1.254");
  Put("10.244.2.0/24", "192.168.1.2");  // a sink's: it puts its own
  Put("0.0.0.0/0", "192.168.1.1");      // moves with the address
  Inspect();
  host_.BindSwitch("Ethernet", "vEthernet (Ethernet)", {}, {});
  host_.SetAddresses("vEthernet (Ethernet)", {{Address("172.16.0.10"), 24}});
  underlay_.index += 1;
  Inspect();
  EXPECT_THAT(routes_.lost().text(),
              HasSubstr("the static route 10.8.0.0/16 via 192.168.1.254 was lost when the node's "
                        "address moved to vEthernet (Ethernet) and cannot be restored: "));
  Inspect();
  EXPECT_EQ(routes_.lost().times(), 1u);
  host_.SetAddresses("vEthernet (Ethernet)", {{Address("192.168.1.10"), 24}});
  Inspect();
  EXPECT_EQ(routes_.lost().text(), "");
  const auto routes = host_.Routes(IpFamily::kV4, underlay_.index);
  ASSERT_EQ(routes->size(), 2u);
  EXPECT_EQ(routes->at(0).destination.length(), 0);
  EXPECT_EQ(routes->at(1).destination, Prefix("10.8.0.0/16"));
}

// Without IPv6 there is no pod network of it, and without a network no routes into it.
TEST_F(StaticRoutesTest, RoutesOfAFamilyWithoutNetworkAreCarriedAndNotJudged) {
  Put("fd08::/32", "");
  Put("10.9.0.0/16", "");
  conf_.network.reset();
  Inspect();
  EXPECT_EQ(routes_.left().text(), "");
  host_.BindSwitch("Ethernet", "vEthernet (Ethernet)", {}, {});
  underlay_.index += 1;
  Inspect();
  EXPECT_EQ(routes_.lost().text(), "");
  EXPECT_EQ(host_.Routes(IpFamily::kV6, underlay_.index)->size(), 1u);
  EXPECT_EQ(host_.Routes(IpFamily::kV4, underlay_.index)->size(), 1u);
}

// Processes one after another, on one --state-dir.
class RestartedStaticRoutesTest : public StaticRoutesTest {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  // One that is killed after its first Inspect.
  void InspectOnce(bool keeps_switch = false) {
    StaticRoutes routes(host_, conf_, std::make_shared<ledger::NodeLedger>(folder_.string(), boot_),
                        keeps_switch);
    const auto facts = underlay::ReadHostFacts(host_);
    ASSERT_TRUE(facts.ok()) << facts.status();
    routes.Inspect(*facts, underlay_);
  }
  void Bind() {
    host_.BindSwitch("Ethernet", "vEthernet (Ethernet)", {}, {});
    underlay_.index += 1;
  }
  std::vector<IpPrefix> Destinations() {
    std::vector<IpPrefix> found;
    const auto routes = host_.Routes(IpFamily::kV4, underlay_.index);
    for (const host::Route& route : *routes) found.push_back(route.destination);
    return found;
  }

  const std::filesystem::path folder_ = weft::testing::TestPath();
  std::string boot_ = "this boot";
};

TEST_F(RestartedStaticRoutesTest, AStaticRouteRemovedBetweenTwoProcessesIsRestored) {
  Put("10.8.0.0/16", "192.168.1.254");
  Put("10.9.0.0/16", "");
  InspectOnce();
  Bind();
  InspectOnce();
  EXPECT_THAT(Destinations(), ElementsAre(Prefix("10.8.0.0/16"), Prefix("10.9.0.0/16")));
  const auto routes = host_.Routes(IpFamily::kV4, underlay_.index);
  EXPECT_EQ(routes->at(0).gateway, Address("192.168.1.254"));
  EXPECT_EQ(routes->at(1).gateway, std::nullopt);
}

TEST_F(RestartedStaticRoutesTest, OneThatCouldNotBeRestoredIsRestoredByTheNextProcess) {
  Put("10.8.0.0/16", "192.168.1.254");
  InspectOnce();
  Bind();
  host_.SetAddresses("vEthernet (Ethernet)", {{Address("172.16.0.10"), 24}});
  InspectOnce();
  EXPECT_THAT(Destinations(), ElementsAre());
  host_.SetAddresses("vEthernet (Ethernet)", {{Address("192.168.1.10"), 24}});
  InspectOnce();
  EXPECT_THAT(Destinations(), ElementsAre(Prefix("10.8.0.0/16")));
}

TEST_F(RestartedStaticRoutesTest, OneThatTheAdministratorRemovedIsNotRestored) {
  Put("10.8.0.0/16", "192.168.1.254");
  InspectOnce();
  host_.RemoveRoutes(*host_.Routes(IpFamily::kV4, 0));
  InspectOnce();
  EXPECT_THAT(Destinations(), ElementsAre());
  Bind();
  InspectOnce();
  EXPECT_THAT(Destinations(), ElementsAre());
}

// By the boot's id: the clock may be set, or the machine sleep.
TEST_F(RestartedStaticRoutesTest, AnEarlierBootsRoutesAreForgottenForAnyFileDate) {
  Put("10.8.0.0/16", "192.168.1.254");
  InspectOnce();
  std::filesystem::last_write_time(
      folder_ / "ledger.json",
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * 3650));
  Bind();
  InspectOnce();
  EXPECT_THAT(Destinations(), ElementsAre(Prefix("10.8.0.0/16"))) << "it is this boot's";
  for (const std::string& next : {std::string("the next boot"), std::string()}) {
    host_.RemoveRoutes(*host_.Routes(IpFamily::kV4, 0));
    boot_ = next;  // empty: not known
    InspectOnce();
    EXPECT_THAT(Destinations(), ElementsAre()) << next;
  }
}

// The vSwitch exists before Windows binds its persistent routes to the NIC.
TEST_F(RestartedStaticRoutesTest, ABaseNetworkRemovesThemAtEachBoot) {
  Put("10.8.0.0/16", "192.168.1.254");
  InspectOnce(/*keeps_switch=*/true);
  Bind();
  InspectOnce(true);
  ASSERT_THAT(Destinations(), ElementsAre(Prefix("10.8.0.0/16")));
  for (const char* next : {"the next boot", "and another"}) {
    boot_ = next;
    host_.RemoveRoutes(*host_.Routes(IpFamily::kV4, 0));  // on the same adapter, too
    InspectOnce(true);
    EXPECT_THAT(Destinations(), ElementsAre(Prefix("10.8.0.0/16"))) << next;
  }
  host_.RemoveRoutes(*host_.Routes(IpFamily::kV4, 0));
  InspectOnce(true);
  EXPECT_THAT(Destinations(), ElementsAre()) << "in this boot the administrator took it away";
}

// A file may add routes to the host only where they do no harm.
TEST_F(RestartedStaticRoutesTest, RoutesThatNoAdministratorSetsAreIgnored) {
  const struct {
    const char *destination, *gateway;
    bool believed;
  } rows[] = {
      {"10.8.0.0/16", "192.168.1.254", true},
      {"169.254.169.254/32", "192.168.1.254", true},  // a cloud's metadata
      {"10.0.0.0/8", "", true},
      {"0.0.0.0/0", "192.168.1.254", false},
      {"0.0.0.0/1", "192.168.1.254", false},
      {"128.0.0.0/7", "192.168.1.254", false},
      {"127.0.0.0/8", "192.168.1.254", false},
      {"224.0.0.0/8", "192.168.1.254", false},
      {"10.244.7.0/24", "192.168.1.254", false},  // the pods'
      {"10.8.0.0/16", "127.0.0.1", false},
      {"10.8.0.0/16", "0.0.0.0", false},
      {"10.8.0.0/16", "224.0.0.1", false},
      {"10.8.0.0/16", "203.0.113.9", false},  // on no link of ours
  };
  for (const auto& row : rows) {
    std::filesystem::remove_all(folder_);
    ASSERT_TRUE(ledger::Ledger(folder_.string())
                    .Confirm(ledger::EntryFrom({"static-route", row.destination, row.gateway, true,
                                                "00:15:5d:00:00:0a 99 0", boot_}))
                    .ok());
    InspectOnce();
    EXPECT_EQ(Destinations().size(), row.believed ? 1u : 0u)
        << row.destination << " via " << row.gateway;
    host_.RemoveRoutes(*host_.Routes(IpFamily::kV4, 0));
  }
}

TEST_F(RestartedStaticRoutesTest, EntriesThatAreNoRouteOfOursAreSkipped) {
  std::filesystem::create_directories(folder_);
  ledger::Ledger ledger(folder_.string());
  const char* const shapes[] = {
      "",       "00:15:5d:00:00:0a",       "00:15:5d:00:00:0a x 0", "00:15:5d:00:00:0a 99 x",
      "x 99 0", "00:15:5d:00:00:0a 99 0 0"};
  std::vector<ledger::Row> rows;
  for (const char* shape : shapes)
    rows.push_back({"static-route", "10.8.0.0/16", "192.168.1.254", true, shape, boot_});
  const std::string good = "00:15:5d:00:00:0a 99 0";
  rows.push_back({"static-route", "10.8.0.0/16", "fd00::1", true, good, boot_});
  rows.push_back({"static-route", "10.8.0.0/16", "nonsense", true, good, boot_});
  rows.push_back({"static-route", "nonsense", "192.168.1.254", true, good, boot_});
  ASSERT_TRUE(ledger.Intend(weft::testing::EntriesFrom(rows)).ok());
  StaticRoutes routes(host_, conf_, std::make_shared<ledger::NodeLedger>(folder_.string(), boot_));
  routes.Inspect(*underlay::ReadHostFacts(host_), underlay_);
  EXPECT_THAT(Destinations(), ElementsAre());
  EXPECT_EQ(routes.lost().text(), "") << "none was tried";
}

TEST_F(StaticRoutesTest, RoutesIntoThePodNetworkAreReportedWithAnOverlayOnly) {
  Put("10.244.9.0/24", "192.168.1.9");
  conf_.type = control::BackendType::kHostGw;
  Inspect();
  EXPECT_EQ(routes_.left().text(), "") << "the routes' sink judges them";
  conf_.type = control::BackendType::kVxlan;
  Inspect();
  EXPECT_THAT(routes_.left().text(), HasSubstr("10.244.9.0/24 via 192.168.1.9"));
  host_.RemoveRoutes(*host_.Routes(IpFamily::kV4, 0));
  Inspect();
  EXPECT_EQ(routes_.left().text(), "");
}

host::Route Route(const char* destination, std::string_view gateway, bool marked = true) {
  host::Route route;
  route.destination = Prefix(destination);
  if (!gateway.empty()) route.gateway = Address(gateway);
  route.marked = marked;
  return route;
}

TEST(LeftRoutes, AreThoseIntoThePodNetworkByANodesAddress) {
  const struct {
    const char* description;
    host::Route route;
    bool left;
  } rows[] = {
      {"a peer's, as host-gw puts it", Route("10.244.2.0/24", "192.168.1.2"), true},
      {"all of it", Route("10.244.0.0/16", "192.168.1.1"), true},
      {"wider: a default of the site's", Route("10.0.0.0/8", "192.168.1.1"), false},
      {"elsewhere", Route("10.8.0.0/16", "192.168.1.1"), false},
      {"not set by an administrator", Route("10.244.2.0/24", "192.168.1.2", false), false},
      {"an adapter's own", Route("10.244.1.0/24", ""), false},
      {"by a pod's address", Route("10.244.2.0/24", "10.244.1.2"), false},
  };
  for (const auto& [description, route, left] : rows)
    EXPECT_EQ(LeftRoutes({route}, Prefix("10.244.0.0/16")).size(), left ? 1u : 0u) << description;
}

TEST(LeftRoutes, ManyAreCountedAndTheRemedyNamesOne) {
  const IpPrefix network = Prefix("10.244.0.0/16");
  EXPECT_EQ(LeftRoutesSentence({}, network), "");
  std::vector<host::Route> left(5, Route("10.244.2.0/24", "192.168.1.2"));
  const std::string text = LeftRoutesSentence(left, network);
  EXPECT_THAT(text,
              HasSubstr("overlay: 10.244.2.0/24 via 192.168.1.2, 10.244.2.0/24 via 192.168.1.2, "
                        "10.244.2.0/24 via 192.168.1.2 and 2 more; "));
  EXPECT_THAT(text,
              HasSubstr("Remove-NetRoute -DestinationPrefix 10.244.2.0/24 -NextHop 192.168.1.2"));
}

}  // namespace
}  // namespace weft::node
