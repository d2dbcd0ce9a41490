// SPDX-License-Identifier: Apache-2.0
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hns/bridge.h"
#include "tests/hns/overlay_makers.h"

namespace weft::hns {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const Guid kNetwork = *Guid::Parse("55fedb88-4b11-4da4-8cd1-59970718a804");
const Guid kEndpoint = *Guid::Parse("66fedb88-4b11-4da4-8cd1-59970718a804");

BridgeSpec Cbr0() {
  return {.name = "cbr0",
          .subnet = Cidr("10.244.3.0/24"),
          .dns_servers = "10.96.0.10",
          .node_address = Ip("192.168.1.10")};
}

// The texts are those of a trace of upstream's.
TEST(BridgeJsonTest, RequestsAreUpstreams) {
  EXPECT_EQ(
      BridgeNetworkJson(Cbr0()),
      R"({"Name":"cbr0","Type":"L2Bridge","Subnets":[{"AddressPrefix":"10.244.3.0/24","GatewayAddress":"10.244.3.1"}],"DNSServerList":"10.96.0.10"})");
  EXPECT_EQ(
      BridgeEndpointJson(Cbr0(), kNetwork),
      R"({"Name":"cbr0_ep","VirtualNetwork":"55FEDB88-4B11-4DA4-8CD1-59970718A804","IPAddress":"10.244.3.2"})");
  EXPECT_EQ(HostAttachJson(), R"({"SystemType":"Host","CompartmentId":1})");
}

// By name, by MAC, not at all; an ambiguous MAC leaves only the name.
TEST(BridgeJsonTest, TheNamesOfTheAdapterAreTriedInOrder) {
  const struct {
    std::string name, by_mac, ambiguous;
    bool any;
    std::vector<std::string> names;
  } rows[] = {
      {"Ethernet", "", "", false, {"Ethernet"}},
      {"Ethernet", "", "", true, {"Ethernet", ""}},
      {"Host", "Ethernet", "", false, {"Host", "Ethernet"}},
      {"vEthernet (Ethernet)", "Ethernet", "", false, {"Ethernet"}},
      {"", "", "", false, {""}},
      {"Team", "", "several", true, {"Team"}},
      {"", "", "several", true, {}},
  };
  for (const auto& row : rows) {
    BridgeSpec spec = Cbr0();
    spec.adapter = row.name;
    spec.adapter_by_mac = row.by_mac;
    spec.ambiguous = row.ambiguous;
    spec.any_adapter = row.any;
    EXPECT_EQ(AdapterCandidates(spec), row.names) << row.name;
    if (row.names.empty()) EXPECT_EQ(BridgeNetworkJson(spec), BridgeNetworkJson(Cbr0()));
  }
}

TEST(BridgeJsonTest, Answers) {
  const auto networks = ParseBridgeNetworks(
      R"([{"ID":"55FEDB88-4B11-4DA4-8CD1-59970718A804","Name":"cbr0","Type":"l2bridge",
           "ManagementIP":"192.168.1.10",
           "Subnets":[{"AddressPrefix":"10.244.3.0/24","GatewayAddress":"10.244.3.1"}]},
          {"Name":"no id"}])");
  ASSERT_TRUE(networks.ok());
  ASSERT_THAT(*networks, SizeIs(1));
  EXPECT_EQ(networks->front().id, kNetwork);
  EXPECT_EQ(networks->front().management_ip, Ip("192.168.1.10"));
  EXPECT_EQ(networks->front().subnets.front(),
            (BridgeSubnet{Cidr("10.244.3.0/24"), Ip("10.244.3.1")}));

  const auto endpoints = ParseBridgeEndpoints(
      R"({"ID":"66FEDB88-4B11-4DA4-8CD1-59970718A804","Name":"cbr0_ep","State":2,
          "VirtualNetwork":"55fedb88-4b11-4da4-8cd1-59970718a804","IPAddress":"10.244.3.2"})");
  ASSERT_TRUE(endpoints.ok());
  ASSERT_THAT(*endpoints, SizeIs(1)) << "one object is a list of one";
  EXPECT_EQ(endpoints->front().network, kNetwork);
  EXPECT_EQ(endpoints->front().address, Ip("10.244.3.2"));
  EXPECT_TRUE(endpoints->front().attached);
  EXPECT_FALSE(endpoints->front().remote);

  const auto several = ParseBridgeEndpoints(
      R"([{"ID":"66FEDB88-4B11-4DA4-8CD1-59970718A804","State":3,"IsRemoteEndpoint":false},
          {"ID":"66FEDB88-4B11-4DA4-8CD1-59970718A804","State":1,"IsRemoteEndpoint":true},
          {"Name":"no id","State":2}])");
  ASSERT_TRUE(several.ok());
  ASSERT_THAT(*several, SizeIs(2));
  EXPECT_TRUE(several->front().attached && !several->front().remote);
  EXPECT_TRUE(!several->back().attached && several->back().remote);

  for (const char* nothing : {"", "null", "[]", "7", "[7]"}) {
    const auto none = ParseBridgeNetworks(nothing);
    ASSERT_TRUE(none.ok()) << nothing;
    EXPECT_THAT(*none, SizeIs(0)) << nothing;
  }
  EXPECT_FALSE(ParseBridgeNetworks("{").ok());
  EXPECT_FALSE(ParseBridgeEndpoints("{").ok());
}

TEST(BridgePlanTest, Rows) {
  const BridgeNetwork right{
      kNetwork, "cbr0", "l2bridge", {{Cidr("10.244.3.0/24"), Ip("10.244.3.1")}}, std::nullopt};
  BridgeNetwork wrong_type = right, wrong_subnet = right, wrong_gateway = right, other = right;
  wrong_type.type = "Overlay";
  wrong_subnet.subnets = {{Cidr("10.244.4.0/24"), Ip("10.244.4.1")}};
  wrong_gateway.subnets = {{Cidr("10.244.3.0/24"), Ip("10.244.3.254")}};
  other.name = "nat";
  BridgeNetwork no_subnet = right, degraded = right;
  no_subnet.subnets.clear();
  degraded.degraded = true;
  const BridgeEndpoint ours{kEndpoint, "cbr0_ep", kNetwork, Ip("10.244.3.2"), false, true};
  BridgeEndpoint stale = ours, moved = ours, pod = ours, remote = ours, dead = ours;
  stale.network = Guid();
  moved.address = Ip("10.244.4.2");
  pod.name = "pod";
  pod.address = Ip("10.244.3.5");
  remote = pod;
  remote.remote = true;
  dead = pod;
  dead.address = Ip("10.244.9.5");
  BridgeEndpoint elsewhere = pod, without_address = pod;
  elsewhere.network = Guid();
  without_address.address.reset();

  using enum BridgeAction;
  const struct {
    const char* description;
    std::vector<BridgeNetwork> networks;
    std::vector<BridgeEndpoint> endpoints;
    BridgeAction network, endpoint;
  } rows[] = {
      {"nothing", {}, {}, kCreate, kCreate},
      {"another's", {other}, {}, kCreate, kCreate},
      {"the network", {right}, {}, kAdopt, kCreate},
      {"both, and pods", {right}, {ours, pod}, kAdopt, kAdopt},
      {"an endpoint of a former network", {right}, {stale}, kAdopt, kRecreate},
      {"an endpoint with a former address", {right}, {moved}, kAdopt, kRecreate},
      {"another type", {wrong_type}, {ours, remote, dead}, kRecreate, kCreate},
      {"another subnet", {wrong_subnet}, {ours}, kRecreate, kCreate},
      {"another gateway", {wrong_gateway}, {}, kRecreate, kCreate},
      {"another gateway, and pods elsewhere",
       {wrong_gateway},
       {elsewhere, without_address},
       kRecreate,
       kCreate},
      {"no subnet", {no_subnet}, {}, kRecreate, kCreate},
      {"without its adapter", {degraded}, {}, kRecreate, kCreate},
      {"another gateway under a pod", {wrong_gateway}, {ours, pod}, kRefuse, kCreate},
      {"a wrong and a right one", {wrong_type, right}, {}, kAdopt, kCreate},
      {"a right and a wrong one", {right, wrong_type}, {}, kAdopt, kCreate},
  };
  for (const auto& row : rows) {
    const BridgePlan plan = PlanBridge(Cbr0(), row.networks, row.endpoints);
    EXPECT_EQ(plan.network, row.network) << row.description;
    EXPECT_EQ(plan.endpoint, row.endpoint) << row.description;
  }
  EXPECT_THAT(PlanBridge(Cbr0(), std::vector{wrong_gateway}, std::vector{pod}).reason,
              AllOf(HasSubstr("10.244.3.0/24 with gateway 10.244.3.254"), HasSubstr("1 endpoint "),
                    HasSubstr("drain this node")));
}

}  // namespace
}  // namespace weft::hns
