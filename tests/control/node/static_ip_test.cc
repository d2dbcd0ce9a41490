// SPDX-License-Identifier: Apache-2.0
#include "control/node/static_ip.h"

#include <chrono>
#include <filesystem>
#include <memory>

#include "control/emulator/host/emulated_host.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host_view.h"
#include "tests/support/lease_makers.h"
#include "tests/support/test_path.h"

namespace weft::node {
namespace {

using host::StaticIp;
using host::StaticIpLoss;
using ::testing::IsEmpty;
using ::weft::testing::Address;
using ::weft::testing::Mac;
using ::weft::testing::Prefix;

// Refuses changes of static settings while `refusal` is set, and counts them.
class CountingHost : public weft::testing::HostView {
 public:
  using HostView::HostView;
  absl::Status PutStaticIp(std::uint32_t index, const StaticIp& settings) override {
    ++changes;
    return refusal.ok() ? HostView::PutStaticIp(index, settings) : refusal;
  }
  std::vector<absl::Status> PutRoutes(const std::vector<host::Route>& routes) override {
    return route_refusal.ok() ? HostView::PutRoutes(routes) : std::vector{route_refusal};
  }
  int changes = 0;
  absl::Status refusal, route_refusal;
};

// "Ethernet", index 10, 192.168.1.10/24, gateway 192.168.1.1. On a switch "vEthernet (Ethernet)",
// index 11.
class StaticIpTest : public ::testing::Test {
 protected:
  StaticIpTest() {
    std::filesystem::remove_all(folder_);
    nic_.name = "Ethernet";
    nic_.up = true;
    nic_.mac = Mac("00:15:5d:00:00:0a");
    nic_.addresses = kSettings.addresses;
    EXPECT_EQ(host_.AddAdapter(nic_), 10u);
    PutDefault(10);
    Restart();
  }
  ~StaticIpTest() override {
    keeper_.reset();  // Windows does not remove an open file
    std::filesystem::remove_all(folder_);
  }
  void Restart() {
    keeper_.reset();
    keeper_ = std::make_unique<StaticIpKeeper>(
        view_, std::make_shared<ledger::NodeLedger>(folder_.string(), boot_), base_network_);
  }
  void PutDefault(std::uint32_t adapter) {
    host::Route route;
    route.destination = Prefix("0.0.0.0/0");
    route.gateway = Address("192.168.1.1");
    route.adapter_index = adapter;
    ASSERT_TRUE(host_.PutRoutes({route})[0].ok());
  }
  // Once, `after` seconds later, with the adapter that has the node's address.
  std::optional<control::TimePoint> Inspect(int after = 0) {
    now_ += std::chrono::seconds(after);
    const auto facts = underlay::ReadHostFacts(view_);
    EXPECT_TRUE(facts.ok()) << facts.status();
    return keeper_->Inspect(*facts, underlay::OwnerOf(Address("192.168.1.10"), facts->adapters),
                            now_);
  }
  // Until nothing is missing, or for a minute.
  void Settle() {
    for (int tries = 0; tries < 60 && Inspect(1); ++tries) {
    }
  }
  void Bind(StaticIpLoss lost) {
    host_.BindSwitch("Ethernet", "vEthernet (Ethernet)", {}, {}, {}, lost);
  }
  StaticIp On(std::uint32_t adapter) { return *host_.ReadStaticIp(adapter); }

  static inline const StaticIp kSettings{
      {{Address("192.168.1.10"), 24}}, {Address("192.168.1.53"), Address("192.168.1.54")}, 5u};

  const std::filesystem::path folder_ = weft::testing::TestPath();
  std::string boot_ = "this boot";
  bool base_network_ = false;
  host::Adapter nic_;
  host::EmulatedHost host_;
  CountingHost view_{host_};
  control::TimePoint now_{};
  std::unique_ptr<StaticIpKeeper> keeper_;
};

TEST_F(StaticIpTest, WhatTheSwitchLostIsSetOnItsAdapter) {
  const struct {
    StaticIpLoss lost;
    int changes;
  } rows[] = {{StaticIpLoss::kNothing, 0},
              {StaticIpLoss::kNameServersAndMetric, 1},
              {StaticIpLoss::kAll, 1}};
  for (const auto& row : rows) {
    SCOPED_TRACE(static_cast<int>(row.lost));
    view_.changes = 0;
    host_.SetStaticIp("Ethernet", kSettings);
    Settle();
    Bind(row.lost);
    Settle();
    const std::uint32_t adapter = (*host_.Adapters())[1].index;
    EXPECT_EQ(On(adapter), kSettings);
    EXPECT_EQ(host_.RouteTo(Address("8.8.8.8"))->gateway, Address("192.168.1.1"));
    EXPECT_EQ(host_.RouteTo(Address("8.8.8.8"))->source, Address("192.168.1.10"));
    EXPECT_EQ(view_.changes, row.changes);
    EXPECT_EQ(keeper_->lost().text(), "");
    host_.UnbindSwitch("Ethernet", {}, {});
    Settle();
    EXPECT_EQ(On(10), kSettings);
    EXPECT_EQ(view_.changes, row.changes) << "the NIC has its own again";
  }
}

TEST_F(StaticIpTest, WindowsHasSixSecondsToMoveThem) {
  host_.SetStaticIp("Ethernet", kSettings);
  Inspect();
  Bind(StaticIpLoss::kNameServersAndMetric);
  for (const int later : {0, 5}) {
    const auto again = Inspect(later);
    EXPECT_EQ(again, now_ + std::chrono::seconds(1)) << later;
  }
  EXPECT_EQ(view_.changes, 0);
  Inspect(1);
  EXPECT_EQ(view_.changes, 1);
  EXPECT_EQ(Inspect(1), std::nullopt);
  host_.UnbindSwitch("Ethernet", {}, {});
  Settle();
  Bind(StaticIpLoss::kNameServersAndMetric);
  Inspect();
  EXPECT_EQ(view_.changes, 1) << "each time";
}

TEST_F(StaticIpTest, WhatAnotherAdapterHasIsNotSet) {
  host_.SetStaticIp("Ethernet", kSettings);
  Inspect();
  Bind(StaticIpLoss::kAll);
  host::Adapter other = nic_;
  other.name = "Ethernet 2";
  other.mac = Mac("00:15:5d:00:00:0b");
  host_.AddAdapter(other);
  host_.SetStaticIp("Ethernet 2", {kSettings.addresses, kSettings.name_servers, {}});
  Settle();
  EXPECT_EQ(On(11), (StaticIp{{}, {}, 5u}));
  EXPECT_EQ(keeper_->lost().text(), "") << "nor is its gateway tried";
}

TEST_F(StaticIpTest, WhatTheNewAdapterHasIsNotReplaced) {
  host_.SetStaticIp("Ethernet", kSettings);
  Inspect();
  Bind(StaticIpLoss::kNameServersAndMetric);
  const StaticIp own{kSettings.addresses, {Address("192.168.1.99")}, 7u};
  host_.SetStaticIp("vEthernet (Ethernet)", own);
  Settle();
  EXPECT_EQ(On(11), own);
  EXPECT_EQ(view_.changes, 0);
}

TEST_F(StaticIpTest, ANicWithDhcpHasNothingToKeep) {
  Inspect();
  Bind(StaticIpLoss::kAll);
  Settle();
  EXPECT_EQ(view_.changes, 0);
}

TEST_F(StaticIpTest, AnAdministratorsChangeOfTheSameAdapterIsFollowed) {
  host_.SetStaticIp("Ethernet", kSettings);
  Inspect();
  StaticIp changed = kSettings;
  changed.name_servers = {Address("192.168.1.60")};
  changed.metric.reset();
  host_.SetStaticIp("Ethernet", changed);
  Inspect();
  Bind(StaticIpLoss::kAll);
  Settle();
  EXPECT_EQ(On(11), changed);
  host_.SetStaticIp("vEthernet (Ethernet)", {kSettings.addresses, {}, {}});
  Settle();
  EXPECT_EQ(On(11), (StaticIp{kSettings.addresses, {}, {}}));
}

TEST_F(StaticIpTest, ANicThatAnAdministratorSetToDhcpIsForgotten) {
  host_.SetStaticIp("Ethernet", kSettings);
  Inspect();
  host_.SetStaticIp("Ethernet", {});
  host_.SetAddresses("Ethernet", kSettings.addresses);  // by DHCP
  Inspect();
  Bind(StaticIpLoss::kAll);
  Settle();
  EXPECT_EQ(view_.changes, 0);
}

// A team and its members have one MAC.
TEST_F(StaticIpTest, OfTwoAdaptersWithTheMacNeitherIsTaken) {
  host_.SetStaticIp("Ethernet", kSettings);
  Inspect();
  Bind(StaticIpLoss::kAll);
  nic_.name = "Team";
  nic_.addresses = {{Address("10.0.0.7"), 8}};
  host_.AddAdapter(nic_);
  Settle();
  EXPECT_EQ(view_.changes, 0);
}

TEST_F(StaticIpTest, ARefusalIsReportedAndTriedAgain) {
  host_.SetStaticIp("Ethernet", kSettings);
  Inspect();
  Bind(StaticIpLoss::kAll);
  view_.refusal = absl::PermissionDeniedError("Access is denied (5)");
  Settle();
  const auto again = Inspect();
  EXPECT_EQ(again, now_ + std::chrono::seconds(30));
  EXPECT_EQ(keeper_->lost().text(),
            "the static IP settings 192.168.1.10/24, gateway 192.168.1.1, DNS server 192.168.1.53, "
            "DNS server 192.168.1.54, metric 5 were lost when the NIC's virtual switch was made, "
            "and cannot be set on vEthernet (Ethernet): Access is denied (5); set them yourself");
  EXPECT_EQ(keeper_->lost().times(), 1u);
  view_.refusal = absl::OkStatus();
  Settle();
  EXPECT_EQ(keeper_->lost().text(), "");
  EXPECT_EQ(On(11), kSettings);
}

// Windows may not take a gateway at once, on an address that it checks for duplicates.
TEST_F(StaticIpTest, AGatewayThatIsRefusedIsTriedAgain) {
  host_.SetStaticIp("Ethernet", kSettings);
  Inspect();
  Bind(StaticIpLoss::kAll);
  view_.route_refusal = absl::UnavailableError("the gateway is on no link");
  Settle();
  EXPECT_EQ(On(11), kSettings);
  EXPECT_THAT(keeper_->lost().text(), ::testing::HasSubstr("the gateway is on no link"));
  view_.route_refusal = absl::OkStatus();
  Settle();
  EXPECT_EQ(host_.RouteTo(Address("8.8.8.8"))->gateway, Address("192.168.1.1"));
  EXPECT_EQ(keeper_->lost().text(), "");
}

TEST_F(StaticIpTest, AnotherProcessRestoresThem) {
  host_.SetStaticIp("Ethernet", kSettings);
  Inspect();
  Bind(StaticIpLoss::kAll);
  Restart();
  Settle();
  EXPECT_EQ(On(11), kSettings);
}

// Without a base network the switch is deleted by the reboot, and the NIC has its settings again.
TEST_F(StaticIpTest, OnlyWithABaseNetworkTheyAreRestoredAfterAReboot) {
  for (const bool base_network : {true, false}) {
    SCOPED_TRACE(base_network);
    base_network_ = base_network;
    Restart();
    host_.SetStaticIp("Ethernet", kSettings);
    Settle();
    Bind(StaticIpLoss::kAll);
    Settle();
    const std::uint32_t adapter = (*host_.Adapters())[1].index;
    ASSERT_EQ(On(adapter), kSettings);
    boot_ += " and the next";
    host_.Reboot();
    ASSERT_THAT(On(adapter).addresses, IsEmpty());
    Restart();
    Settle();
    EXPECT_EQ(On(adapter).addresses.size(), base_network ? 1u : 0u);
    host_.UnbindSwitch("Ethernet", {}, {});
    Settle();
  }
}

}  // namespace
}  // namespace weft::node
