// SPDX-License-Identifier: Apache-2.0
#include "hns/overlay_endpoint.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/hns/overlay_makers.h"

namespace weft::hns {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// flannel.4096 on 10.244.3.0/24, at 192.168.1.10; 10.244.1.0/24 is at 172.16.244.1.
Network ExistingNetwork() {
  Network network = OverlayNetwork(Spec());
  network.id = *Guid::Parse("aaaa0001-0000-4000-8000-000000000000");
  network.policies.push_back(ProviderAddressPolicy(Ip("192.168.1.10")));
  network.policies.push_back(RemoteSubnetRoutePolicy(RouteTo("10.0.0.0/8")));
  network.policies.push_back(RemoteSubnetRoutePolicy(RouteTo("10.244.1.0/24")));
  return network;
}

TEST(OverlayEndpointTest, ALocalOneIsWhatHcsshimSendsForWinOverlay) {
  const auto endpoint =
      OverlayEndpoint(ExistingNetwork(), {.name = "c1", .address = Ip("10.244.3.5")});
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  EXPECT_EQ(
      EndpointJson(*endpoint),
      R"({"Name":"c1","HostComputeNetwork":"aaaa0001-0000-4000-8000-000000000000","Policies":[{"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.168.1.10"}}],"IpConfigurations":[{"IpAddress":"10.244.3.5"}],"Dns":{},"Routes":[{"NextHop":"10.244.3.1","DestinationPrefix":"0.0.0.0/0"}],"MacAddress":"0E-2A-0a-f4-03-05","Health":{"Extra":{}},"SchemaVersion":{"Major":2,"Minor":0}})");
}

TEST(OverlayEndpointTest, ARemoteOneIsWhatItSendsForKubeProxyAndAName) {
  const auto endpoint =
      OverlayEndpoint(ExistingNetwork(), {.address = Ip("10.244.1.7"), .remote = true});
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  EXPECT_EQ(
      EndpointJson(*endpoint),
      R"({"Name":"weft-10.244.1.7","HostComputeNetwork":"aaaa0001-0000-4000-8000-000000000000","Policies":[{"Type":"ProviderAddress","Settings":{"ProviderAddress":"172.16.244.1"}}],"IpConfigurations":[{"IpAddress":"10.244.1.7"}],"Dns":{},"MacAddress":"02-11-0a-f4-01-07","Flags":1,"Health":{"Extra":{}},"SchemaVersion":{"Major":2,"Minor":0}})");
}

TEST(OverlayEndpointTest, GivenValuesAreUsed) {
  const auto endpoint = OverlayEndpoint(ExistingNetwork(), {.address = Ip("192.0.2.7"),
                                                            .mac = Mac("7e:04:26:50:cf:28"),
                                                            .remote = true,
                                                            .provider_address = Ip("10.99.0.11")});
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  EXPECT_EQ(endpoint->mac, "7e:04:26:50:cf:28");
  EXPECT_EQ(endpoint->provider_address(), Ip("10.99.0.11"));
}

TEST(OverlayEndpointTest, TheLongestMatchingRouteIsUsed) {
  for (const auto& [address, provider] :
       {std::pair{"10.244.1.7", "172.16.244.1"}, std::pair{"10.244.2.7", "172.16.0.0"}}) {
    const auto endpoint =
        OverlayEndpoint(ExistingNetwork(), {.address = Ip(address), .remote = true});
    ASSERT_TRUE(endpoint.ok()) << endpoint.status();
    EXPECT_EQ(endpoint->provider_address(), Ip(provider)) << address;
  }
}

TEST(OverlayEndpointTest, ValuesThatTheNetworkCannotHaveAreRefusedWithTheNextStep) {
  Network bridge = ExistingNetwork(), young = ExistingNetwork();
  bridge.type = "L2Bridge";
  young.policies.clear();
  const struct {
    const char* description;
    Network network;
    OverlayEndpointSpec spec;
    const char* text;
  } rows[] = {
      {"no overlay", bridge, {.address = Ip("10.244.3.5")}, "L2Bridge, not an overlay"},
      {"IPv6", ExistingNetwork(), {.address = Ip("fd00::5")}, "IPv4 only"},
      {"not ours", ExistingNetwork(), {.address = Ip("10.244.1.5")}, "add --remote"},
      {"ours",
       ExistingNetwork(),
       {.address = Ip("10.244.3.5"), .remote = true},
       "leave out --remote"},
      {"no route", young, {.address = Ip("10.244.1.5"), .remote = true}, "--provider-address"},
      {"no management IP", young, {.address = Ip("10.244.3.5")}, "management IP yet"},
  };
  for (const auto& row : rows) {
    const auto endpoint = OverlayEndpoint(row.network, row.spec);
    EXPECT_THAT(endpoint.status().message(), HasSubstr(row.text)) << row.description;
  }
}

TEST(OverlayEndpointTest, OnlyOurUnusedEndpointsAreDeletedWithoutForce) {
  Endpoint endpoint;
  endpoint.name = "weft-10.244.3.5";
  EXPECT_EQ(WhyKept(endpoint), "");
  endpoint.compartment_namespace = *Guid::Parse("11112222-3333-4444-5555-666677778888");
  EXPECT_THAT(WhyKept(endpoint),
              AllOf(HasSubstr("in use by a container"), HasSubstr("11112222-3333")));
  endpoint.compartment_namespace = Guid();
  endpoint.name = "c1_flannel.4096";
  EXPECT_THAT(WhyKept(endpoint), HasSubstr("not weft's"));
}

}  // namespace
}  // namespace weft::hns
