// SPDX-License-Identifier: Apache-2.0
#include "hns/base_network.h"

#include "gtest/gtest.h"
#include "tests/hns/overlay_makers.h"

namespace weft::hns {
namespace {

OverlayWish WithBase() {
  OverlayWish wish = Wish();
  wish.adapter = "vEthernet (Ethernet)";
  wish.base_network = true;
  return wish;
}

// As Microsoft's scripts have it: 192.168.255.0/30, VSID 9999; without flag 8 it persists.
TEST(BaseNetworkTest, IsMicrosofts) {
  EXPECT_EQ(
      NetworkJson(BaseNetwork(WithBase())),
      R"({"Name":"External","Type":"Overlay","Policies":[{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":"Ethernet"}}],"MacPool":{},"Dns":{},"Ipams":[{"Type":"Static","Subnets":[{"IpAddressPrefix":"192.168.255.0/30","Policies":[{"Type":"VSID","Settings":{"IsolationId":9999}}],"Routes":[{"NextHop":"192.168.255.1","DestinationPrefix":"0.0.0.0/0"}]}]}],"Health":{"Extra":{}},"SchemaVersion":{"Major":2,"Minor":0}})");
}

TEST(BaseNetworkTest, OneThatKeepsTheSwitchIsEnough) {
  const OverlayWish wish = WithBase();
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
    EXPECT_EQ(MissingBaseNetwork(wish, std::vector{network}).has_value(), !row.enough)
        << row.description;
  }
}

TEST(BaseNetworkTest, IsMadeOnlyWhereWanted) {
  EXPECT_EQ(MissingBaseNetwork(Wish(), {}), std::nullopt);
  EXPECT_TRUE(MissingBaseNetwork(WithBase(), {}));
  OverlayWish namesake = WithBase();
  namesake.name = "External";
  EXPECT_EQ(MissingBaseNetwork(namesake, {}), std::nullopt);
}

}  // namespace
}  // namespace weft::hns
