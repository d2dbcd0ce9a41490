// SPDX-License-Identifier: Apache-2.0
// The daemon on a whole Windows node in memory: a host, and the HNS that binds its adapter. Host
// and HNS notify of changes: the daemon's own polls, every 5 s and every minute, are too late for
// most of these tests or disabled.
#include <set>

#include "control/emulator/emulated_node.h"
#include "hns/base_network.h"
#include "hns/client.h"
#include "tests/control/daemon/daemon_fixture.h"
#include "tests/support/ethernet_node.h"
#include "tests/support/host_view.h"
#include "tests/support/lease_makers.h"
#include "tests/support/scripted_server.h"

namespace weft::daemon {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using weft::testing::Address;

class DaemonWindowsNodeTest : public DaemonFixture {
 protected:
  DaemonWindowsNodeTest() {
    testing::AddEthernet(node_->emulated.host(), {Address("192.168.1.10"), 24},
                         Address("192.168.1.1"));
  }
  void SetUp() override {
    DaemonFixture::SetUp();
    config_.options.data_plane = config::DataPlane::kHns;
    config_.hns = {node_, &node_->emulated.hns()};
    config_.polls_host = false;
    WriteNodes({Node("a").Leased("10.244.1.0/24", "192.168.1.10"),
                Node("b").Leased("10.244.2.0/24", "192.168.1.2", "02:00:00:00:00:02")});
  }
  absl::Status StartHere() {
    return Start(std::make_unique<weft::testing::HostView>(node_->emulated.host()));
  }
  // Instead of the file: an API server that has our Node without annotations, and accepts patches.
  void JoinCluster() {
    config_.options.kube_subnet_mgr = true;
    config_.options.lease_file.clear();
    kube::ClusterAccess access;
    access.tls = false;
    access.host = "127.0.0.1";
    access.port = server_.port();
    access.origin = "a script";
    config_.cluster = access;
    const auto own =
        weft::testing::NodeFacts("a").Uid("5ac2").Version("7").PodCidr("10.244.1.0/24");
    server_.Answer({.bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" +
                             weft::testing::NodeEventJson("ADDED", own) +
                             weft::testing::BookmarkJson("9", /*initial_events_end=*/true),
                    .ending = weft::testing::Ending::kHold});
    for (int i = 0; i < 8; ++i) {
      server_.Answer({.bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                               "Content-Length: 2\r\n\r\n{}"});
    }
  }
  ::testing::AssertionResult RunUntilWritten(const std::string& text) {
    return RunUntil([&] {
      return !server_.requests().empty() &&
             server_.requests().back().find(text) != std::string::npos;
    });
  }
  hns::Network Network(const std::string& name = "flannel.4096") {
    const auto networks = hns::Client(node_->emulated.hns()).Networks(name);
    EXPECT_TRUE(networks.ok() && networks->size() == 1) << networks.status();
    return networks.ok() && !networks->empty() ? networks->front() : hns::Network();
  }
  std::string ConditionOf(const std::string& subject) {
    for (const admin::ConditionStatus& each : daemon_->ReadStatus().conditions) {
      if (each.subject == subject) return each.condition;
    }
    return "";
  }
  // 10.8.0.0/16 on the NIC.
  host::Route PutStaticRoute() {
    host::Route route;
    route.destination = *IpPrefix::Parse("10.8.0.0/16");
    route.gateway = Address("192.168.1.254");
    route.adapter_index = node_->emulated.host().state().adapters.at(0).adapter.index;
    EXPECT_TRUE(node_->emulated.host().PutRoutes({route})[0].ok());
    return route;
  }
  ::testing::AssertionResult RunUntilItMoved(const host::Route& route) {
    return RunUntil([&] {
      const auto way = node_->emulated.host().RouteTo(Address("10.8.1.1"));
      return way.ok() && way->destination == route.destination &&
             way->adapter_index != route.adapter_index;
    });
  }
  std::size_t HostRoutes() {
    std::size_t count = 0;
    for (const hns::Policy& policy : Network().policies)
      count += policy.type == hns::policy_type::kHostRoute ? 1 : 0;
    return count;
  }
  // DHCP assigned another one; Windows reports it as a removal, then an addition.
  void Renumber(const std::string& address) {
    node_->emulated.host().SetAddresses("vEthernet (Ethernet)", {});
    node_->emulated.host().SetAddresses("vEthernet (Ethernet)", {{Address(address), 24}});
  }

  // A first start, a reboot, a second start.
  void RebootWithBaseNetwork(bool base) {
    hns::emulator::Settings settings;
    settings.gap = std::chrono::hours(1);
    node_->emulated.hns().Set(settings);
    config_.options.hns_base_network = base;
    ASSERT_TRUE(StartHere().ok());
    ASSERT_TRUE(RunUntilReady());
    ASSERT_FALSE(node_->emulated.host().Reachable()) << "a switch is being made";
    daemon_.reset();
    node_->emulated.Reboot();
    host::HostState state = node_->emulated.host().state();
    EXPECT_EQ(state.switches.contains("Ethernet"), base) << "before any start";
    state.gap_until = {};  // it is over
    node_->emulated.host().Replace(state);
    ASSERT_TRUE(StartHere().ok());
    ASSERT_TRUE(RunUntilReady());
  }

  struct MemoryNode {
    hns::emulator::SystemClock clock;
    emulator::EmulatedNode emulated{clock};
  };
  const std::shared_ptr<MemoryNode> node_ = std::make_shared<MemoryNode>();
  weft::testing::ScriptedServer server_{loop_.io(), {}};
};

TEST_F(DaemonWindowsNodeTest, AnotherAddressIsPublishedAndReadFromHns) {
  JoinCluster();
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilWritten("public-ip\":\"192.168.1.10\""));
  const std::string mac = daemon_->ReadStatus().hns->router_mac->ToString();
  const std::string network = daemon_->ReadStatus().hns->id;

  Renumber("192.168.1.20");
  ASSERT_TRUE(RunUntilWritten("public-ip\":\"192.168.1.20\""));
  EXPECT_THAT(server_.requests().back(),
              AllOf(StartsWith("PATCH /api/v1/nodes/a/status"), Not(HasSubstr("VtepMAC"))))
      << "one annotation, and never a MAC blanked";
  ASSERT_TRUE(RunUntil(
      [&] { return daemon_->ReadStatus().hns->management_ip == Address("192.168.1.20"); }));
  EXPECT_EQ(daemon_->ReadStatus().hns->id, network) << "its pods live on";
  EXPECT_EQ(daemon_->ReadStatus().hns->router_mac->ToString(), mac);
  EXPECT_TRUE(RunUntil([&] { return daemon_->ReadStatus().hns->notes.empty(); }))
      << "once the address of before is known to be gone";
  EXPECT_EQ(HostRoutes(), 1u) << "it names no address; one is enough";
}

TEST_F(DaemonWindowsNodeTest, AnHnsThatKeepsTheOldAddressIsReported) {
  hns::emulator::Settings settings;
  settings.management_ip_follows = false;
  node_->emulated.hns().Set(settings);
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  Renumber("192.168.1.20");
  ASSERT_TRUE(RunUntil([this] { return !daemon_->ReadStatus().hns->notes.empty(); }));
  EXPECT_THAT(
      daemon_->ReadStatus().hns->notes,
      Contains(AllOf(HasSubstr("HNS sends from 192.168.1.10"),
                     HasSubstr("this node's address is 192.168.1.20"), HasSubstr("reboot"))));
  const auto published = [this](const char* address) {
    return RunUntil([&] { return daemon_->ReadStatus().v4->public_ip == Address(address); });
  };
  EXPECT_TRUE(published("192.168.1.10")) << "it stays, and with it the check \"published\"";
  // It follows late, without a notification.
  node_->emulated.hns().Set({});
  EXPECT_TRUE(RunUntil([this] { return daemon_->ReadStatus().hns->notes.empty(); }));
  EXPECT_TRUE(published("192.168.1.20"));
}

// An agent gives a load balancer's address to the NIC of every node, and HNS reports the first one.
TEST_F(DaemonWindowsNodeTest, HnssOtherAddressOfTheSameAdapterIsNotPublished) {
  node_->emulated.host().SetAddresses(
      "Ethernet", {{Address("203.0.113.40"), 32}, {Address("192.168.1.10"), 24}});
  config_.options.iface = {"192.168.1.10"};
  JoinCluster();
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilWritten("public-ip\":\"192.168.1.10\""));
  ASSERT_TRUE(RunUntil([this] { return !daemon_->ReadStatus().hns->notes.empty(); }));
  EXPECT_THAT(daemon_->ReadStatus().hns->notes,
              Contains(AllOf(HasSubstr("HNS sends from 203.0.113.40, but this node's address is "
                                       "192.168.1.10"),
                             HasSubstr("has both, remove 203.0.113.40 there"))));
  EXPECT_EQ(daemon_->ReadStatus().hns->management_ip, Address("203.0.113.40"));
  EXPECT_EQ(daemon_->ReadStatus().v4->public_ip, Address("192.168.1.10"));
  for (const std::string& request : server_.requests())
    EXPECT_THAT(request, Not(HasSubstr("203.0.113.40")));
}

TEST_F(DaemonWindowsNodeTest, ADeletedNetworkIsRestoredWithinASecond) {
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  const hns::Guid before = Network().id;
  ASSERT_TRUE(node_->emulated.hns().Delete(hns::Kind::kNetwork, before).ok());
  const std::string old = before.ToString();
  ASSERT_TRUE(RunUntil([&] {
    const auto hns = daemon_->ReadStatus().hns;
    return hns->state == "in-sync" && hns->id != old;
  })) << "the poll of each minute would be too late";
  EXPECT_EQ(HostRoutes(), 1u);
}

// After the restart the ledger in --state-dir shows that the first one is ours.
TEST_F(DaemonWindowsNodeTest, AnotherVniMakesAnotherNetworkAndDeletesTheFirst) {
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  daemon_.reset();
  config_.conf.vni = *Vni::From(4097);
  config_.conf.name = "flannel.4097";
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntil([this] {
    const auto networks = hns::Client(node_->emulated.hns()).Networks("flannel.4096");
    return networks.ok() && networks->empty();
  }));
  EXPECT_TRUE(Network("flannel.4097").Has(hns::policy_type::kHostRoute));
  EXPECT_THAT(daemon_->ReadStatus().hns->notes, IsEmpty());
}

TEST_F(DaemonWindowsNodeTest, AStaticRouteThatTheSwitchRemovedIsRestored) {
  const host::Route route = PutStaticRoute();
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilItMoved(route));
  ASSERT_TRUE(RunUntilReady());
  EXPECT_EQ(ConditionOf("static-routes"), "");
}

// A cloud's name server and metadata on link, beside another program's NAT network.
TEST_F(DaemonWindowsNodeTest, OnLinkRoutesMoveToTheSwitchAndAnothersNetworkStays) {
  host::Adapter nat;
  nat.name = "vEthernet (nat)";
  nat.mtu = 1500;
  nat.up = true;
  nat.mac = *MacAddress::Parse("00:15:5d:00:00:17");
  nat.addresses = {{Address("172.23.16.1"), 20}};
  node_->emulated.host().AddAdapter(nat);
  hns::Client client(node_->emulated.hns());
  hns::Network network;
  network.name = "nat";
  network.type = "NAT";
  ASSERT_TRUE(client.Create(network).ok());
  host::Route route;
  route.adapter_index = node_->emulated.host().state().adapters.at(0).adapter.index;
  const char* const services[] = {"169.254.169.253", "169.254.169.254"};
  for (const char* service : services) {
    route.destination = *IpPrefix::From(Address(service), 32);
    ASSERT_TRUE(node_->emulated.host().PutRoutes({route})[0].ok());
  }
  ASSERT_TRUE(StartHere().ok());
  for (const char* service : services) {
    EXPECT_TRUE(RunUntil([&] {
      const auto way = node_->emulated.host().RouteTo(Address(service));
      return way.ok() && way->destination.length() == 32 &&
             way->adapter_index != route.adapter_index;
    })) << service;
  }
  ASSERT_TRUE(RunUntilReady());
  EXPECT_EQ(ConditionOf("static-routes"), "");
  EXPECT_EQ(daemon_->ReadStatus().interface_name, "vEthernet (Ethernet)");
  EXPECT_EQ(client.Networks("nat")->size(), 1u);
}

// alloc has no backend, but the switch of a CNI plugin takes static routes too.
TEST_F(DaemonWindowsNodeTest, AStaticRouteThatACniPluginsSwitchRemovedIsRestored) {
  config_.conf.type = control::BackendType::kAlloc;
  config_.polls_host = true;
  const host::Route route = PutStaticRoute();
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  hns::Client client(node_->emulated.hns());
  hns::Network network;
  network.name = "cbr0";
  network.type = "L2Bridge";
  const auto created = client.Create(network);
  ASSERT_TRUE(created.ok()) << created.status();
  ASSERT_TRUE(RunUntilItMoved(route));
}

TEST_F(DaemonWindowsNodeTest, TheFirewallLetsTheTunnelIn) {
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  const auto rules = node_->emulated.host().state().firewall;
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(rules[0], (host::EmulatedFirewallRule{{"OverlayTraffic4789UDP", 4789}, "weft"}));
}

TEST_F(DaemonWindowsNodeTest, TheFirewallLetsInThePeersAloneWhereAsked) {
  config_.options.firewall_sources = config::FirewallSources::kPeers;
  const auto lets_in = [&](std::optional<std::vector<IpPrefix>> sources) {
    return RunUntil([&] {
      const auto rules = node_->emulated.host().state().firewall;
      return rules.size() == 1 && rules[0].sources == sources;
    });
  };
  const Node own = Node("a").Leased("10.244.1.0/24", "192.168.1.10");
  const Node b = Node("b").Leased("10.244.2.0/24", "192.168.1.2", "02:00:00:00:00:02");
  const Node c = Node("c").Leased("10.244.3.0/24", "203.0.113.3", "02:00:00:00:00:03");
  Node c_by_nat = c;
  c_by_nat.Annotation("public-ip-overwrite", "203.0.113.3");
  const std::vector<IpPrefix> only_b = {*IpPrefix::Parse("192.168.1.2/32")},
                              b_and_c = {*IpPrefix::Parse("192.168.1.2/32"),
                                         *IpPrefix::Parse("203.0.113.3/32")};
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  ASSERT_TRUE(lets_in(only_b));
  WriteNodes({own, b, c});
  ASSERT_TRUE(lets_in(b_and_c));
  EXPECT_EQ(ConditionOf("firewall"), "");
  WriteNodes({own, b, c_by_nat});
  ASSERT_TRUE(lets_in(std::nullopt));
  EXPECT_THAT(ConditionOf("firewall"), HasSubstr("node c is behind NAT"));
  WriteNodes({own, b});
  ASSERT_TRUE(lets_in(only_b));
  EXPECT_EQ(ConditionOf("firewall"), "");
}

TEST_F(DaemonWindowsNodeTest, RoutesLeftByUpstreamsHostGwAreReportedAndStay) {
  host::Route route;
  route.destination = *IpPrefix::Parse("10.244.9.0/24");
  route.gateway = Address("192.168.1.9");
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  route.adapter_index = node_->emulated.host().RouteTo(Address("192.168.1.9"))->adapter_index;
  ASSERT_TRUE(node_->emulated.host().PutRoutes({route})[0].ok());
  ASSERT_TRUE(RunUntil([this] { return !ConditionOf("left-routes").empty(); }));
  EXPECT_THAT(ConditionOf("left-routes"),
              HasSubstr("10.244.9.0/24 via 192.168.1.9; upstream's flanneld leaves"));
  EXPECT_TRUE(node_->emulated.host().RouteTo(Address("10.244.9.1")).ok()) << "it is not ours";
  EXPECT_TRUE(daemon_->ReadStatus().ready);
}

// Our own endpoint on the bridge is no pod.
TEST_F(DaemonWindowsNodeTest, ChangingFromHostGwToVxlanDeletesTheBridge) {
  const control::NetConf vxlan = config_.conf;
  constexpr char kHostGw[] =
      R"({"Network":"10.244.0.0/16","Backend":{"Type":"host-gw","Name":"cbr0"}})";
  config_.conf = control::ParseNetConf(kHostGw, "net-conf.json", control::kHnsDefaults).value();
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  ASSERT_EQ(hns::Client(node_->emulated.hns()).Endpoints()->size(), 1u);
  daemon_.reset();
  config_.conf = vxlan;
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntil([this] {
    const auto networks = hns::Client(node_->emulated.hns()).Networks();
    return networks.ok() && networks->size() == 1 && networks->front().name == "flannel.4096";
  }));
  EXPECT_THAT(daemon_->ReadStatus().hns->notes, IsEmpty());
}

TEST_F(DaemonWindowsNodeTest, WithABaseNetworkOnlyTheFirstStartInterruptsTheNode) {
  RebootWithBaseNetwork(true);
  EXPECT_TRUE(node_->emulated.host().Reachable());
  EXPECT_EQ(Network(std::string(hns::kBaseNetworkName)).flags, 0u) << "persistent";
}

TEST_F(DaemonWindowsNodeTest, WithoutABaseNetworkEachBootInterruptsTheNode) {
  RebootWithBaseNetwork(false);
  EXPECT_FALSE(node_->emulated.host().Reachable());
}

// ---- the interface while HNS makes its switch

// Ethernet, 192.168.1.10, whose default route has the lower metric, and Ethernet 2, 172.16.0.10.
// While a switch is made the host's adapter is late, and has an address of 169.254/16 first.
class TwoNicsNodeTest : public DaemonWindowsNodeTest {
 protected:
  void SetUp() override {
    DaemonWindowsNodeTest::SetUp();
    host::Adapter second;
    second.name = "Ethernet 2";
    second.mtu = 1500;
    second.up = true;
    second.mac = *MacAddress::Parse("00:15:5d:00:00:02");
    second.addresses = {{Address("172.16.0.10"), 24}};
    host::Route route;
    route.gateway = Address("172.16.0.1");
    route.adapter_index = node_->emulated.host().AddAdapter(second);
    route.metric = 100;
    ASSERT_TRUE(node_->emulated.host().PutRoutes({route})[0].ok());
    hns::emulator::Settings settings;
    settings.gap = std::chrono::milliseconds(800);
    settings.new_interface = std::chrono::milliseconds(400);
    settings.link_local = std::chrono::milliseconds(800);
    settings.management_ip = std::chrono::milliseconds(200);
    node_->emulated.hns().Set(settings);
    config_.polls_host = true;
    JoinCluster();
  }
  // Each request that names an address to peers.
  std::vector<std::string> Published() {
    std::vector<std::string> published;
    const std::string key = "public-ip\":\"";
    for (const std::string& request : server_.requests()) {
      const std::size_t at = request.find(key);
      if (at == std::string::npos) continue;
      const std::size_t begin = at + key.size();
      published.push_back(request.substr(begin, request.find('"', begin) - begin));
    }
    return published;
  }
  void ExpectOnlyTheFirst() {
    ASSERT_TRUE(StartHere().ok());
    std::set<std::string> interfaces;
    bool waited = false;
    ASSERT_TRUE(RunUntil([&] {
      const admin::Status status = daemon_->ReadStatus();
      if (!status.interface_name.empty()) interfaces.insert(status.interface_name);
      for (const admin::Check& check : status.checks)
        waited = waited || check.text.find("has lost its address") != std::string::npos;
      return !Published().empty() && status.hns && status.hns->state == "in-sync";
    }));
    EXPECT_TRUE(waited) << "the outage was not played";
    EXPECT_THAT(interfaces, ::testing::ElementsAre("Ethernet", "vEthernet (Ethernet)"));
    EXPECT_THAT(Published(), ::testing::Each("192.168.1.10"));
    EXPECT_EQ(daemon_->ReadStatus().v4->public_ip, Address("192.168.1.10"));
  }
};

TEST_F(TwoNicsNodeTest, OnlyTheFirstNicsAddressIsEverPublished) { ExpectOnlyTheFirst(); }

TEST_F(TwoNicsNodeTest, OnlyTheFirstNicsAddressIsPublishedWhereABoundNicIsNotListed) {
  node_->emulated.host().HideBoundAdapters(true);
  ExpectOnlyTheFirst();
}

// Later, too: a DHCP lease that ran out.
TEST_F(TwoNicsNodeTest, ALostAddressIsWaitedForAndNoOtherIsPublished) {
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntil([&] { return !Published().empty(); }));
  ASSERT_TRUE(RunUntil([&] { return CheckNamed("interface").text == "vEthernet (Ethernet)"; }));
  node_->emulated.host().SetAddresses("vEthernet (Ethernet)", {});
  ASSERT_TRUE(RunUntil([&] {
    return CheckNamed("interface")
        .text.starts_with("vEthernet (Ethernet) exists but has lost its address 192.168.1.10");
  }));
  node_->emulated.host().SetAddresses("vEthernet (Ethernet)", {{Address("192.168.1.10"), 24}});
  ASSERT_TRUE(RunUntil([&] { return CheckNamed("interface").text == "vEthernet (Ethernet)"; }));
  EXPECT_THAT(Published(), ::testing::Each("192.168.1.10"));
}

// HNS is bound to the other NIC and sends from it: peers must send to that one.
TEST_F(TwoNicsNodeTest, ThePublishedAddressIsTheManagementIp) {
  const hns::Network existing = hns::OverlayNetwork(
      {"flannel.4096", *IpPrefix::Parse("10.244.1.0/24"), *hns::IsolationId::From(4096), 4789,
       "Ethernet 2", Address("172.16.0.10"), false});
  ASSERT_TRUE(hns::Client(node_->emulated.hns()).Create(existing).ok());
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntil([&] { return !Published().empty(); }));
  EXPECT_EQ(daemon_->ReadStatus().interface_name, "Ethernet");
  EXPECT_THAT(Published(), ::testing::Each("172.16.0.10"));
  EXPECT_EQ(daemon_->ReadStatus().v4->public_ip, Address("172.16.0.10"));
}

TEST_F(TwoNicsNodeTest, AConfiguredAddressIsPublishedForAnyManagementIp) {
  config_.options.iface = {"Ethernet"};
  config_.options.public_ip = "203.0.113.7";
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntil([&] { return !Published().empty(); }));
  EXPECT_THAT(Published(), ::testing::Each("203.0.113.7"));
  EXPECT_EQ(daemon_->ReadStatus().v4->public_ip, Address("203.0.113.7"));
}

// HNS reports the management IP long before the host has the adapter.
TEST_F(DaemonWindowsNodeTest, HostRouteWaitsForTheAdapter) {
  hns::emulator::Settings settings;
  settings.management_ip_early = true;
  settings.new_interface = std::chrono::hours(1);
  node_->emulated.hns().Set(settings);
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntil([this] {
    return CheckNamed("hns").text.find("no adapter has 192.168.1.10") != std::string::npos;
  }));
  EXPECT_EQ(daemon_->ReadStatus().hns->management_ip, Address("192.168.1.10"));
  EXPECT_EQ(HostRoutes(), 0u);
  host::HostState state = node_->emulated.host().state();
  for (host::EmulatedAdapter& each : state.adapters) each.visible_from = {};
  node_->emulated.host().Replace(state);
  ASSERT_TRUE(RunUntilReady());
  EXPECT_EQ(HostRoutes(), 1u);
  EXPECT_THAT(daemon_->ReadStatus().hns->notes, IsEmpty());
}

TEST_F(DaemonWindowsNodeTest, AnApipaAddressIsNeitherTheNodesNorPublished) {
  node_->emulated.host().SetAddresses("Ethernet", {{Address("169.254.7.7"), 16}});
  JoinCluster();
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntil([&] { return CheckNamed("source").ok; }));
  EXPECT_FALSE(CheckNamed("interface").ok);
  EXPECT_EQ(Read("subnet.env"), "");
  EXPECT_EQ(server_.requests().size(), 1u) << "nothing is published";
  node_->emulated.host().SetAddresses("Ethernet", {{Address("192.168.1.10"), 24}});
  EXPECT_TRUE(RunUntilWritten("public-ip\":\"192.168.1.10\""));
}

TEST_F(DaemonWindowsNodeTest, ANameByExpressionIsReadyWithTheSwitch) {
  for (const char* pattern : {"^Ethernet$", "Ethernet", "^(v?Ethernet.*)"}) {
    config_.options.iface_regex = {pattern};
    ASSERT_TRUE(StartHere().ok());
    EXPECT_TRUE(RunUntilReady()) << pattern;
    ASSERT_TRUE(node_->emulated.host().state().switches.contains("Ethernet"));
    daemon_.reset();
  }
}

// "vEthernet (Ethernet) 2", and an arbitrary name: HNS accepts neither as an adapter.
TEST_F(DaemonWindowsNodeTest, AHostAdapterOfAnotherNameIsNoObstacle) {
  for (const char* name : {"vEthernet (Ethernet) 2", "LAN"}) {
    SCOPED_TRACE(name);
    const auto node = std::make_shared<MemoryNode>();
    testing::AddEthernet(node->emulated.host(), {Address("192.168.1.10"), 24},
                         Address("192.168.1.1"));
    // A Hyper-V switch, used by another HNS network.
    hns::emulator::Settings settings;
    settings.host_adapter = name;
    node->emulated.hns().Set(settings);
    ASSERT_TRUE(hns::Client(node->emulated.hns())
                    .Create(hns::OverlayNetwork({"other", *IpPrefix::Parse("10.99.0.0/24"),
                                                 *hns::IsolationId::From(5000), 4789, "Ethernet",
                                                 Address("192.168.1.10"), false}))
                    .ok());
    config_.hns = {node, &node->emulated.hns()};
    ASSERT_TRUE(Start(std::make_unique<weft::testing::HostView>(node->emulated.host())).ok());
    EXPECT_TRUE(RunUntilReady());
    EXPECT_EQ(daemon_->ReadStatus().interface_name, name);
    daemon_.reset();
  }
}

TEST_F(DaemonWindowsNodeTest, AFirewallThatIsNotManagedIsLeftAlone) {
  config_.options.manage_firewall = false;
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntilReady());
  EXPECT_TRUE(node_->emulated.host().state().firewall.empty());
  EXPECT_THAT(daemon_->ReadStatus().hns->notes,
              ::testing::Contains(HasSubstr("allow inbound UDP port 4789 yourself")));
}

// HNS creates the first network and its adapter: /metrics shows for how long the node was without.
TEST_F(DaemonWindowsNodeTest, TheInterruptionByTheFirstNetworkIsMeasured) {
  hns::emulator::Settings settings;
  settings.new_interface = std::chrono::milliseconds(400);
  node_->emulated.hns().Set(settings);
  config_.polls_host = true;
  ASSERT_TRUE(StartHere().ok());
  EXPECT_THAT(daemon_->ReadMetrics(), ::testing::Not(HasSubstr("\nweft_network_blip_seconds ")));
  ASSERT_TRUE(RunUntilReady());
  const std::string metrics = daemon_->ReadMetrics();
  const std::string name = "\nweft_network_blip_seconds ";
  ASSERT_THAT(metrics, HasSubstr(name));
  const double seconds = std::stod(metrics.substr(metrics.find(name) + name.size()));
  EXPECT_GE(seconds, 0.4);
  EXPECT_LT(seconds, 120);  // as long as RunUntilReady waits
}

// Windows' firewall comes up late at boot.
TEST_F(DaemonWindowsNodeTest, AFirewallThatIsNotUpYetIsTriedAgain) {
  node_->emulated.host().StopFirewall(std::chrono::milliseconds(1500));
  ASSERT_TRUE(StartHere().ok());
  ASSERT_TRUE(RunUntil([&] { return node_->emulated.host().state().firewall.size() == 1; }));
  EXPECT_EQ(ConditionOf("firewall"), "");
}

}  // namespace
}  // namespace weft::daemon
