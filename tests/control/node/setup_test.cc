// SPDX-License-Identifier: Apache-2.0
#include "control/node/setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/lease_makers.h"

namespace weft::node {
namespace {

using ::weft::testing::Address;
using ::weft::testing::Prefix;
using Wanted = Setup;  // ::testing::Test has a Setup of its own

// A dual-stack node with its defaults; each test changes what it is about.
class SetupTest : public ::testing::Test {
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
  Wanted Make() {
    absl::StatusOr<Wanted> setup = MakeSetup(facts_, conf_, underlay_, options_);
    EXPECT_TRUE(setup.ok()) << setup.status();
    return setup.ok() ? *setup : Wanted{underlay_, {}, {}, {}, {}, {}};
  }

  control::OwnFacts facts_;
  control::NetConf conf_;
  underlay::InterfaceChoice underlay_;
  SetupOptions options_;
};

TEST_F(SetupTest, AV4NodeHasUpstreamsDevice) {
  const Wanted setup = Make();
  ASSERT_EQ(setup.tunnels.size(), 1u);
  const TunnelConfig& tunnel = setup.tunnels[0];
  EXPECT_EQ(tunnel.device, "flannel.4096");
  EXPECT_EQ(tunnel.subnet, Prefix("10.244.3.0/24"));
  EXPECT_EQ(tunnel.mtu.octets(), 1450u);
  EXPECT_EQ(tunnel.link_mtu.octets(), 1500u);
  EXPECT_EQ(tunnel.port, 4789);
  EXPECT_EQ(tunnel.bind_address, Address("192.168.1.3"));
  EXPECT_EQ(setup.env.mtu.octets(), 1450u);
  EXPECT_EQ(setup.env.v4, (SubnetEnvFamily{Prefix("10.244.0.0/16"), Prefix("10.244.3.0/24")}));
  EXPECT_EQ(setup.env.v6, std::nullopt);
}

TEST_F(SetupTest, DualStackHasTwoDevicesAndTheSmallerMtu) {
  EnableV6();
  const Wanted setup = Make();
  ASSERT_EQ(setup.tunnels.size(), 2u);
  EXPECT_EQ(setup.tunnels[0].device, "flannel.4096");
  EXPECT_EQ(setup.tunnels[0].mtu.octets(), 1450u);
  EXPECT_EQ(setup.tunnels[1].device, "flannel-v6.4096");
  EXPECT_EQ(setup.tunnels[1].mtu.octets(), 1430u);
  EXPECT_EQ(setup.tunnels[1].bind_address, Address("fd00:1::3"));
  EXPECT_EQ(setup.env.mtu.octets(), 1430u);
  for (const TunnelConfig& tunnel : setup.tunnels) EXPECT_EQ(tunnel.pod_mtu, setup.env.mtu);
}

TEST_F(SetupTest, V6AloneHasNoV4Half) {
  EnableV6();
  conf_.enable_ipv4 = false;
  conf_.network.reset();
  facts_.v4.reset();
  const Wanted setup = Make();
  ASSERT_EQ(setup.tunnels.size(), 1u);
  EXPECT_EQ(setup.tunnels[0].device, "flannel-v6.4096");
  EXPECT_EQ(setup.env.v4, std::nullopt);
}

TEST_F(SetupTest, TheConfiguredMtuStandsForTheLinks) {
  conf_.mtu = OuterMtu::Of(1400);
  const Wanted setup = Make();
  EXPECT_EQ(setup.tunnels[0].mtu.octets(), 1350u);
  EXPECT_EQ(setup.tunnels[0].link_mtu.octets(), 1500u);
  EXPECT_EQ(setup.env.mtu.octets(), 1350u);
}

// Nothing is encapsulated: the link's own MTU, and a peer's route by its own address.
TEST_F(SetupTest, HostGwHasRoutesInPlaceOfTunnels) {
  conf_.type = control::BackendType::kHostGw;
  underlay_.index = 2;
  EnableV6();
  const Wanted setup = Make();
  EXPECT_TRUE(setup.tunnels.empty());
  EXPECT_EQ(setup.env.mtu.octets(), 1500u);
  ASSERT_EQ(setup.host_routes.size(), 2u);
  EXPECT_EQ(setup.host_routes[0], (control::HostRouteConfig{.underlay = {2, "eth0"},
                                                            .network = Prefix("10.244.0.0/16"),
                                                            .tunnel = {},
                                                            .upstream_device = "flannel.4096"}));
  EXPECT_EQ(setup.host_routes[1].family, IpFamily::kV6);
  EXPECT_EQ(setup.host_routes[1].network, Prefix("fd00:10:244::/56"));
  options_.routes = false;  // --dataplane=none
  EXPECT_TRUE(Make().host_routes.empty());
}

TEST_F(SetupTest, HostGwThroughHnsHasABridgeBesideItsRoutes) {
  conf_.type = control::BackendType::kHostGw;
  conf_.name = "cbr0";
  conf_.dns_servers = "10.96.0.10";
  EnableV6();
  options_.hns = HnsRole::kPrimary;
  const Wanted setup = Make();
  EXPECT_EQ(setup.overlay, std::nullopt);
  EXPECT_EQ(setup.bridge, (hns::BridgeWish{"cbr0", Prefix("10.244.3.0/24"), "10.96.0.10", "eth0",
                                           Address("192.168.1.3"), "",
                                           /*any_adapter=*/true, ""}));
  ASSERT_EQ(setup.host_routes.size(), 1u) << "HNS has no such network of IPv6";
  EXPECT_EQ(setup.host_routes[0].family, IpFamily::kV4);
  options_.hns = HnsRole::kFollower;
  EXPECT_EQ(Make().bridge, setup.bridge);
  EXPECT_EQ(Make().host_routes.size(), 2u);
  options_.hns = HnsRole::kNone;
  EXPECT_EQ(Make().bridge, std::nullopt);
}

TEST_F(SetupTest, ABridgeNeedsRoomForTheHostsEndpoint) {
  conf_.type = control::BackendType::kHostGw;
  options_.hns = HnsRole::kPrimary;
  facts_.v4->subnet = Prefix("10.244.3.0/31");
  const auto setup = MakeSetup(facts_, conf_, underlay_, options_);
  ASSERT_FALSE(setup.ok());
  EXPECT_THAT(std::string(setup.status().message()),
              ::testing::HasSubstr("10.244.3.0/31 has no room for the host's own endpoint"));
}

TEST_F(SetupTest, DirectRoutingGoesBesideTheTunnel) {
  EXPECT_EQ(Make().tunnels[0].direct, std::nullopt);
  conf_.direct_routing = true;
  const Wanted setup = Make();
  EXPECT_TRUE(setup.host_routes.empty());
  ASSERT_TRUE(setup.tunnels[0].direct);
  EXPECT_EQ(setup.tunnels[0].direct->underlay.name, "eth0");
  EXPECT_EQ(setup.env.mtu.octets(), 1450u) << "some peers are behind the tunnel";
  options_.routes = false;
  EXPECT_EQ(Make().tunnels[0].direct, std::nullopt);
}

TEST_F(SetupTest, AFamilyWithoutNetworkHasNothing) {
  EnableV6();
  conf_.ipv6_network.reset();
  const Wanted setup = Make();
  ASSERT_EQ(setup.tunnels.size(), 1u);
  EXPECT_EQ(setup.tunnels[0].family, IpFamily::kV4);
  EXPECT_EQ(setup.env.v6, std::nullopt);
}

// HNS has no overlay of IPv6.
TEST_F(SetupTest, AnOverlayIsOfIpv4AndOfHns) {
  EnableV6();
  EXPECT_EQ(Make().overlay, std::nullopt);
  options_.hns = HnsRole::kFollower;
  const Wanted setup = Make();
  ASSERT_TRUE(setup.overlay);
  EXPECT_EQ(setup.overlay->subnet, Prefix("10.244.3.0/24"));
  EXPECT_EQ(setup.bridge, std::nullopt);
  conf_.vni = *Vni::Of(1);  // none of HNS's
  EXPECT_EQ(Make().overlay, std::nullopt);
}

TEST_F(SetupTest, AJumboLinkGivesJumboPods) {
  underlay_.mtu = *OuterMtu::Of(9000);
  EXPECT_EQ(Make().env.mtu.octets(), 8950u);
}

TEST_F(SetupTest, TheLargestMtusAreCut) {
  conf_.mtu = OuterMtu::Of(OuterMtu::kMax);
  underlay_.mtu = *OuterMtu::Of(OuterMtu::kMax);
  EXPECT_EQ(Make().env.mtu.octets(), InnerMtu::kMax);
}

TEST_F(SetupTest, VniAndPortComeFromNetConf) {
  conf_.vni = *Vni::Of(1);
  conf_.port = 8472;
  const Wanted setup = Make();
  EXPECT_EQ(setup.tunnels[0].device, "flannel.1");
  EXPECT_EQ(setup.tunnels[0].vni, *Vni::Of(1));
  EXPECT_EQ(setup.tunnels[0].port, 8472);
}

// Linux takes 15 octets.
TEST_F(SetupTest, DeviceNamesFitTheKernelUnderEveryVni) {
  EnableV6();
  conf_.vni = *Vni::Of(9'999);
  EXPECT_EQ(Make().tunnels[1].device, "flannel-v6.9999");
  conf_.vni = *Vni::Of(10'000);
  EXPECT_EQ(Make().tunnels[0].device, "flannel.10000");
  EXPECT_EQ(Make().tunnels[1].device, "flan6.10000");
  conf_.vni = *Vni::Of(Vni::kMax);
  EXPECT_EQ(Make().tunnels[0].device, "flan.16777215");
  EXPECT_EQ(Make().tunnels[1].device, "flan6.16777215");
}

// Behind NAT, or on another adapter: whoever sends to the public address must be heard.
TEST_F(SetupTest, AnotherPublicAddressIsHeardOnEveryAddress) {
  underlay_.v4->public_ip = Address("203.0.113.7");
  EXPECT_TRUE(Make().tunnels[0].bind_address.IsUnspecified());
  EnableV6();
  underlay_.v6->public_ip = Address("2001:db8::7");
  EXPECT_TRUE(Make().tunnels[1].bind_address.IsUnspecified());
  EXPECT_EQ(Make().tunnels[1].bind_address.family(), IpFamily::kV6);
}

TEST_F(SetupTest, AllocHasNoTunnelAndTheLinksMtu) {
  conf_.type = control::BackendType::kAlloc;
  const Wanted setup = Make();
  EXPECT_TRUE(setup.tunnels.empty());
  EXPECT_EQ(setup.env.mtu.octets(), 1500u);
}

TEST_F(SetupTest, DataplaneNoneHasNoTunnelButTheTunnelsMtu) {
  options_.tunnels = false;
  const Wanted setup = Make();
  EXPECT_TRUE(setup.tunnels.empty());
  EXPECT_EQ(setup.env.mtu.octets(), 1450u);
}

TEST_F(SetupTest, OptionsReachTunnelAndFile) {
  options_.udp_checksum = false;
  options_.peer_check = dataplane::PeerCheck::kStrict;
  options_.ip_masq = true;
  const Wanted setup = Make();
  EXPECT_FALSE(setup.tunnels[0].udp_checksum);
  EXPECT_EQ(setup.tunnels[0].peer_check, dataplane::PeerCheck::kStrict);
  EXPECT_TRUE(setup.env.ip_masq);
}

TEST_F(SetupTest, ALinkTooNarrowForIpv6IsRefusedByName) {
  EnableV6();
  underlay_.mtu = *OuterMtu::Of(1349);
  const absl::StatusOr<Wanted> setup = MakeSetup(facts_, conf_, underlay_, options_);
  ASSERT_FALSE(setup.ok());
  EXPECT_THAT(std::string(setup.status().message()),
              ::testing::HasSubstr("the MTU of eth0 leaves 1279 octets"));
  underlay_.mtu = *OuterMtu::Of(1350);
  EXPECT_EQ(Make().env.mtu.octets(), 1280u);
}

// The daemon rebuilds when this differs.
TEST_F(SetupTest, DiffersWhenAnythingOfOursDoes) {
  const Wanted before = Make();
  EXPECT_EQ(before, Make());
  facts_.v4->subnet = Prefix("10.244.4.0/24");
  EXPECT_NE(before, Make());
  facts_.v4->subnet = Prefix("10.244.3.0/24");
  facts_.v4->vtep_mac = *MacAddress::Parse("02:00:00:00:00:04");
  EXPECT_NE(before, Make());
  facts_.v4->vtep_mac = *MacAddress::Parse("02:00:00:00:00:03");
  underlay_.v4->public_ip = Address("192.168.1.4");
  EXPECT_NE(before, Make());
}

}  // namespace
}  // namespace weft::node
