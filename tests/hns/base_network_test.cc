// SPDX-License-Identifier: Apache-2.0
#include "hns/base_network.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/hns/overlay_makers.h"

namespace weft::hns {
namespace {

OverlaySpec WithBase() {
  OverlaySpec spec = Spec();
  spec.adapter = "vEthernet (Ethernet)";
  spec.base_network = true;
  return spec;
}

// As Microsoft's scripts have it: 192.168.255.0/30, VSID 9999; without flag 8 it persists.
TEST(BaseNetworkTest, EqualsTheNetworkOfMicrosoftsScripts) {
  EXPECT_EQ(
      NetworkJson(BaseNetwork(WithBase())),
      R"({"Name":"External","Type":"Overlay","Policies":[{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":"Ethernet"}}],"MacPool":{},"Dns":{},"Ipams":[{"Type":"Static","Subnets":[{"IpAddressPrefix":"192.168.255.0/30","Policies":[{"Type":"VSID","Settings":{"IsolationId":9999}}],"Routes":[{"NextHop":"192.168.255.1","DestinationPrefix":"0.0.0.0/0"}]}]}],"Health":{"Extra":{}},"SchemaVersion":{"Major":2,"Minor":0}})");
}

TEST(BaseNetworkTest, OneThatKeepsTheSwitchIsEnough) {
  const OverlaySpec spec = WithBase();
  const struct {
    const char* description;
    const char *name, *type;
    std::uint32_t flags;
    std::vector<Policy> policies;
    bool enough;
  } rows[] = {
      {"ours", "External", "Overlay", 0, {NetAdapterNamePolicy("Ethernet")}, true},
      {"the name is taken", "External", "NAT", 8, {}, true},
      {"another persistent one on the adapter",
       "ovn",
       "overlay",
       0,
       {NetAdapterNamePolicy("Ethernet")},
       true},
      {"a bridge", "cbr0", "L2Bridge", 16, {NetAdapterNamePolicy("Ethernet")}, true},
      {"found by address only",
       "ovn",
       "Overlay",
       0,
       {{"ProviderAddress", R"({"ProviderAddress":"192.168.1.10"})"}},
       true},
      {"gone after a reboot",
       "other",
       "Overlay",
       kEnableNonPersistent,
       {NetAdapterNamePolicy("Ethernet")},
       false},
      {"on another adapter", "other", "Overlay", 0, {NetAdapterNamePolicy("Ethernet 2")}, false},
      {"on an adapter that is not shown", "other", "Overlay", 0, {}, false},
      {"binds no adapter", "nat", "NAT", 0, {NetAdapterNamePolicy("Ethernet")}, false},
      {"our overlay itself",
       "flannel.4096",
       "Overlay",
       0,
       {NetAdapterNamePolicy("Ethernet")},
       false},
  };
  for (const auto& row : rows) {
    Network network;
    network.name = row.name;
    network.type = row.type;
    network.flags = row.flags;
    network.policies = row.policies;
    EXPECT_EQ(MissingBaseNetwork(spec, std::vector{network}).has_value(), !row.enough)
        << row.description;
  }
}

// OVN's has it, too: all networks of one vSwitch.
TEST(BaseNetworkTest, HasThePodNetworksPort) {
  OverlaySpec spec = WithBase();
  EXPECT_EQ(BaseNetwork(spec).vxlan_port(), std::nullopt);
  spec.port = 8472;
  EXPECT_EQ(BaseNetwork(spec).vxlan_port(), 8472);
}

TEST(BaseNetworkTest, OneThatDoesNotKeepTheSwitchGivesTheReason) {
  const auto at = [](const char* address) {
    return Policy{"ProviderAddress", absl::StrCat(R"({"ProviderAddress":")", address, R"("})")};
  };
  const struct {
    const char* description;
    const char* type;
    std::vector<Policy> policies;
    bool degraded;
    const char* why;
  } rows[] = {
      {"right", "Overlay", {NetAdapterNamePolicy("Ethernet"), at("192.168.1.10")}, false, ""},
      {"nothing shown", "L2Bridge", {}, false, ""},
      {"no address yet", "Overlay", {NetAdapterNamePolicy("Ethernet")}, false, ""},
      {"not settled yet", "Overlay", {at("169.254.3.4")}, false, ""},
      {"its NIC has another identity", "Overlay", {}, true, "HNS reports its adapter as gone"},
      {"another's", "NAT", {}, false, "its type is NAT, which binds no adapter"},
      {"on another NIC",
       "Overlay",
       {NetAdapterNamePolicy("Ethernet 2")},
       false,
       "it is on the adapter Ethernet 2, not on Ethernet"},
      {"found by the node's address",
       "Overlay",
       {NetAdapterNamePolicy("Ethernet 2"), at("192.168.1.10")},
       false,
       ""},
      {"known by its address",
       "Overlay",
       {at("192.168.2.10")},
       false,
       "its management IP is 192.168.2.10, not 192.168.1.10"},
  };
  for (const auto& row : rows) {
    Network network;
    network.name = "External";
    network.type = row.type;
    network.policies = row.policies;
    network.degraded = row.degraded;
    const std::string condition = BaseNetworkCondition(WithBase(), network);
    if (*row.why == '\0')
      EXPECT_EQ(condition, "") << row.description;
    else
      EXPECT_THAT(condition, ::testing::AllOf(::testing::HasSubstr(row.why),
                                              ::testing::HasSubstr("drain this node, delete it")))
          << row.description;
  }
}

// HNS chose it.
TEST(BaseNetworkTest, WithoutADesiredAdapterAnyIsRight) {
  OverlaySpec spec = WithBase();
  spec.adapter.clear();
  Network network;
  network.name = "External";
  network.type = "Overlay";
  network.policies = {NetAdapterNamePolicy("Ethernet 2")};
  EXPECT_EQ(BaseNetworkCondition(spec, network), "");
}

TEST(BaseNetworkTest, IsMadeOnlyWhereDesired) {
  EXPECT_EQ(MissingBaseNetwork(Spec(), {}), std::nullopt);
  EXPECT_TRUE(MissingBaseNetwork(WithBase(), {}));
  OverlaySpec namesake = WithBase();
  namesake.name = "External";
  EXPECT_EQ(MissingBaseNetwork(namesake, {}), std::nullopt);
}

}  // namespace
}  // namespace weft::hns
