// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "hns/document/network.h"

namespace weft::hns {
namespace {

constexpr char kSettings[] =
    R"({"DestinationPrefix":"10.244.1.0/24","IsolationId":4096,"ProviderAddress":"192.168.1.11","DistributedRouterMacAddress":"0e:2a:0a:f4:01:00"})";

Network With(const std::vector<Policy>& policies) {
  Network network;
  network.policies = policies;
  return network;
}

TEST(PolicyTest, ARemoteSubnetRouteComesBackFromItsPolicy) {
  const RemoteSubnetRoute route{*IpPrefix::Parse("10.244.1.0/24"), *IsolationId::From(4096),
                                *IpAddress::Parse("192.168.1.11"),
                                *MacAddress::Parse("0e:2a:0a:f4:01:00")};
  EXPECT_EQ(RemoteSubnetRoutePolicy(route), (Policy{"RemoteSubnetRoute", kSettings}));
  EXPECT_EQ(ReadRemoteSubnetRoute({"RemoteSubnetRoute", kSettings}), route);
  EXPECT_EQ(
      ReadRemoteSubnetRoute(
          {"remotesubnetroute",
           R"({"distributedroutermacaddress":"0E-2A-0A-F4-01-00","provideraddress":"192.168.1.11","isolationid":4096,"destinationprefix":"10.244.1.0/24","New":1})"}),
      route);
}

TEST(PolicyTest, OtherPoliciesAreNoRoute) {
  const Policy rows[] = {
      {"HostRoute", kSettings},
      {"RemoteSubnetRoute", ""},
      {"RemoteSubnetRoute", "{}"},
      {"RemoteSubnetRoute", "["},
      {"RemoteSubnetRoute",  // another VNI range
       R"({"DestinationPrefix":"10.244.1.0/24","IsolationId":1,"ProviderAddress":"192.168.1.11","DistributedRouterMacAddress":"0e:2a:0a:f4:01:00"})"},
      {"RemoteSubnetRoute",
       R"({"DestinationPrefix":"10.244.1.0/24","IsolationId":65536,"ProviderAddress":"192.168.1.11","DistributedRouterMacAddress":"0e:2a:0a:f4:01:00"})"},
      {"RemoteSubnetRoute",  // no MAC
       R"({"DestinationPrefix":"10.244.1.0/24","IsolationId":4096,"ProviderAddress":"192.168.1.11"})"},
      {"RemoteSubnetRoute",
       R"({"DestinationPrefix":"pods","IsolationId":4096,"ProviderAddress":"192.168.1.11","DistributedRouterMacAddress":"0e:2a:0a:f4:01:00"})"},
      {"RemoteSubnetRoute",
       R"({"DestinationPrefix":"10.244.1.0/24","IsolationId":4096,"ProviderAddress":"","DistributedRouterMacAddress":"0e:2a:0a:f4:01:00"})"},
  };
  for (const Policy& policy : rows) {
    EXPECT_EQ(ReadRemoteSubnetRoute(policy), std::nullopt) << policy.type << policy.settings;
  }
}

TEST(PolicyTest, TheManagementAddressIsTheFirstThatIsFilledIn) {
  EXPECT_EQ(With({{"ProviderAddress", "{}"},
                  {"RemoteSubnetRoute", kSettings},
                  {"ProviderAddress", R"({"ProviderAddress":""})"},
                  {"ProviderAddress", R"({"ProviderAddress":"soon"})"},
                  {"ProviderAddress", R"({"ProviderAddress":"0.0.0.0"})"},
                  {"ProviderAddress", R"({"ProviderAddress":"10.0.0.7"})"},
                  {"ProviderAddress", R"({"ProviderAddress":"10.0.0.8"})"}})
                .provider_address(),
            IpAddress::Parse("10.0.0.7"));
}

TEST(PolicyTest, TheRouterMacIsTheLast) {
  const Policy first{"DrMacAddress", R"({"Address":"00-15-5D-00-00-01"})"};
  const Policy second{"DrMacAddress", R"({"Address":"00:15:5d:00:00:02"})"};
  EXPECT_EQ(With({first, second}).dr_mac(), MacAddress::Parse("00:15:5d:00:00:02"));
  EXPECT_EQ(With({first, {"DrMacAddress", R"({"Address":""})"}}).dr_mac(),
            MacAddress::Parse("00:15:5d:00:00:01"));
  EXPECT_EQ(With({first, {"DrMacAddress", R"({"Address":"soon"})"}}).dr_mac(), std::nullopt);
  EXPECT_EQ(With({{"DrMacAddress", R"({"Address":"00-00-00-00-00-00"})"}}).dr_mac(), std::nullopt);
}

TEST(PolicyTest, ThePortIsASettingInRange) {
  EXPECT_EQ(With({VxlanPortPolicy(8472)}).vxlan_port(), 8472);
  EXPECT_EQ(With({{"VxlanPort", R"({"Port":0})"}}).vxlan_port(), std::nullopt);
  EXPECT_EQ(With({{"VxlanPort", R"({"Port":70000})"}}).vxlan_port(), std::nullopt);
  EXPECT_EQ(With({{"VxlanPort", R"({"Port":"4789"})"}}).vxlan_port(), std::nullopt);
  EXPECT_EQ(With({{"PortMapping", R"({"Port":80})"}}).vxlan_port(), std::nullopt);
}

}  // namespace
}  // namespace weft::hns
