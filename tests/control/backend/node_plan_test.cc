// SPDX-License-Identifier: Apache-2.0
// The plan, and what each backend makes of it.
#include "control/backend/node_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/backend/hns_bridge/hns_bridge.h"
#include "control/backend/hns_overlay/hns_overlay.h"
#include "control/backend/host_routes/host_routes.h"
#include "control/backend/userspace/userspace.h"
#include "tests/support/lease_makers.h"

namespace weft::backend {
namespace {

using ::weft::testing::Address;
using ::weft::testing::Prefix;

// A dual-stack node with its defaults; each test changes what it is about.
class NodePlanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    conf_.network = Prefix("10.244.0.0/16");
    facts_.v4 =
        control::OwnFamilyFacts{Prefix("10.244.3.0/24"), *MacAddress::Parse("02:00:00:00:00:03")};
    underlay_.name = "eth0";
    underlay_.v4 = underlay::ChosenFamily{Address("192.168.1.3"), Address("192.168.1.3")};
  }
  void EnableV6() {
    conf_.enable_ipv6 = true;
    conf_.ipv6_network = Prefix("fd00:10:244::/56");
    facts_.v6 = control::OwnFamilyFacts{Prefix("fd00:10:244:3::/64"),
                                        *MacAddress::Parse("02:00:00:00:00:03")};
    underlay_.v6 = underlay::ChosenFamily{Address("fd00:1::3"), Address("fd00:1::3")};
  }
  NodePlan Make() {
    absl::StatusOr<NodePlan> plan = MakeNodePlan(facts_, conf_, underlay_);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? *plan : NodePlan{underlay_, {}, {}};
  }
  std::vector<TunnelConfig> Tunnels() { return TunnelConfigs(Make(), options_, conf_); }

  control::OwnFacts facts_;
  control::NetConf conf_;
  underlay::InterfaceChoice underlay_;
  config::Options options_;
};

TEST_F(NodePlanTest, AV4NodeHasUpstreamsDevice) {
  ASSERT_EQ(Tunnels().size(), 1u);
  const TunnelConfig tunnel = Tunnels()[0];
  EXPECT_EQ(tunnel.device, "flannel.4096");
  EXPECT_EQ(tunnel.subnet, Prefix("10.244.3.0/24"));
  EXPECT_EQ(tunnel.mtu.bytes(), 1450u);
  EXPECT_EQ(tunnel.link_mtu.bytes(), 1500u);
  EXPECT_EQ(tunnel.port, 4789);
  EXPECT_EQ(tunnel.bind_address, Address("192.168.1.3"));
  const NodePlan plan = Make();
  EXPECT_EQ(plan.mtu.bytes(), 1450u);
  EXPECT_EQ(plan.v4, (FamilyPlan{Prefix("10.244.0.0/16"), Prefix("10.244.3.0/24"),
                                 *MacAddress::Parse("02:00:00:00:00:03")}));
  EXPECT_EQ(plan.v6, std::nullopt);
}

TEST_F(NodePlanTest, DualStackHasTwoDevicesAndTheSmallerMtu) {
  EnableV6();
  const std::vector<TunnelConfig> tunnels = Tunnels();
  ASSERT_EQ(tunnels.size(), 2u);
  EXPECT_EQ(tunnels[0].device, "flannel.4096");
  EXPECT_EQ(tunnels[0].mtu.bytes(), 1450u);
  EXPECT_EQ(tunnels[1].device, "flannel-v6.4096");
  EXPECT_EQ(tunnels[1].mtu.bytes(), 1430u);
  EXPECT_EQ(tunnels[1].bind_address, Address("fd00:1::3"));
  EXPECT_EQ(Make().mtu.bytes(), 1430u);
  for (const TunnelConfig& tunnel : tunnels) EXPECT_EQ(tunnel.pod_mtu, Make().mtu);
}

TEST_F(NodePlanTest, SuperframesAreSentWholeOnlyByName) {
  underlay_.index = 7;
  EXPECT_EQ(Tunnels()[0].whole_egress, 0u);
  options_.superframes = config::Superframes::kWhole;
  EXPECT_EQ(Tunnels()[0].whole_egress, 7u);
}

// The router of either family has FLANNEL_SUBNET's address, and both share the pods' adapter.
TEST_F(NodePlanTest, PodsOnAnAdapterHaveAGateway) {
  EnableV6();
  options_.pod_device = {config::PodDevice::Kind::kPcap, "vEthernet (pods)"};
  const std::vector<TunnelConfig> tunnels = Tunnels();
  ASSERT_EQ(tunnels.size(), 2u);
  EXPECT_EQ(tunnels[0].device, "vEthernet (pods)");
  EXPECT_EQ(tunnels[0].gateway(), Address("10.244.3.1"));
  EXPECT_EQ(tunnels[1].device, "vEthernet (pods)");
  EXPECT_EQ(tunnels[1].gateway(), Address("fd00:10:244:3::1"));
}

TEST_F(NodePlanTest, V6AloneHasNoV4Half) {
  EnableV6();
  conf_.enable_ipv4 = false;
  conf_.network.reset();
  facts_.v4.reset();
  ASSERT_EQ(Tunnels().size(), 1u);
  EXPECT_EQ(Tunnels()[0].device, "flannel-v6.4096");
  EXPECT_EQ(Make().v4, std::nullopt);
}

TEST_F(NodePlanTest, TheConfiguredMtuReplacesTheLinks) {
  conf_.mtu = OuterMtu::From(1400);
  EXPECT_EQ(Tunnels()[0].mtu.bytes(), 1350u);
  EXPECT_EQ(Tunnels()[0].link_mtu.bytes(), 1500u);
  EXPECT_EQ(Make().mtu.bytes(), 1350u);
}

// One ConfigMap for nodes with wide and with narrow links.
TEST_F(NodePlanTest, TheLinksMtuLimitsTheConfiguredOne) {
  EnableV6();
  conf_.mtu = OuterMtu::From(9001);
  EXPECT_EQ(Tunnels()[0].mtu.bytes(), 1450u);
  EXPECT_EQ(Tunnels()[1].mtu.bytes(), 1430u);
  EXPECT_EQ(Make().mtu.bytes(), 1430u) << "FLANNEL_MTU, with both families";
  underlay_.mtu = *OuterMtu::From(9001);
  EXPECT_EQ(Tunnels()[0].mtu.bytes(), 8951u);
}

// Nothing is encapsulated: the link's own MTU, and a peer's route through its own address.
TEST_F(NodePlanTest, HostGwHasRoutesThroughThePeersOwnAddresses) {
  conf_.type = control::BackendType::kHostGw;
  underlay_.index = 2;
  EnableV6();
  EXPECT_EQ(Make().mtu.bytes(), 1500u);
  const auto routes = HostRouteConfigs(Make(), conf_, /*into_tunnels=*/false);
  ASSERT_EQ(routes.size(), 2u);
  EXPECT_EQ(routes[0], (control::HostRouteConfig{.underlay = {2, "eth0"},
                                                 .network = Prefix("10.244.0.0/16"),
                                                 .tunnel = {},
                                                 .upstream_device = "flannel.4096"}));
  EXPECT_EQ(routes[1].family, IpFamily::kV6);
  EXPECT_EQ(routes[1].network, Prefix("fd00:10:244::/56"));
}

TEST_F(NodePlanTest, HostGwThroughHnsHasABridge) {
  conf_.type = control::BackendType::kHostGw;
  conf_.name = "cbr0";
  conf_.dns_servers = "10.96.0.10";
  EnableV6();
  const auto bridge = BridgeFor(Make(), options_, conf_, {});
  ASSERT_TRUE(bridge.ok()) << bridge.status();
  EXPECT_EQ(*bridge, (hns::BridgeSpec{"cbr0", Prefix("10.244.3.0/24"), "10.96.0.10", "eth0",
                                      Address("192.168.1.3"), "",
                                      /*any_adapter=*/true, ""}));
}

TEST_F(NodePlanTest, ABridgesDefaultRouteIsFoundNextToTheHostsOwn) {
  underlay::HostFacts host;
  host::Adapter nic, bridge;
  nic.index = 3;
  nic.name = "vEthernet (LAN)";
  nic.addresses = {{Address("172.31.5.20"), 24}};
  bridge.index = 8;
  bridge.name = "vEthernet (net7_ep)";
  bridge.addresses = {{Address("10.90.7.2"), 24}};
  host.adapters = {nic, bridge};
  const auto add = [&host](const char* gateway, std::uint32_t adapter, std::uint32_t metric) {
    host::Route& route = host.routes_v4.emplace_back();
    route.gateway = Address(gateway);
    route.adapter_index = adapter;
    route.metric = metric;
    route.adapter_metric = 10;
  };
  const auto found = [&host] { return SecondDefaultRoute(Address("10.90.7.2"), host); };
  add("10.90.7.1", 8, 40);
  EXPECT_EQ(found(), "") << "the only one";
  add("172.31.5.1", 3, 40);
  const std::string both =
      "this host has two default routes: via 10.90.7.1 on vEthernet (net7_ep) of flanneld's bridge "
      "(metric 50) and via 172.31.5.1 (metric 50); the first one is used, and other networks may "
      "not be reached: remove it (Remove-NetRoute -InterfaceAlias 'vEthernet (net7_ep)' "
      "-DestinationPrefix 0.0.0.0/0)";
  EXPECT_EQ(found(), both) << "equals";
  add("172.31.5.9", 3, 90);
  EXPECT_EQ(found(), both) << "not the best one";
  host.routes_v4[2].metric = 39;
  EXPECT_EQ(found(), "") << "the host's own one precedes it";
  host.routes_v4[2].metric = 90;
  add("10.90.7.1", 8, 1);
  host.routes_v4[3].gateway.reset();
  EXPECT_EQ(found(), both) << "on the link itself";
  host.routes_v4[1].metric = 41;
  host.routes_v4[0].destination = Prefix("10.0.0.0/8");
  EXPECT_EQ(found(), "") << "no default route";
  host.routes_v4[0].destination = Prefix("0.0.0.0/0");
  EXPECT_EQ(SecondDefaultRoute(Address("10.90.7.3"), host), "") << "no adapter has it";
}

TEST_F(NodePlanTest, ABridgeNeedsRoomForTheHostsEndpoint) {
  conf_.type = control::BackendType::kHostGw;
  facts_.v4->subnet = Prefix("10.244.3.0/31");
  const auto bridge = BridgeFor(Make(), options_, conf_, {});
  ASSERT_FALSE(bridge.ok());
  EXPECT_THAT(std::string(bridge.status().message()),
              ::testing::HasSubstr("10.244.3.0/31 has no room for the host's own endpoint"));
}

TEST_F(NodePlanTest, DirectRoutingIsAddedToTheTunnel) {
  auto routes = HostRouteConfigs(Make(), conf_, /*into_tunnels=*/true);
  ASSERT_EQ(routes.size(), 1u);
  EXPECT_FALSE(routes[0].direct);
  EXPECT_EQ(routes[0].underlay.name, "");
  EXPECT_EQ(routes[0].node_address, Address("192.168.1.3"));
  conf_.direct_routing = true;
  routes = HostRouteConfigs(Make(), conf_, /*into_tunnels=*/true);
  EXPECT_TRUE(routes[0].direct);
  EXPECT_EQ(routes[0].underlay.name, "eth0");
  EXPECT_EQ(Make().mtu.bytes(), 1450u) << "some peers are behind the tunnel";
}

TEST_F(NodePlanTest, AFamilyWithoutNetworkHasNothing) {
  EnableV6();
  conf_.ipv6_network.reset();
  ASSERT_EQ(Tunnels().size(), 1u);
  EXPECT_EQ(Tunnels()[0].family, IpFamily::kV4);
  EXPECT_EQ(HostRouteConfigs(Make(), conf_, true).size(), 1u);
  EXPECT_EQ(Make().v6, std::nullopt);
  EnableV6();
  facts_.v6.reset();
  EXPECT_EQ(Make().v6, std::nullopt) << "nor one without a PodCIDR";
}

// HNS has no overlay of IPv6.
TEST_F(NodePlanTest, AnOverlayIsOfIpv4AndOfHns) {
  EnableV6();
  const auto overlay = OverlayFor(Make(), options_, conf_, {});
  ASSERT_TRUE(overlay.ok()) << overlay.status();
  EXPECT_EQ(overlay->subnet, Prefix("10.244.3.0/24"));
  conf_.vni = *Vni::From(1);  // none of HNS's
  EXPECT_FALSE(OverlayFor(Make(), options_, conf_, {}).ok());
}

TEST_F(NodePlanTest, AJumboLinkGivesJumboPods) {
  underlay_.mtu = *OuterMtu::From(9000);
  EXPECT_EQ(Make().mtu.bytes(), 8950u);
}

TEST_F(NodePlanTest, TheLargestMtusAreCut) {
  conf_.mtu = OuterMtu::From(OuterMtu::kMax);
  underlay_.mtu = *OuterMtu::From(OuterMtu::kMax);
  EXPECT_EQ(Make().mtu.bytes(), InnerMtu::kMax);
}

TEST_F(NodePlanTest, VniAndPortComeFromNetConf) {
  conf_.vni = *Vni::From(1);
  conf_.port = 8472;
  EXPECT_EQ(Tunnels()[0].device, "flannel.1");
  EXPECT_EQ(Tunnels()[0].vni, *Vni::From(1));
  EXPECT_EQ(Tunnels()[0].port, 8472);
}

// Linux takes 15 bytes.
TEST_F(NodePlanTest, DeviceNamesFitTheKernelUnderEveryVni) {
  EnableV6();
  conf_.vni = *Vni::From(9'999);
  EXPECT_EQ(Tunnels()[1].device, "flannel-v6.9999");
  conf_.vni = *Vni::From(10'000);
  EXPECT_EQ(Tunnels()[0].device, "flannel.10000");
  EXPECT_EQ(Tunnels()[1].device, "flan6.10000");
  conf_.vni = *Vni::From(Vni::kMax);
  EXPECT_EQ(Tunnels()[0].device, "flan.16777215");
  EXPECT_EQ(Tunnels()[1].device, "flan6.16777215");
}

// Behind NAT, or on another adapter: packets to the public address must be received, and what
// translates addresses knows the interface's as the source.
TEST_F(NodePlanTest, WithAnotherPublicAddressTheTunnelReceivesOnEveryAddressAndSendsFromItsOwn) {
  EnableV6();
  for (const bool other : {false, true}) {
    if (other) underlay_.v4->public_ip = Address("203.0.113.7");
    if (other) underlay_.v6->public_ip = Address("2001:db8::7");
    const std::vector<TunnelConfig> tunnels = Tunnels();
    ASSERT_EQ(tunnels.size(), 2u);
    EXPECT_EQ(tunnels[0].bind_address, Address("192.168.1.3"));
    EXPECT_EQ(tunnels[1].bind_address, Address("fd00:1::3"));
    for (const TunnelConfig& tunnel : tunnels) EXPECT_EQ(tunnel.receive_on_all, other);
  }
}

TEST_F(NodePlanTest, AllocHasTheLinksMtu) {
  conf_.type = control::BackendType::kAlloc;
  EXPECT_EQ(Make().mtu.bytes(), 1500u);
}

TEST_F(NodePlanTest, OptionsReachTheTunnel) {
  options_.udp_checksum = false;
  options_.peer_check = dataplane::PeerCheck::kStrict;
  options_.busy_poll = {std::chrono::microseconds(70), 100};
  options_.workers = 4;
  EXPECT_FALSE(Tunnels()[0].udp_checksum);
  EXPECT_EQ(Tunnels()[0].busy_poll, options_.busy_poll);
  EXPECT_EQ(Tunnels()[0].workers, 4);
  EXPECT_EQ(Tunnels()[0].peer_check, dataplane::PeerCheck::kStrict);
}

TEST_F(NodePlanTest, ALinkTooNarrowForIpv6CarriesIpv4) {
  EnableV6();
  underlay_.mtu = *OuterMtu::From(1349);
  NodePlan plan = Make();
  EXPECT_TRUE(plan.v4);
  EXPECT_FALSE(plan.v6);
  EXPECT_EQ(plan.mtu.bytes(), 1299u) << "IPv4's own";
  EXPECT_THAT(plan.without_v6, ::testing::HasSubstr("the MTU of eth0 leaves 1279 bytes"));
  EXPECT_EQ(Tunnels().size(), 1u);
  underlay_.mtu = *OuterMtu::From(1350);
  plan = Make();
  EXPECT_TRUE(plan.v6);
  EXPECT_EQ(plan.mtu.bytes(), 1280u);
  EXPECT_EQ(plan.without_v6, "");
  underlay_.mtu = *OuterMtu::From(1279);
  conf_.type = control::BackendType::kHostGw;
  EXPECT_FALSE(Make().v6);
  facts_.v4.reset();
  const absl::Status alone = MakeNodePlan(facts_, conf_, underlay_).status();
  EXPECT_THAT(std::string(alone.message()), ::testing::HasSubstr("leaves 1279 bytes"));
}

// The node's network is built again when this differs.
TEST_F(NodePlanTest, DiffersWhenAnyMemberDiffers) {
  const NodePlan before = Make();
  const std::vector<TunnelConfig> tunnels = Tunnels();
  EXPECT_EQ(before, Make());
  EXPECT_EQ(tunnels, Tunnels());
  facts_.v4->subnet = Prefix("10.244.4.0/24");
  EXPECT_NE(before, Make());
  EXPECT_NE(tunnels, Tunnels());
  facts_.v4->subnet = Prefix("10.244.3.0/24");
  facts_.v4->vtep_mac = *MacAddress::Parse("02:00:00:00:00:04");
  EXPECT_NE(before, Make());
  EXPECT_NE(tunnels, Tunnels());
  facts_.v4->vtep_mac = *MacAddress::Parse("02:00:00:00:00:03");
  underlay_.v4->public_ip = Address("192.168.1.4");
  EXPECT_NE(before, Make());
}

}  // namespace
}  // namespace weft::backend
