// SPDX-License-Identifier: Apache-2.0
#include "control/own_facts.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"

namespace weft::control {
namespace {

using ::testing::HasSubstr;
using testing::Mac;
using testing::Prefix;

class OwnFactsTest : public ::testing::Test {
 protected:
  OwnFactsTest() {
    node.node = {"us", "uid"};
    node.v4.subnet = Prefix("10.244.3.0/24");
    conf.network = Prefix("10.244.0.0/16");
  }
  absl::StatusOr<OwnFacts> Derive() const { return DeriveOwnFacts("us", node, conf); }
  void ExpectWaits(absl::StatusCode code, const char* sentence) const {
    EXPECT_EQ(Derive().status().code(), code);
    EXPECT_THAT(std::string(Derive().status().message()), HasSubstr(sentence));
  }

  lease::OwnNode node;
  NetConf conf;
};

TEST_F(OwnFactsTest, FromThePodCidrAndTheName) {
  const auto facts = Derive();
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->node, node.node);
  EXPECT_EQ(facts->v4, (OwnFamilyFacts{Prefix("10.244.3.0/24"), DeriveVtepMac("us")}));
  EXPECT_FALSE(facts->v6.has_value());
}

TEST_F(OwnFactsTest, APublishedMacIsKept) {
  node.v4.published_vtep_mac = Mac("00:15:5d:8c:2f:93");
  EXPECT_EQ(Derive()->v4->vtep_mac, Mac("00:15:5d:8c:2f:93"));
}

// A foreign program may overwrite our annotation: its MAC does not become ours.
TEST_F(OwnFactsTest, AMacInUseIsKeptWhateverTheNodeHas) {
  node.v4.published_vtep_mac = Mac("00:15:5d:8c:2f:93");
  const auto in_use = Derive();
  ASSERT_TRUE(in_use.ok());
  for (const char* text : {"02:00:00:00:00:66", ""}) {
    node.v4.published_vtep_mac = MacAddress::Parse(text);
    node.v4.subnet = Prefix("10.244.4.0/24");
    const auto facts = DeriveOwnFacts("us", node, conf, *in_use);
    ASSERT_TRUE(facts.ok());
    EXPECT_EQ(facts->v4, (OwnFamilyFacts{Prefix("10.244.4.0/24"), Mac("00:15:5d:8c:2f:93")}));
  }
}

TEST_F(OwnFactsTest, AFamilyThatWasNotInUseIsRead) {
  const auto in_use = Derive();
  conf.enable_ipv6 = true;
  conf.ipv6_network = Prefix("fd00::/48");
  node.v6.subnet = Prefix("fd00:0:0:3::/64");
  node.v6.published_vtep_mac = Mac("02:00:00:00:00:66");
  const auto facts = DeriveOwnFacts("us", node, conf, *in_use);
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->v6->vtep_mac, Mac("02:00:00:00:00:66"));
}

TEST_F(OwnFactsTest, BothFamilies) {
  conf.enable_ipv6 = true;
  conf.ipv6_network = Prefix("fd00::/48");
  node.v6.subnet = Prefix("fd00:0:0:3::/64");
  node.v6.published_vtep_mac = Mac("02:00:00:00:00:66");
  const auto facts = Derive();
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->of(IpFamily::kV6),
            (OwnFamilyFacts{Prefix("fd00:0:0:3::/64"), Mac("02:00:00:00:00:66")}));
  const lease::OwnIdentity own = IdentityOf(*facts, conf);
  EXPECT_EQ(own.node_name, "us");
  EXPECT_EQ(own.backend_type, "vxlan");
  EXPECT_EQ(own.v4, (lease::OwnFamily{Prefix("10.244.3.0/24"), Prefix("10.244.0.0/16")}));
  EXPECT_EQ(own.v6, (lease::OwnFamily{Prefix("fd00:0:0:3::/64"), Prefix("fd00::/48")}));
}

TEST_F(OwnFactsTest, AFamilyThatIsNotEnabledIsNotNeeded) {
  conf.enable_ipv4 = false;
  conf.enable_ipv6 = true;
  conf.ipv6_network = Prefix("fd00::/48");
  node.v4 = {};
  node.v6.subnet = Prefix("fd00:0:0:3::/64");
  const auto facts = Derive();
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_FALSE(facts->v4.has_value());
}

TEST_F(OwnFactsTest, WaitsForTheNode) {
  const auto facts = DeriveOwnFacts("us", std::nullopt, conf);
  EXPECT_EQ(facts.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(facts.status().message()),
              HasSubstr("node \"us\" is not among the Nodes; register it"));
}

// The classic trap of Windows: the machine's name in capitals.
TEST_F(OwnFactsTest, ANodeOfThisNameInAnotherCaseIsReported) {
  const auto facts = DeriveOwnFacts("WORKER-1", std::nullopt, conf, std::nullopt, "worker-1");
  EXPECT_EQ(facts.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(facts.status().message()),
              HasSubstr("node \"WORKER-1\" is not among the Nodes, but \"worker-1\" is: names are "
                        "compared with case"));
}

TEST_F(OwnFactsTest, PeersAreJudgedByTheFamiliesThatAreOn) {
  const auto facts = Derive();
  ASSERT_TRUE(facts.ok());
  EXPECT_TRUE(IdentityOf(*facts, conf).v4.enabled);
  EXPECT_FALSE(IdentityOf(*facts, conf).v6.enabled);
}

// Row "Node without podCIDR: process waits, then proceeds".
TEST_F(OwnFactsTest, WaitsForThePodCidr) {
  node.v4.subnet.reset();
  ExpectWaits(absl::StatusCode::kFailedPrecondition, "node \"us\" has no IPv4 podCIDR yet");
  node.problems = {"spec.podCIDR \"x\" is not an address block"};
  ExpectWaits(absl::StatusCode::kFailedPrecondition,
              "podCIDR yet: spec.podCIDR \"x\" is not an address block");
}

// Upstream would accept 0.0.0.0/0 (3.6, point 9).
TEST_F(OwnFactsTest, WaitsForTheOtherFamilyToo) {
  conf.enable_ipv6 = true;
  conf.ipv6_network = Prefix("fd00::/48");
  // The API server refuses a change of podCIDRs that are set.
  ExpectWaits(absl::StatusCode::kFailedPrecondition,
              "node \"us\" has no IPv6 podCIDR, only 10.244.3.0/24, and a Node's podCIDRs never "
              "change");
  ExpectWaits(absl::StatusCode::kFailedPrecondition, "set EnableIPv6 to false in net-conf.json");
}

TEST_F(OwnFactsTest, WaitsWhileThePodCidrIsOutsideNetwork) {
  node.v4.subnet = Prefix("10.245.3.0/24");
  ExpectWaits(absl::StatusCode::kOutOfRange,
              "node \"us\": podCIDR 10.245.3.0/24 lies outside Network 10.244.0.0/16 of net-conf");
}

// Peers have these in their neighbour tables: they never change.
TEST(DeriveVtepMac, IsStable) {
  EXPECT_EQ(DeriveVtepMac(""), Mac("02:cb:f2:9c:e4:84"));
  EXPECT_EQ(DeriveVtepMac("a"), Mac("02:af:63:dc:4c:86"));  // FNV-1a of "a" is af63dc4c8601ec8c
}

TEST(DeriveVtepMac, IsLocalUnicastAndDiffers) {
  std::set<MacAddress> macs;
  for (int i = 0; i < 10'000; ++i) {
    const MacAddress mac = DeriveVtepMac("node-" + std::to_string(i));
    EXPECT_NE(mac.bytes()[0] & std::byte{2}, std::byte{0});  // U/L
    EXPECT_FALSE(mac.IsGroup());
    EXPECT_TRUE(macs.insert(mac).second) << i;
  }
}

}  // namespace
}  // namespace weft::control
