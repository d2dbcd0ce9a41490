// SPDX-License-Identifier: Apache-2.0
// The documents are those that upstream v0.28.9 and hcsshim v0.14.1 were seen to send.
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "hns/document/network.h"

namespace weft::hns {
namespace {

constexpr char kUpstreamOverlay[] =
    R"({"Name":"flannel.4096","Type":"Overlay","Policies":[{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":"eth0"}}],"MacPool":{},"Dns":{},"Ipams":[{"Type":"Static","Subnets":[{"IpAddressPrefix":"10.244.1.0/24","Policies":[{"Type":"VSID","Settings":{"IsolationId":4096}}],"Routes":[{"NextHop":"10.244.1.1","DestinationPrefix":"0.0.0.0/0"}]}]}],"Flags":8,"Health":{"Extra":{}},"SchemaVersion":{"Major":2,"Minor":0}})";
constexpr char kBridge[] =
    R"({"Name":"cbr0","Type":"L2Bridge","Policies":[{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":"Ethernet"}}],"MacPool":{},"Dns":{"ServerList":["10.96.0.10"]},"Ipams":[{"Type":"Static","Subnets":[{"IpAddressPrefix":"10.244.3.0/24","Routes":[{"NextHop":"10.244.3.1","DestinationPrefix":"0.0.0.0/0"}]}]}],"Health":{"Extra":{}},"SchemaVersion":{"Major":2,"Minor":0}})";
// As HNS answers once it has filled the network in; the schema's defaults are left out.
constexpr char kQueried[] =
    R"({"ID":"55fedb88-4b11-4da4-8cd1-59970718a804","Name":"flannel.4096","Type":"Overlay",
 "Policies":[{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":"Ethernet"}},
             {"Type":"ProviderAddress","Settings":{"ProviderAddress":"192.168.1.10"}},
             {"Type":"DrMacAddress","Settings":{"Address":"00-15-5D-C2-00-BF"}},
             {"Type":"HostRoute","Settings":{}},
             {"Type":"Novelty","Settings":{"Zeta":[1,2.5,null],"Alpha":{"b":true}}},
             {"Type":"RemoteSubnetRoute","Settings":{"DestinationPrefix":"10.244.1.0/24","IsolationId":4096,"ProviderAddress":"192.168.1.11","DistributedRouterMacAddress":"0e:2a:0a:f4:01:00"}}],
 "MacPool":{"Ranges":[{"StartMacAddress":"00-15-5D-C2-00-00","EndMacAddress":"00-15-5D-C2-0F-FF"}]},
 "Dns":{},
 "Ipams":[{"Subnets":[{"IpAddressPrefix":"10.244.3.0/24","Policies":[{"Type":"VSID","Settings":{"IsolationId":4096}}],
          "Routes":[{"NextHop":"10.244.3.1","DestinationPrefix":"0.0.0.0/0"}]}]}],
 "Flags":8,
 "Health":{"Extra":{"LayeredOn":"b0bec74d-4b11-4da4-8cd1-59970718a804"}},
 "SchemaVersion":{"Major":2,"Minor":0}})";
constexpr char kIdMember[] = R"("ID":"55fedb88-4b11-4da4-8cd1-59970718a804")";

Network Overlay() {
  Network network;
  network.name = "flannel.4096";
  network.type = "Overlay";
  network.policies = {NetAdapterNamePolicy("eth0")};
  network.subnets = {{*IpPrefix::Parse("10.244.1.0/24"),
                      4096,
                      {{*IpAddress::Parse("10.244.1.1"), *IpPrefix::Parse("0.0.0.0/0")}}}};
  network.flags = kEnableNonPersistent;
  return network;
}

RemoteSubnetRoute PeerRoute() {
  return {*IpPrefix::Parse("10.244.2.0/24"), *IsolationId::From(4096),
          *IpAddress::Parse("10.99.0.12"), *MacAddress::Parse("76:cb:2c:a5:bf:df")};
}

Network Parsed(const std::string& json) {
  const auto network = ParseNetwork(json);
  EXPECT_TRUE(network.ok()) << network.status();
  return network.ok() ? *network : Network();
}

TEST(NetworkJsonTest, AnOverlayIsUpstreamsByteForByte) {
  EXPECT_EQ(NetworkJson(Overlay()), kUpstreamOverlay);
}

TEST(NetworkJsonTest, ABridgeIsHcsshimsByteForByte) {
  Network network;
  network.name = "cbr0";
  network.type = "L2Bridge";
  network.policies = {NetAdapterNamePolicy("Ethernet")};
  network.dns_servers = {"10.96.0.10"};
  network.subnets = {{*IpPrefix::Parse("10.244.3.0/24"),
                      std::nullopt,
                      {{*IpAddress::Parse("10.244.3.1"), *IpPrefix::Parse("0.0.0.0/0")}}}};
  EXPECT_EQ(NetworkJson(network), kBridge);
}

TEST(NetworkJsonTest, ADesiredIdComesFirstAndEmptyMembersAreOmitted) {
  Network network;
  network.id = *Guid::Parse("55fedb88-4b11-4da4-8cd1-59970718a804");
  EXPECT_EQ(
      NetworkJson(network),
      R"({"ID":"55fedb88-4b11-4da4-8cd1-59970718a804","MacPool":{},"Dns":{},"Health":{"Extra":{}},"SchemaVersion":{"Major":2,"Minor":0}})");
}

TEST(NetworkJsonTest, AnAdapterMayHaveAnyName) {
  Network network = Overlay();
  network.policies = {NetAdapterNamePolicy("Ethernet \"2\" \\ \xc3\xbc")};
  network.id = Guid(std::array<std::uint8_t, 16>{1});
  EXPECT_EQ(Parsed(NetworkJson(network)).adapter_name(), "Ethernet \"2\" \\ \xc3\xbc");
  network.policies = {NetAdapterNamePolicy("\xff")};
  EXPECT_EQ(Parsed(NetworkJson(network)).adapter_name(), "\xef\xbf\xbd");
  // Brackets within a text are no nesting.
  const std::string brackets = "\"" + std::string(1000, '[');
  network.policies = {NetAdapterNamePolicy(brackets)};
  EXPECT_EQ(Parsed(NetworkJson(network)).adapter_name(), brackets);
}

TEST(ModifyPoliciesJsonTest, IsUpstreamsByteForByte) {
  EXPECT_EQ(
      ModifyPoliciesJson("Add", {HostRoutePolicy()}),
      R"({"ResourceType":"Policy","RequestType":"Add","Settings":{"Policies":[{"Type":"HostRoute","Settings":{}}]}})");
  EXPECT_EQ(
      ModifyPoliciesJson("Remove", {RemoteSubnetRoutePolicy(PeerRoute())}),
      R"({"ResourceType":"Policy","RequestType":"Remove","Settings":{"Policies":[{"Type":"RemoteSubnetRoute","Settings":{"DestinationPrefix":"10.244.2.0/24","IsolationId":4096,"ProviderAddress":"10.99.0.12","DistributedRouterMacAddress":"76:cb:2c:a5:bf:df"}}]}})");
}

TEST(ModifyPoliciesJsonTest, ABatchKeepsItsOrderAndEachSpelling) {
  const Policy foreign{"Novelty", R"({ "b":1e0, "a":"X" })"};
  EXPECT_EQ(
      ModifyPoliciesJson("Remove", {foreign, VxlanPortPolicy(8472), {"HostRoute", ""}}),
      R"({"ResourceType":"Policy","RequestType":"Remove","Settings":{"Policies":[{"Type":"Novelty","Settings":{ "b":1e0, "a":"X" }},{"Type":"VxlanPort","Settings":{"Port":8472}},{"Type":"HostRoute","Settings":{}}]}})");
}

TEST(ParseNetworkTest, ReadsWhatHnsFilledIn) {
  const Network network = Parsed(kQueried);
  EXPECT_EQ(network.id.ToString(), "55fedb88-4b11-4da4-8cd1-59970718a804");
  EXPECT_EQ(network.name, "flannel.4096");
  EXPECT_TRUE(network.IsOfType("overlay"));
  EXPECT_EQ(network.adapter_name(), "Ethernet");
  EXPECT_EQ(network.provider_address(), IpAddress::Parse("192.168.1.10"));
  EXPECT_EQ(network.dr_mac(), MacAddress::Parse("00:15:5d:c2:00:bf"));
  EXPECT_TRUE(network.Has(policy_type::kHostRoute));
  EXPECT_FALSE(network.Has(policy_type::kVxlanPort));
  EXPECT_EQ(network.vxlan_port(), std::nullopt);
  EXPECT_EQ(network.flags, kEnableNonPersistent);
  ASSERT_EQ(network.subnets.size(), 1u);
  EXPECT_EQ(network.subnets[0].prefix.ToString(), "10.244.3.0/24");
  EXPECT_EQ(network.subnets[0].isolation_id, 4096u);
  ASSERT_EQ(network.subnets[0].routes.size(), 1u);
  EXPECT_EQ(network.subnets[0].routes[0].next_hop.ToString(), "10.244.3.1");
}

TEST(ParseNetworkTest, KeepsEveryPolicyVerbatimAndInOrder) {
  const Network network = Parsed(kQueried);
  ASSERT_EQ(network.policies.size(), 6u);
  EXPECT_EQ(network.policies[3], HostRoutePolicy());
  EXPECT_EQ(network.policies[4],
            (Policy{"Novelty", R"({"Zeta":[1,2.5,null],"Alpha":{"b":true}})"}));
  EXPECT_EQ(
      network.policies[5].settings,
      R"({"DestinationPrefix":"10.244.1.0/24","IsolationId":4096,"ProviderAddress":"192.168.1.11","DistributedRouterMacAddress":"0e:2a:0a:f4:01:00"})");
}

TEST(ParseNetworkTest, AbsentMembersHaveTheSchemasDefaults) {
  const Network network = Parsed(std::string("{") + kIdMember + "}");
  EXPECT_EQ(network.type, "NAT");
  EXPECT_EQ(network.flags, 0u);
  EXPECT_TRUE(network.policies.empty() && network.subnets.empty() && network.dns_servers.empty());
  EXPECT_EQ(network.provider_address(), std::nullopt);
  EXPECT_EQ(network.dr_mac(), std::nullopt);
  EXPECT_EQ(network.adapter_name(), "");
}

TEST(ParseNetworkTest, KeysMatchWithoutCaseAndEnumsMayBeNumbers) {
  const Network network = Parsed(
      R"({"id":"55FEDB88-4B11-4DA4-8CD1-59970718A804","NAME":"n","type":5,"flags":24,
          "policies":[{"type":"hostroute","settings":{}},{"type":9,"settings":{"a":1}}],
          "ipams":[{"type":0,"subnets":[{"ipaddressprefix":"10.1.0.0/24",
              "policies":[{"type":1,"settings":{"isolationid":5000}}]}]}]})");
  EXPECT_EQ(network.id.ToString(), "55fedb88-4b11-4da4-8cd1-59970718a804");
  EXPECT_EQ(network.name, "n");
  EXPECT_EQ(network.type, "Overlay");
  EXPECT_EQ(network.flags, kEnableNonPersistent | kEnablePersistent);
  EXPECT_TRUE(network.Has(policy_type::kHostRoute));
  EXPECT_EQ(network.policies[1], (Policy{"9", R"({"a":1})"}));
  ASSERT_EQ(network.subnets.size(), 1u);
  EXPECT_EQ(network.subnets[0].isolation_id, 5000u);
}

TEST(ParseNetworkTest, AnUnknownTypeIsNone) {
  for (const char* type : {"11", "4294967295"})
    EXPECT_EQ(Parsed(std::string("{") + kIdMember + R"(,"Type":)" + type + "}").type, "") << type;
}

TEST(ParseNetworkTest, SubnetsOfAllIpamsAreReadAndUnreadableOnesLeftOut) {
  const Network network = Parsed(std::string("{") + kIdMember + R"(,"Ipams":[
      {"Subnets":[{"IpAddressPrefix":"10.1.0.0/24"},{"IpAddressPrefix":"any"},{},7]},
      {"Subnets":[{"IpAddressPrefix":"fd00::/64","Policies":[{"Type":"VLAN","Settings":{"IsolationId":5}}],
                   "Routes":[{"DestinationPrefix":"::/0"},{"NextHop":"fd00::1"},
                             {"NextHop":"fd00::1","DestinationPrefix":"::/0"}]}]},
      "x"],"Dns":{"ServerList":["10.96.0.10",3]}})");
  ASSERT_EQ(network.subnets.size(), 2u);
  EXPECT_EQ(network.subnets[0].prefix.ToString(), "10.1.0.0/24");
  EXPECT_EQ(network.subnets[1].prefix.ToString(), "fd00::/64");
  EXPECT_EQ(network.subnets[1].isolation_id, std::nullopt);
  EXPECT_EQ(network.subnets[1].routes.size(), 1u);
  EXPECT_EQ(network.dns_servers, std::vector<std::string>{"10.96.0.10"});
}

TEST(ParseNetworkTest, ComesBackEqualFromItsOwnDocument) {
  const Network network = Parsed(kQueried);
  const Network again = Parsed(NetworkJson(network));
  EXPECT_EQ(again.policies, network.policies);
  EXPECT_EQ(again.subnets, network.subnets);
  EXPECT_EQ(NetworkJson(again), NetworkJson(network));
}

// start.ps1's log on 17763 shows the VSID so; that of a port is assumed.
TEST(FillFromSchema1Test, FillsInWhatSchema2DidNotShow) {
  constexpr std::string_view kView =
      R"({"Subnets":[{"AddressPrefix":"10.244.3.0/24","Policies":[{"Type":"VSID","VSID":9999}]},)"
      R"({"AddressPrefix":"10.9.0.0/24","Policies":[{"Type":"VSID","VSID":5}]}],)"
      R"("Policies":[{"Type":"HostRoute"},{"Port":8472,"Type":"VxlanPort"}]})";
  Network network;
  network.subnets.push_back({*IpPrefix::Parse("10.244.3.0/24"), std::nullopt, {}});
  FillFromSchema1(kView, network);
  EXPECT_EQ(network.subnets[0].isolation_id, 9999u);
  EXPECT_EQ(network.vxlan_port(), 8472);
  EXPECT_FALSE(network.degraded);
  FillFromSchema1(R"({"State":5})", network);
  EXPECT_TRUE(network.degraded);
  FillFromSchema1(R"({"State":1})", network);
  EXPECT_FALSE(network.degraded);
  // Values that schema 2 shows are kept.
  network.subnets[0].isolation_id = 4096;
  network.policies = {VxlanPortPolicy(4789)};
  FillFromSchema1(kView, network);
  EXPECT_EQ(network.subnets[0].isolation_id, 4096u);
  EXPECT_EQ(network.policies, std::vector<Policy>{VxlanPortPolicy(4789)});
}

TEST(FillFromSchema1Test, AnythingElseFillsInNothing) {
  for (const std::string_view view :
       {"", "null", "[]", R"({"Subnets":5,"Policies":{}})",
        R"({"Subnets":[5,{"AddressPrefix":"10.244.3.0/24","Policies":[{"Type":"VSID"},7]}]})",
        R"({"Subnets":[{"AddressPrefix":"10.244.3.0/25","Policies":[{"Type":"VSID","VSID":1}]}]})",
        R"({"Subnets":[{"AddressPrefix":"10.244.3.0/24","Policies":[{"Type":"VLAN","VSID":5}]}]})",
        R"({"Policies":[{"Type":"VxlanPort","Port":65537},{"Type":"VxlanPort","Port":"x"}]})",
        R"({"Policies":[{"Type":"PortMapping","Port":80}]})"}) {
    SCOPED_TRACE(view);
    Network network;
    network.subnets.push_back({*IpPrefix::Parse("10.244.3.0/24"), std::nullopt, {}});
    FillFromSchema1(view, network);
    EXPECT_EQ(network.subnets[0].isolation_id, std::nullopt);
    EXPECT_EQ(network.vxlan_port(), std::nullopt);
  }
}

TEST(ParseNetworkTest, AnythingElseIsRefused) {
  const std::string deep = std::string("{") + kIdMember + R"(,"Policies":)" +
                           std::string(100'000, '[') + std::string(100'000, ']') + "}";
  std::string deep_objects = std::string("{") + kIdMember;
  for (int level = 0; level < 1000; ++level) deep_objects += R"(,"a":{"b":0)";
  deep_objects += std::string(1001, '}');
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("[]"), std::string("{"), std::string("{}"),
        std::string(R"({"ID":"nonsense"})"), std::string("{\"ID\":\"\xff\"}"), deep,
        deep_objects}) {
    EXPECT_TRUE(absl::IsDataLoss(ParseNetwork(text).status())) << text.substr(0, 80);
  }
}

}  // namespace
}  // namespace weft::hns
