// SPDX-License-Identifier: Apache-2.0
// What a Windows host gets beside HNS, where it goes well and where it does not.
#include "control/node/host_upkeep.h"

#include <filesystem>
#include <memory>

#include "control/file_io.h"
#include "control/host/emulator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host_view.h"
#include "tests/support/lease_makers.h"
#include "tests/support/test_path.h"

namespace weft::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::weft::testing::Address;
using ::weft::testing::Mac;
using ::weft::testing::Prefix;

// Whose firewall answers with `verdict`.
class Firewall final : public weft::testing::HostView {
 public:
  Firewall(host::Host& host, absl::Status verdict) : HostView(host), verdict_(std::move(verdict)) {}
  absl::Status AllowUdpIn(const std::string&, std::uint16_t) override {
    ++asked;
    return verdict_;
  }
  int asked = 0;

 private:
  const absl::Status verdict_;
};

class HostUpkeepTest : public ::testing::Test {
 protected:
  HostUpkeepTest() {
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
  void Look() {
    const auto facts = underlay::ReadHostFacts(host_);
    ASSERT_TRUE(facts.ok()) << facts.status();
    upkeep_.Look(*facts, underlay_);
  }

  host::EmulatedHost host_;
  control::NetConf conf_;
  underlay::InterfaceChoice underlay_;
  HostUpkeep upkeep_{host_, conf_};
};

constexpr control::TimePoint kStart{std::chrono::hours(1)};

TEST_F(HostUpkeepTest, ARuleForEachPortOfTheTunnel) {
  upkeep_.AllowTunnel(4789, kStart);
  upkeep_.AllowTunnel(4789, kStart);
  upkeep_.AllowTunnel(8472, kStart);
  EXPECT_THAT(host_.state().firewall,
              ElementsAre(host::FirewallRule{"OverlayTraffic4789UDP", 4789},
                          host::FirewallRule{"OverlayTraffic8472UDP", 8472}));
  EXPECT_EQ(upkeep_.firewall_trouble().text(), "");
}

TEST_F(HostUpkeepTest, AFirewallThatRefusesIsToldOnceAndOneThatIsElsewhereIsNot) {
  Firewall refusing(host_, absl::PermissionDeniedError("access is denied"));
  HostUpkeep upkeep(refusing, conf_);
  upkeep.AllowTunnel(4789, kStart);
  upkeep.AllowTunnel(4789, kStart);
  EXPECT_EQ(refusing.asked, 1);
  EXPECT_EQ(upkeep.firewall_trouble().times(), 1u);
  EXPECT_EQ(upkeep.firewall_trouble().text(),
            "peers may not reach this node: access is denied; tried again; else let UDP to port "
            "4789 in yourself");
  Firewall elsewhere(host_, absl::UnimplementedError("rules have no names here"));
  HostUpkeep quiet(elsewhere, conf_);
  quiet.AllowTunnel(4789, kStart);
  EXPECT_EQ(quiet.firewall_trouble().text(), "");
}

// At boot flanneld may be earlier than the firewall's service.
TEST_F(HostUpkeepTest, AFirewallThatIsNotUpYetIsTriedAgainEverMoreRarely) {
  Firewall refusing(host_, absl::UnavailableError("its service is not up"));
  HostUpkeep upkeep(refusing, conf_);
  int seconds = 0;
  for (; seconds < 3600; ++seconds)
    upkeep.AllowTunnel(4789, kStart + std::chrono::seconds(seconds));
  EXPECT_GE(refusing.asked, 3600 / 30);
  EXPECT_LE(refusing.asked, 3600 / 30 + 5);

  host::EmulatedHost host({}, [&] { return std::chrono::seconds(seconds); });
  seconds = 0;
  host.StopFirewall(std::chrono::seconds(20));
  HostUpkeep late(host, conf_);
  late.AllowTunnel(4789, kStart);
  EXPECT_NE(late.firewall_trouble().text(), "");
  for (; seconds < 40; ++seconds) late.AllowTunnel(4789, kStart + std::chrono::seconds(seconds));
  EXPECT_EQ(host.state().firewall.size(), 1u);
  EXPECT_EQ(late.firewall_trouble().text(), "");
}

TEST_F(HostUpkeepTest, ARuleThatSomebodyTookAwayIsBackWithinFiveMinutes) {
  upkeep_.AllowTunnel(4789, kStart);
  ASSERT_TRUE(host_.RemoveFirewallRule("OverlayTraffic4789UDP").ok());
  upkeep_.AllowTunnel(4789, kStart + std::chrono::minutes(5) - std::chrono::seconds(1));
  EXPECT_EQ(host_.state().firewall.size(), 0u);
  upkeep_.AllowTunnel(4789, kStart + std::chrono::minutes(5));
  EXPECT_EQ(host_.state().firewall.size(), 1u);
}

TEST_F(HostUpkeepTest, ARuleThatWasThereStaysAsItIs) {
  host::HostState state = host_.state();
  state.firewall = {{"OverlayTraffic4789UDP", 1}};
  host_.Replace(state);
  upkeep_.AllowTunnel(4789, kStart);
  EXPECT_EQ(host_.state().firewall, state.firewall);
  EXPECT_THAT(upkeep_.firewall_trouble().text(),
              HasSubstr("the firewall rule OverlayTraffic4789UDP was there, and it is not of port "
                        "4789"));
}

TEST_F(HostUpkeepTest, ARuleIsEnteredAndOneThatWasThereBeforeAsAdopted) {
  const std::string folder = weft::testing::TestPath().string();
  {
    const auto ledger = std::make_shared<ledger::NodeLedger>(folder);
    ASSERT_TRUE(host_.AllowUdpIn("OverlayTraffic8472UDP", 8472).ok());
    HostUpkeep upkeep(host_, conf_, ledger);
    upkeep.AllowTunnel(8472, kStart);
    upkeep.AllowTunnel(4789, kStart);
    Firewall refusing(host_, absl::PermissionDeniedError("access is denied"));
    HostUpkeep(refusing, conf_, ledger).AllowTunnel(4790, kStart);
    HostUpkeep(host_, conf_, ledger).AllowTunnel(4789, kStart);  // the next process
    ledger->Use([](ledger::Ledger& entered) -> ledger::NodeLedger::Written {
      EXPECT_THAT(
          entered.entries(),
          ElementsAre(
              ledger::LedgerEntry{"firewall-rule", "OverlayTraffic8472UDP", "8472", true},
              ledger::LedgerEntry{"firewall-rule", "OverlayTraffic4789UDP", "4789", false}));
      return std::nullopt;
    });
  }
  std::filesystem::remove_all(folder);
}

// The answer was lost, not the call.
TEST_F(HostUpkeepTest, ARuleWhoseMakingFailedStaysEnteredUnlessItIsCertainlyNotThere) {
  class Silent final : public weft::testing::HostView {
   public:
    using HostView::HostView;
    absl::Status AllowUdpIn(const std::string& rule, std::uint16_t port) override {
      EXPECT_TRUE(HostView::AllowUdpIn(rule, port).ok());
      tried = true;
      return absl::UnavailableError("it does not answer");
    }
    absl::StatusOr<bool> HasFirewallRule(const std::string& rule) override {
      if (tried && !answers) return absl::UnavailableError("it does not answer");
      return HostView::HasFirewallRule(rule);
    }
    bool tried = false, answers = true;
  };
  const std::string folder = weft::testing::TestPath().string();
  for (const bool answers : {true, false}) {
    const auto ledger = std::make_shared<ledger::NodeLedger>(folder);
    host_.Replace({});
    Silent host(host_);
    host.answers = answers;
    HostUpkeep(host, conf_, ledger).AllowTunnel(4789, kStart);
    HostUpkeep(host_, conf_, ledger).AllowTunnel(4789, kStart);  // finds it there
    ledger->Use([](ledger::Ledger& entered) -> ledger::NodeLedger::Written {
      EXPECT_THAT(entered.entries(), ElementsAre(ledger::LedgerEntry{
                                         "firewall-rule", "OverlayTraffic4789UDP", "4789", false}));
      return entered.Remove(ledger::kFirewallRule, "OverlayTraffic4789UDP");
    });
  }
  std::filesystem::remove_all(folder);
}

// Whose it would be is not known.
TEST_F(HostUpkeepTest, WhereTheFirewallCannotBeReadNoRuleIsMade) {
  class Unreadable final : public weft::testing::HostView {
   public:
    using HostView::HostView;
    absl::StatusOr<bool> HasFirewallRule(const std::string&) override {
      return absl::UnavailableError("its service is not up");
    }
  };
  Unreadable unreadable(host_);
  HostUpkeep upkeep(unreadable, conf_);
  upkeep.AllowTunnel(4789, kStart);
  EXPECT_EQ(host_.state().firewall.size(), 0u);
  EXPECT_THAT(upkeep.firewall_trouble().text(), HasSubstr("its service is not up"));
}

TEST_F(HostUpkeepTest, AStaticRouteThatCannotBePutBackIsToldUntilItCan) {
  Put("10.8.0.0/16", "192.168.1.254");
  Put("10.244.2.0/24", "192.168.1.2");  // a sink's: it puts its own
  Put("0.0.0.0/0", "192.168.1.1");      // moves with the address
  Look();
  host_.BindSwitch("Ethernet", "vEthernet (Ethernet)", {}, {});
  host_.SetAddresses("vEthernet (Ethernet)", {{Address("172.16.0.10"), 24}});
  underlay_.index += 1;
  Look();
  EXPECT_THAT(upkeep_.route_trouble().text(),
              HasSubstr("the static route 10.8.0.0/16 via 192.168.1.254 was lost when the node's "
                        "address moved to vEthernet (Ethernet) and cannot be put back: "));
  Look();
  EXPECT_EQ(upkeep_.route_trouble().times(), 1u);
  host_.SetAddresses("vEthernet (Ethernet)", {{Address("192.168.1.10"), 24}});
  Look();
  EXPECT_EQ(upkeep_.route_trouble().text(), "");
  const auto routes = host_.Routes(IpFamily::kV4, underlay_.index);
  ASSERT_EQ(routes->size(), 2u);
  EXPECT_EQ(routes->at(0).destination.length(), 0);
  EXPECT_EQ(routes->at(1).destination, Prefix("10.8.0.0/16"));
}

// Without IPv6 there is no pod network of it, and without a network no routes into it.
TEST_F(HostUpkeepTest, RoutesOfAFamilyWithoutNetworkAreCarriedAndNotJudged) {
  Put("fd08::/32", "");
  Put("10.9.0.0/16", "");
  conf_.network.reset();
  Look();
  EXPECT_EQ(upkeep_.left_routes().text(), "");
  host_.BindSwitch("Ethernet", "vEthernet (Ethernet)", {}, {});
  underlay_.index += 1;
  Look();
  EXPECT_EQ(upkeep_.route_trouble().text(), "");
  EXPECT_EQ(host_.Routes(IpFamily::kV6, underlay_.index)->size(), 1u);
  EXPECT_EQ(host_.Routes(IpFamily::kV4, underlay_.index)->size(), 1u);
}

// Processes one after another, on one --state-dir.
class RestartedUpkeepTest : public HostUpkeepTest {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  // One that is killed after its first look.
  void LookOnce(bool keeps_switch = false) {
    HostUpkeep upkeep(host_, conf_, std::make_shared<ledger::NodeLedger>(folder_.string(), boot_),
                      keeps_switch);
    const auto facts = underlay::ReadHostFacts(host_);
    ASSERT_TRUE(facts.ok()) << facts.status();
    upkeep.Look(*facts, underlay_);
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

TEST_F(RestartedUpkeepTest, AStaticRouteSwallowedBetweenTwoProcessesIsPutBack) {
  Put("10.8.0.0/16", "192.168.1.254");
  Put("10.9.0.0/16", "");
  LookOnce();
  Bind();
  LookOnce();
  EXPECT_THAT(Destinations(), ElementsAre(Prefix("10.8.0.0/16"), Prefix("10.9.0.0/16")));
  const auto routes = host_.Routes(IpFamily::kV4, underlay_.index);
  EXPECT_EQ(routes->at(0).gateway, Address("192.168.1.254"));
  EXPECT_EQ(routes->at(1).gateway, std::nullopt);
}

TEST_F(RestartedUpkeepTest, OneThatCouldNotBePutBackIsByTheNextProcess) {
  Put("10.8.0.0/16", "192.168.1.254");
  LookOnce();
  Bind();
  host_.SetAddresses("vEthernet (Ethernet)", {{Address("172.16.0.10"), 24}});
  LookOnce();
  EXPECT_THAT(Destinations(), ElementsAre());
  host_.SetAddresses("vEthernet (Ethernet)", {{Address("192.168.1.10"), 24}});
  LookOnce();
  EXPECT_THAT(Destinations(), ElementsAre(Prefix("10.8.0.0/16")));
}

TEST_F(RestartedUpkeepTest, OneThatTheAdministratorRemovedIsNotPutBack) {
  Put("10.8.0.0/16", "192.168.1.254");
  LookOnce();
  host_.RemoveRoutes(*host_.Routes(IpFamily::kV4, 0));
  LookOnce();
  EXPECT_THAT(Destinations(), ElementsAre());
  Bind();
  LookOnce();
  EXPECT_THAT(Destinations(), ElementsAre());
}

// By the boot's id: the clock may be set, or the machine sleep.
TEST_F(RestartedUpkeepTest, AnEarlierBootsAreForgottenWhateverTheFilesDate) {
  Put("10.8.0.0/16", "192.168.1.254");
  LookOnce();
  std::filesystem::last_write_time(
      folder_ / "ledger.json",
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * 3650));
  Bind();
  LookOnce();
  EXPECT_THAT(Destinations(), ElementsAre(Prefix("10.8.0.0/16"))) << "it is this boot's";
  for (const std::string& next : {std::string("the next boot"), std::string()}) {
    host_.RemoveRoutes(*host_.Routes(IpFamily::kV4, 0));
    boot_ = next;  // empty: not known
    LookOnce();
    EXPECT_THAT(Destinations(), ElementsAre()) << next;
  }
}

// The vSwitch is there before Windows looks for the NIC to which its persistent routes are bound.
TEST_F(RestartedUpkeepTest, ABaseNetworkSwallowsThemAtEachBoot) {
  Put("10.8.0.0/16", "192.168.1.254");
  LookOnce(/*keeps_switch=*/true);
  Bind();
  LookOnce(true);
  ASSERT_THAT(Destinations(), ElementsAre(Prefix("10.8.0.0/16")));
  for (const char* next : {"the next boot", "and another"}) {
    boot_ = next;
    host_.RemoveRoutes(*host_.Routes(IpFamily::kV4, 0));  // on the same adapter, too
    LookOnce(true);
    EXPECT_THAT(Destinations(), ElementsAre(Prefix("10.8.0.0/16"))) << next;
  }
  host_.RemoveRoutes(*host_.Routes(IpFamily::kV4, 0));
  LookOnce(true);
  EXPECT_THAT(Destinations(), ElementsAre()) << "in this boot the administrator took it away";
}

// A file says what is put on the host only as far as that harms nobody.
TEST_F(RestartedUpkeepTest, WhatNoAdministratorSetsIsNotBelieved) {
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
                    .Put({"static-route", row.destination, row.gateway, true,
                          "00:15:5d:00:00:0a 99 0", boot_})
                    .ok());
    LookOnce();
    EXPECT_EQ(Destinations().size(), row.believed ? 1u : 0u)
        << row.destination << " via " << row.gateway;
    host_.RemoveRoutes(*host_.Routes(IpFamily::kV4, 0));
  }
}

TEST_F(RestartedUpkeepTest, WhatIsNoRouteOfOursIsPassedOver) {
  std::filesystem::create_directories(folder_);
  ledger::Ledger ledger(folder_.string());
  const char* const shapes[] = {
      "",       "00:15:5d:00:00:0a",       "00:15:5d:00:00:0a x 0", "00:15:5d:00:00:0a 99 x",
      "x 99 0", "00:15:5d:00:00:0a 99 0 0"};
  std::vector<ledger::LedgerEntry> entries;
  for (const char* shape : shapes)
    entries.push_back({"static-route", "10.8.0.0/16", "192.168.1.254", true, shape, boot_});
  const std::string good = "00:15:5d:00:00:0a 99 0";
  entries.push_back({"static-route", "10.8.0.0/16", "fd00::1", true, good, boot_});
  entries.push_back({"static-route", "10.8.0.0/16", "nonsense", true, good, boot_});
  entries.push_back({"static-route", "nonsense", "192.168.1.254", true, good, boot_});
  ASSERT_TRUE(ledger.Replace("static-route", entries).ok());
  HostUpkeep upkeep(host_, conf_, std::make_shared<ledger::NodeLedger>(folder_.string(), boot_));
  upkeep.Look(*underlay::ReadHostFacts(host_), underlay_);
  EXPECT_THAT(Destinations(), ElementsAre());
  EXPECT_EQ(upkeep.route_trouble().text(), "") << "none was tried";
}

TEST_F(HostUpkeepTest, RoutesIntoThePodNetworkAreToldBesideAnOverlayOnly) {
  Put("10.244.9.0/24", "192.168.1.9");
  conf_.type = control::BackendType::kHostGw;
  Look();
  EXPECT_EQ(upkeep_.left_routes().text(), "") << "the routes' sink judges them";
  conf_.type = control::BackendType::kVxlan;
  Look();
  EXPECT_THAT(upkeep_.left_routes().text(), HasSubstr("10.244.9.0/24 via 192.168.1.9"));
  host_.RemoveRoutes(*host_.Routes(IpFamily::kV4, 0));
  Look();
  EXPECT_EQ(upkeep_.left_routes().text(), "");
}

}  // namespace
}  // namespace weft::node
