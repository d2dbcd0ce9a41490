// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>

#include "tests/control/daemon/host_gw_fixture.h"
#include "tests/support/ledger_rows.h"

namespace weft::daemon {
namespace {

using hns::emulator::Restart;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Strings = std::vector<std::string>;
using DaemonHostGwTest = HostGwFixture;

TEST_F(DaemonHostGwTest, ReadyOnceBridgeForwardingAndRoutesAreInSync) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  ASSERT_EQ(Networks().size(), 1u);
  const hns::BridgeNetwork network = Networks()[0];
  EXPECT_EQ(network.name, "cbr0");
  EXPECT_EQ(network.type, "L2Bridge");
  ASSERT_EQ(Endpoints().size(), 1u);
  EXPECT_EQ(Endpoints()[0].address, IpAddress::Parse("10.244.1.2"));
  EXPECT_TRUE(Endpoints()[0].attached);
  EXPECT_THAT(Forwarding(), ElementsAre("vEthernet (Ethernet)", "vEthernet (cbr0_ep)"));
  EXPECT_THAT(Routes(), ElementsAre(route_));
  EXPECT_THAT(Read("subnet.env"), HasSubstr("FLANNEL_SUBNET=10.244.1.1/24\nFLANNEL_MTU=1500\n"));

  const admin::Status status = daemon_->ReadStatus();
  ASSERT_TRUE(status.hns);
  EXPECT_EQ(status.hns->network, "cbr0");
  EXPECT_EQ(status.hns->state, "in-sync");
  EXPECT_EQ(status.hns->id, network.id.ToString());
  EXPECT_EQ(status.hns->management_ip, IpAddress::Parse("192.168.1.10"));
  EXPECT_EQ(status.v4->vtep_mac, std::nullopt) << "there is no tunnel";
  EXPECT_THAT(status.tunnels, IsEmpty());
  EXPECT_EQ(status.interface_name, "vEthernet (Ethernet)");
}

// For `flannelctl reset`; a route that existed before is not ours.
TEST_F(DaemonHostGwTest, ItsObjectsAreInTheLedger) {
  const auto entries = [this] {
    Strings found;
    for (const ledger::Row& row : weft::testing::RowsOnDisk(config_.options.state_dir))
      found.push_back(row.kind + " " + row.name + (row.adopted ? " adopted" : ""));
    return found;
  };
  const Strings ours = {"hns-network cbr0", "hns-endpoint cbr0_ep", "host-route 10.244.2.0/24"};
  WriteNodes({Own(), Peer()});
  for (int start = 0; start < 2; ++start) {
    ASSERT_TRUE(StartHere().ok());
    ASSERT_TRUE(RunUntilReady());
    EXPECT_THAT(entries(), ::testing::UnorderedElementsAreArray(ours));
    daemon_.reset();
  }
  // A route without an entry existed before: it is used, and `reset` restores it.
  std::filesystem::remove_all(config_.options.state_dir);
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  EXPECT_THAT(entries(), ::testing::UnorderedElementsAre("hns-network cbr0 adopted",
                                                         "hns-endpoint cbr0_ep adopted",
                                                         "former-route 10.244.2.0/24 adopted"));
}

// Manual routes: to a node that has no lease yet, and to an appliance.
TEST_F(DaemonHostGwTest, ForeignRoutesIntoTheNetworkSurviveARestart) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  host::Route by_hand;
  by_hand.destination = *IpPrefix::Parse("10.244.77.0/24");
  by_hand.gateway = *IpAddress::Parse("192.168.1.77");
  by_hand.adapter_index = host().RouteTo(*by_hand.gateway)->adapter_index;
  ASSERT_TRUE(host().PutRoutes({by_hand})[0].ok());
  const std::string theirs = "10.244.77.0/24 via 192.168.1.77 dev vEthernet (Ethernet)";
  for (int start = 0; start < 2; ++start) {
    daemon_.reset();
    WriteNodes({Own(), Peer()});
    ASSERT_TRUE(StartHere().ok());
    ASSERT_TRUE(RunUntilReady());
    EXPECT_THAT(Routes(), ::testing::UnorderedElementsAre(route_, theirs));
    WriteNodes({Own()});
    ASSERT_TRUE(RunUntil([&] { return Routes() == Strings{theirs}; }))
        << "ours is removed with its peer";
  }
}

TEST_F(DaemonHostGwTest, ADeletedRouteIsRestored) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  for (const host::Route& route : host().state().routes)
    if (route.destination.length() != 0) host().RemoveRoutes({route});
  EXPECT_TRUE(RunUntil([&] { return Routes() == Strings{route_}; }));
}

TEST_F(DaemonHostGwTest, ADefaultRouteOnTheBridgeIsNamedWhileItIsThere) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  const auto condition = [this] {
    for (const admin::ConditionStatus& each : daemon_->ReadStatus().conditions)
      if (each.subject == "hns") return each.condition;
    return std::string();
  };
  EXPECT_EQ(condition(), "");
  host::Route second;
  second.gateway = *IpAddress::Parse("10.244.1.1");
  for (const host::EmulatedAdapter& each : host().state().adapters)
    if (each.adapter.name == "vEthernet (cbr0_ep)") second.adapter_index = each.adapter.index;
  ASSERT_TRUE(host().PutRoutes({second})[0].ok());
  ASSERT_TRUE(RunUntil([&] { return !condition().empty(); }));
  EXPECT_THAT(condition(), HasSubstr("via 10.244.1.1 on vEthernet (cbr0_ep)"));
  EXPECT_TRUE(Ready());
  host().RemoveRoutes({second});
  EXPECT_TRUE(RunUntil([&] { return condition().empty(); }));
}

// Where the system reports nothing, by polling: within 10 s.
TEST_F(DaemonHostGwTest, ALostRouteIsFoundWithoutANotification) {
  class Silent final : public weft::testing::HostView {
   public:
    using HostView::HostView;
    absl::StatusOr<std::unique_ptr<host::Watch>> WatchRoutes(
        std::function<void(const host::RouteChanges&)>) override {
      return std::make_unique<host::Watch>();
    }
    absl::StatusOr<std::unique_ptr<host::Watch>> WatchChanges(std::function<void()>) override {
      return std::make_unique<host::Watch>();
    }
  };
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(Start(std::make_unique<Silent>(host())).ok());
  ASSERT_TRUE(RunUntilReady());
  host::Route other;  // which once hid a lost one by the number of routes
  other.destination = *IpPrefix::Parse("10.8.0.0/16");
  other.gateway = *IpAddress::Parse("192.168.1.254");
  for (const host::Route& route : host().state().routes) {
    if (route.destination.length() == 0) continue;
    other.adapter_index = route.adapter_index;
    host().RemoveRoutes({route});
  }
  host().PutRoutes({other});
  const weft::testing::Wait wait(std::chrono::seconds(10));
  EXPECT_TRUE(RunUntil([&] { return Routes().size() == 2; }));
  EXPECT_TRUE(wait.Ended());
}

// A foreign vSwitch, without our HNS network.
TEST_F(DaemonHostGwTest, WithoutHnsAStaticRouteThatASwitchRemovedIsRestoredToo) {
  config_.options.data_plane = config::DataPlane::kRoutes;
  config_.hns = nullptr;
  host::Route by_hand;
  by_hand.destination = *IpPrefix::Parse("10.99.0.0/16");
  by_hand.gateway = *IpAddress::Parse("192.168.1.254");
  by_hand.adapter_index = host().RouteTo(*by_hand.gateway)->adapter_index;
  ASSERT_TRUE(host().PutRoutes({by_hand})[0].ok());
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  host().BindSwitch("Ethernet", "vEthernet (Ethernet)", {}, {});
  const std::string back = "10.99.0.0/16 via 192.168.1.254 dev vEthernet (Ethernet)";
  EXPECT_TRUE(RunUntil([&] {
    const Strings now = Routes();
    return now.size() == 2 && std::find(now.begin(), now.end(), back) != now.end() &&
           std::find(now.begin(), now.end(), route_) != now.end();
  }));
}

TEST_F(DaemonHostGwTest, BeforeTheNetworkExistsThereAreNeitherRoutesNorReadiness) {
  hns::emulator::Settings settings;
  settings.management_ip = std::chrono::hours(1);
  hns().Set(settings);
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntil([this] { return HnsState() == "management-ip"; }));
  EXPECT_FALSE(CheckNamed("hns").ok);
  EXPECT_THAT(CheckNamed("hns").text, HasSubstr("management IP"));
  EXPECT_THAT(CheckNamed("tunnels").text, HasSubstr("wait for HNS"));
  EXPECT_FALSE(CheckNamed("sinks").ok);
  EXPECT_FALSE(Ready());
  EXPECT_THAT(Routes(), IsEmpty());
  EXPECT_EQ(Read("subnet.env"), "");
}

// No adapter has the address for a while; --iface with the address waits, too.
TEST_F(DaemonHostGwTest, AnAdapterThatComesLateIsWaitedFor) {
  hns::emulator::Settings settings;
  settings.new_interface = std::chrono::milliseconds(300);
  hns().Set(settings);
  config_.options.iface = {"192.168.1.10"};
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  EXPECT_THAT(Routes(), ElementsAre(route_));
}

TEST_F(DaemonHostGwTest, WithoutForwardingItIsNotReady) {
  WriteNodes({Own(), Peer()});
  for (bool* const fault : {&refuses_forwarding_, &hides_forwarding_}) {
    *fault = true;
    ASSERT_TRUE(StartHere().ok());
    ASSERT_TRUE(RunUntil(
        [this] { return CheckNamed("hns").text.find("access denied") != std::string::npos; }));
    EXPECT_EQ(HnsState(), "forwarding");
    EXPECT_FALSE(Ready());
    EXPECT_EQ(Read("subnet.env"), "");
    *fault = false;
    host().SetUp("Ethernet", true);  // the next poll
    EXPECT_TRUE(RunUntilReady());
    daemon_.reset();
    std::filesystem::remove(Path("subnet.env"));
  }
}

TEST_F(DaemonHostGwTest, DisabledForwardingIsEnabledAgain) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  for (const host::EmulatedAdapter& each : host().state().adapters)
    ASSERT_TRUE(host().SetForwarding(each.adapter.index, IpFamily::kV4, false).ok());
  host().SetUp("Ethernet", true);
  EXPECT_TRUE(RunUntil([this] { return Forwarding().size() == 2; }));
}

TEST_F(DaemonHostGwTest, AMovedPeerLeavesNoStaleRoute) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  WriteNodes({Own(), Peer("192.168.1.77")});
  const std::string moved = "10.244.2.0/24 via 192.168.1.77 dev vEthernet (Ethernet)";
  EXPECT_TRUE(RunUntil([&] { return Routes() == Strings{moved}; }));
  WriteNodes({Own()});
  EXPECT_TRUE(RunUntil([&] { return Routes().empty(); }));
}

TEST_F(DaemonHostGwTest, APeerThatIsNotOnLinkIsRefusedByName) {
  WriteNodes({Own(), Peer(), HostGw("far", "10.244.3.0/24", "172.16.0.9")});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  EXPECT_THAT(Routes(), ElementsAre(route_));
  const admin::Status status = daemon_->ReadStatus();
  ASSERT_EQ(status.conditions.size(), 1u);
  EXPECT_THAT(status.conditions[0].condition,
              HasSubstr("peer \"far\" (10.244.3.0/24) has no route: its address 172.16.0.9 is not "
                        "on the link of vEthernet (Ethernet)"));
}

// The switch is deleted and created: adapters have other indexes, no routes and no forwarding.
TEST_F(DaemonHostGwTest, ObjectsLostInARestartOfHnsAreRestored) {
  for (const auto networks : {Restart::Networks::kKept, Restart::Networks::kLost}) {
    SCOPED_TRACE(networks == Restart::Networks::kKept ? "kept" : "lost");
    WriteNodes({Own(), Peer()});
    ASSERT_TRUE(StartHere().ok());
    ASSERT_TRUE(RunUntilReady());
    const std::string env = Read("subnet.env");
    const std::string before = daemon_->ReadStatus().hns->id;
    const bool lost = networks == Restart::Networks::kLost;
    hns().RestartService({networks, /*routes_kept=*/false, /*endpoints_kept=*/!lost});
    ASSERT_TRUE(RunUntil([&] {
      return (daemon_->ReadStatus().hns->id != before) == lost && Ready() &&
             Routes() == Strings{route_};
    }));
    // And on no other adapter, although the NIC had the address for a while.
    EXPECT_TRUE(RunUntil([&] {
      return Forwarding() == Strings{"vEthernet (Ethernet)", "vEthernet (cbr0_ep)"};
    }));
    EXPECT_EQ(Endpoints().size(), 1u);
    EXPECT_EQ(Read("subnet.env"), env);
    daemon_.reset();
  }
}

TEST_F(DaemonHostGwTest, AForeignDeletionIsRepairedWithinASecond) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  for (const bool whole_network : {false, true}) {
    const hns::BridgeEndpoint endpoint = Endpoints().at(0);
    ASSERT_TRUE((whole_network ? hns().Delete(hns::Kind::kNetwork, endpoint.network)
                               : hns().Delete(hns::Kind::kEndpoint, endpoint.id))
                    .ok());
    ASSERT_TRUE(RunUntil([&] {
      return Endpoints().size() == 1 && Endpoints()[0].id != endpoint.id && Ready() &&
             Forwarding().size() == 2 && Routes() == Strings{route_};
    })) << "whole network: "
        << whole_network;
  }
  EXPECT_TRUE(RunUntil([this] {
    const auto restored = daemon_->ReadStatus().hns->restored;
    return restored && restored->count == 2;
  })) << "the endpoint, and the network with its endpoint";
}

// HNS reports its endpoint as attached, and the host has no adapter for it (flannel#1391).
TEST_F(DaemonHostGwTest, TheKeeperLearnsThatAnEndpointHasNoAdapter) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  const hns::Guid before = Endpoints().at(0).id;
  hns().RestartService({.attachments_stale = true});
  // The keeper's condition; the daemon's own is "forwarding".
  ASSERT_TRUE(RunUntil([this] {
    const auto hns = daemon_->ReadStatus().hns;
    return hns && hns->state == "endpoint" &&
           hns->text == "no adapter has 10.244.1.2 yet: HNS is creating it";
  }));
  EXPECT_FALSE(CheckNamed("hns").ok);
  EXPECT_TRUE(Endpoints().at(0).attached);
  // The keeper would do so after 30 s.
  ASSERT_TRUE(hns().Delete(hns::Kind::kEndpoint, before).ok());
  EXPECT_TRUE(RunUntil([&] {
    return HnsState() == "in-sync" && Endpoints().size() == 1 && Endpoints()[0].id != before &&
           Forwarding().size() == 2 && Routes() == Strings{route_};
  }));
}

TEST_F(DaemonHostGwTest, AnotherAddressOfTheNodeIsFollowed) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  host().SetAddresses("vEthernet (Ethernet)", {{*IpAddress::Parse("192.168.1.20"), 24}});
  ASSERT_TRUE(RunUntil([this] {
    const admin::Status status = daemon_->ReadStatus();
    return status.hns->management_ip == IpAddress::Parse("192.168.1.20") &&
           status.v4->public_ip == IpAddress::Parse("192.168.1.20") && Ready();
  }));
  EXPECT_THAT(Routes(), ElementsAre(route_));
  EXPECT_EQ(Networks().size(), 1u);
}

TEST_F(DaemonHostGwTest, AnHnsThatKeepsTheOldAddressIsNoted) {
  hns::emulator::Settings settings;
  settings.management_ip_follows = false;
  hns().Set(settings);
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  host().SetAddresses("vEthernet (Ethernet)", {{*IpAddress::Parse("192.168.1.20"), 24}});
  ASSERT_TRUE(RunUntil([this] { return !daemon_->ReadStatus().hns->notes.empty() && Ready(); }));
  EXPECT_THAT(daemon_->ReadStatus().hns->notes,
              ElementsAre(HasSubstr("this node's address is 192.168.1.20")));
}

TEST_F(DaemonHostGwTest, ItRecoversAfterAReboot) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  daemon_.reset();
  machine_->emulated.Reboot();
  EXPECT_THAT(Routes(), IsEmpty());
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  EXPECT_THAT(Routes(), ElementsAre(route_));
  // The NIC too, when it had the address for a while.
  EXPECT_THAT(Forwarding(),
              ::testing::IsSupersetOf({"vEthernet (Ethernet)", "vEthernet (cbr0_ep)"}));
}

TEST_F(DaemonHostGwTest, TheNextProcessChangesNothing) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  daemon_.reset();
  EXPECT_THAT(Routes(), ElementsAre(route_)) << "pods go on talking";
  const std::string before = machine_->emulated.Text();
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  EXPECT_EQ(daemon_->ReadStatus().hns->modifying_calls, 1u) << "it attaches, as upstream does";
  EXPECT_EQ(machine_->emulated.Text(), before);
}

TEST_F(DaemonHostGwTest, AnotherPodCidrRebuildsTheNetwork) {
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  WriteNodes({Own("10.244.7.0/24"), Peer()});
  ASSERT_TRUE(RunUntil(
      [this] { return Read("subnet.env").find("10.244.7.1/24") != std::string::npos && Ready(); }));
  ASSERT_EQ(Networks().size(), 1u);
  EXPECT_EQ(Networks()[0].subnets[0].prefix, *IpPrefix::Parse("10.244.7.0/24"));
  ASSERT_EQ(Endpoints().size(), 1u);
  EXPECT_EQ(Endpoints()[0].address, IpAddress::Parse("10.244.7.2"));
  EXPECT_THAT(Forwarding(), ElementsAre("vEthernet (Ethernet)", "vEthernet (cbr0_ep)"));
  EXPECT_THAT(Routes(), ElementsAre(route_));
}

TEST_F(DaemonHostGwTest, AFollowerReceivesTheSpecAndSuppliesNoFacts) {
  config_.options.data_plane = config::DataPlane::kNone;
  config_.options.hns_emulator = "follower";
  WriteNodes({Own(), Peer()});
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  ASSERT_TRUE(RunUntil([this] { return HnsState() == "in-sync" || HnsState() == "forwarding"; }));
  EXPECT_EQ(Networks().size(), 1u);
  EXPECT_THAT(Forwarding(), IsEmpty());
  EXPECT_THAT(Routes(), IsEmpty());
}

}  // namespace
}  // namespace weft::daemon
