// SPDX-License-Identifier: Apache-2.0
// The documents are those that hcsshim was seen to send for CNI plugins and kube-proxy.
#include <gtest/gtest.h>

#include "hns/document/endpoint.h"

namespace weft::hns {
namespace {

constexpr char kLocal[] =
    R"({"Name":"sb_net","HostComputeNetwork":"00000100-0000-4000-8000-000000000001","Policies":[{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.244.0.0/16","10.96.0.0/12"]}},{"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.168.1.10"}}],"IpConfigurations":[{"IpAddress":"10.244.3.5","PrefixLength":24},{"IpAddress":"fd00::5","PrefixLength":64}],"Dns":{},"Routes":[{"NextHop":"10.244.3.1","DestinationPrefix":"0.0.0.0/0"}],"MacAddress":"0E-2A-0a-f4-03-05","Health":{"Extra":{}},"SchemaVersion":{"Major":2,"Minor":0}})";
constexpr char kRemote[] =
    R"({"HostComputeNetwork":"aaaa0001-0000-4000-8000-000000000000","Policies":[{"Type":"ProviderAddress","Settings":{"ProviderAddress":"10.99.0.11"}}],"IpConfigurations":[{"IpAddress":"10.96.0.1"}],"Dns":{},"MacAddress":"7e:04:26:50:cf:28","Flags":1,"Health":{"Extra":{}},"SchemaVersion":{"Major":2,"Minor":0}})";

TEST(EndpointJsonTest, APodsIsHcsshimsByteForByte) {
  Endpoint endpoint;
  endpoint.name = "sb_net";
  endpoint.network = *Guid::Parse("00000100-0000-4000-8000-000000000001");
  endpoint.policies = {
      {"OutBoundNAT", R"({"Exceptions":["10.244.0.0/16","10.96.0.0/12"]})"},
      {"ProviderAddress", R"({"ProviderAddress":"192.168.1.10"})"},
  };
  endpoint.ip_configurations = {{*IpAddress::Parse("10.244.3.5"), 24},
                                {*IpAddress::Parse("fd00::5"), 64}};
  endpoint.routes = {{*IpAddress::Parse("10.244.3.1"), *IpPrefix::Parse("0.0.0.0/0")}};
  endpoint.mac = "0E-2A-0a-f4-03-05";
  EXPECT_EQ(EndpointJson(endpoint), kLocal);
}

TEST(EndpointJsonTest, ARemoteOneIsKubeProxysByteForByte) {
  Endpoint endpoint;
  endpoint.network = *Guid::Parse("aaaa0001-0000-4000-8000-000000000000");
  endpoint.policies = {{"ProviderAddress", R"({"ProviderAddress":"10.99.0.11"})"}};
  endpoint.ip_configurations = {{*IpAddress::Parse("10.96.0.1"), 0}};
  endpoint.mac = "7e:04:26:50:cf:28";
  endpoint.flags = kRemoteEndpoint;
  EXPECT_EQ(EndpointJson(endpoint), kRemote);
}

TEST(EndpointTest, ASourceVipIsLocalUnnamedAndInNoNamespace) {
  const Guid space = *Guid::Parse("00000103-0000-4000-8000-000000000001");
  struct Row {
    const char* name;
    std::uint32_t flags;
    Guid space;
    bool is;
  };
  for (const Row& row :
       {Row{"", 0, Guid(), true}, Row{"Ethernet", 0, Guid(), true}, Row{"pod", 0, Guid(), false},
        Row{"", kRemoteEndpoint, Guid(), false}, Row{"", 0, space, false}}) {
    Endpoint endpoint;
    endpoint.name = row.name;
    endpoint.flags = row.flags;
    endpoint.compartment_namespace = row.space;
    EXPECT_EQ(endpoint.is_source_vip(), row.is) << row.name << row.flags << row.space.is_zero();
  }
}

TEST(ParseEndpointTest, ReadsWhatHnsAnswers) {
  const auto endpoint = ParseEndpoint(
      R"({"id":"00000101-0000-4000-8000-000000000001","name":"r","HostComputeNetwork":"00000100-0000-4000-8000-000000000001",
          "HostComputeNamespace":"00000103-0000-4000-8000-000000000001","Flags":1,"MacAddress":"0E-2A-0a-f4-01-05",
          "Policies":[{"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.168.1.11"}}],
          "IpConfigurations":[{"IpAddress":"10.244.1.5","PrefixLength":24},{"IpAddress":"?"},{"IpAddress":"10.1.1.1","PrefixLength":33}],
          "Routes":[{"NextHop":"10.244.1.1","DestinationPrefix":"0.0.0.0/0","Metric":1}]})");
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  EXPECT_EQ(endpoint->id.ToString(), "00000101-0000-4000-8000-000000000001");
  EXPECT_EQ(endpoint->name, "r");
  EXPECT_EQ(endpoint->network.ToString(), "00000100-0000-4000-8000-000000000001");
  EXPECT_EQ(endpoint->compartment_namespace.ToString(), "00000103-0000-4000-8000-000000000001");
  EXPECT_TRUE(endpoint->is_remote());
  EXPECT_EQ(endpoint->mac, "0E-2A-0a-f4-01-05");
  EXPECT_EQ(endpoint->policies.size(), 1u);
  ASSERT_EQ(endpoint->ip_configurations.size(), 1u);
  EXPECT_EQ(endpoint->ip_configurations[0], (IpConfiguration{*IpAddress::Parse("10.244.1.5"), 24}));
  EXPECT_EQ(endpoint->routes.size(), 1u);
}

TEST(ParseEndpointTest, AbsentMembersAreEmpty) {
  const auto endpoint = ParseEndpoint(R"({"ID":"00000101-0000-4000-8000-000000000001"})");
  ASSERT_TRUE(endpoint.ok());
  EXPECT_TRUE(endpoint->network.is_zero() && endpoint->compartment_namespace.is_zero());
  EXPECT_TRUE(endpoint->ip_configurations.empty() && endpoint->policies.empty());
  EXPECT_FALSE(endpoint->is_remote());
}

TEST(ParseEndpointTest, AnythingElseIsRefused) {
  for (const char* text : {"", "[]", "{}", R"({"ID":7})", R"({"Name":"x"})"}) {
    EXPECT_TRUE(absl::IsDataLoss(ParseEndpoint(text).status())) << text;
  }
}

}  // namespace
}  // namespace weft::hns
