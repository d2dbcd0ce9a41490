// SPDX-License-Identifier: Apache-2.0
// Our own Node, in both encodings.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/control/kube/node_contract.h"
#include "tests/support/lease_makers.h"

namespace weft::kube {
namespace {

using ::testing::IsEmpty;
using testing::NodeFacts;

class OwnNodeContract : public NodeContract {};

TEST_P(OwnNodeContract, OurNodeBeforeItHasPublished) {
  const DecodedNode node = Decode(NodeFacts("us").PodCidrs({"10.244.0.0/24", "fd00::/64"}));
  EXPECT_EQ(node.kind, DecodedNode::Kind::kNotManaged);
  ASSERT_TRUE(node.own.has_value());
  EXPECT_FALSE(node.own->managed);
  EXPECT_EQ(node.own->v4.subnet, testing::Prefix("10.244.0.0/24"));
  EXPECT_EQ(node.own->v6.subnet, testing::Prefix("fd00::/64"));
  EXPECT_FALSE(node.own->v4.published_vtep_mac.has_value());
  EXPECT_THAT(node.own->problems, IsEmpty());
}

TEST_P(OwnNodeContract, OurNodesPublishedValuesAndOverwrites) {
  const DecodedNode node =
      Decode(NodeFacts("us")
                 .Managed()
                 .PodCidrs({"10.244.0.0/24"})
                 .Annotation("backend-type", "vxlan")
                 .Annotation("backend-data", R"({"VNI":7,"VtepMAC":"02-00-00-00-00-09"})")
                 .Annotation("backend-v6-data", "null")
                 .Annotation("public-ip", "192.0.2.9")
                 .Annotation("public-ipv6", "FD00::9")
                 .Annotation("node-public-ip", "192.0.2.10")
                 .Annotation("public-ip-overwrite", "203.0.113.1")
                 .Annotation("node-public-ipv6", "fd00::10")
                 .Annotation("public-ipv6-overwrite", "fd00::11"));
  EXPECT_EQ(node.kind, DecodedNode::Kind::kLease);
  ASSERT_TRUE(node.own.has_value());
  const lease::OwnNode& own = *node.own;
  EXPECT_TRUE(own.managed);
  EXPECT_EQ(own.v4.published_vni, 7u);
  EXPECT_EQ(own.v4.published_vtep_mac, testing::Mac("02:00:00:00:00:09"));
  EXPECT_EQ(own.v4.published_public_ip, testing::Address("192.0.2.9"));
  EXPECT_EQ(own.v4.backend_data, R"({"VNI":7,"VtepMAC":"02-00-00-00-00-09"})");
  EXPECT_EQ(own.v4.public_ip, "192.0.2.9");
  EXPECT_EQ(own.v4.node_public_ip, "192.0.2.10");
  EXPECT_EQ(own.v4.public_ip_overwrite, "203.0.113.1");
  EXPECT_EQ(own.v6.backend_data, "null");
  EXPECT_EQ(own.v6.public_ip, "FD00::9");
  EXPECT_EQ(own.v6.node_public_ip, "fd00::10");
  EXPECT_EQ(own.v6.public_ip_overwrite, "fd00::11");
}

TEST_P(OwnNodeContract, OurUnreadableAnnotationsAreProblemsAndAbsent) {
  const DecodedNode node = Decode(NodeFacts("us")
                                      .Managed()
                                      .PodCidrs({"rubbish"})
                                      .Annotation("backend-type", "vxlan")
                                      .Annotation("backend-data", "rubbish")
                                      .Annotation("public-ip", "rubbish"));
  EXPECT_EQ(node.kind, DecodedNode::Kind::kRefused);
  ASSERT_TRUE(node.own.has_value());
  EXPECT_EQ(node.own->problems.size(), 3u);
  EXPECT_FALSE(node.own->v4.subnet.has_value());
  EXPECT_EQ(node.own->v4.backend_data, "rubbish");
  EXPECT_EQ(node.own->v4.public_ip, "rubbish");
}

INSTANTIATE_TEST_SUITE_P(, OwnNodeContract, ::testing::ValuesIn(kEncodings), EncodingName);

}  // namespace
}  // namespace weft::kube
