// SPDX-License-Identifier: Apache-2.0
// Whole lists, as the file source reads them.
#include <string>

#include "control/kube/codec/node_codec_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/node_json.h"

namespace weft::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NodeJson;
using testing::NodeListJson;

std::vector<std::string> Names(const DecodedNodes& nodes) {
  std::vector<std::string> names;
  for (const lease::Lease& lease : nodes.leases) names.push_back(lease.node.name);
  return names;
}

std::string Error(std::string_view text) {
  const auto nodes = NodeJsonCodec().DecodeNodeList(text);
  return nodes.ok() ? "OK" : std::string(nodes.status().message());
}

const NodeJson kA = NodeJson("a").Leased("10.244.1.0/24", "192.0.2.1");
const NodeJson kB = NodeJson("b").Leased("10.244.2.0/24", "192.0.2.2");

TEST(NodeList, WhatKubectlPrints) {
  const auto nodes = NodeJsonCodec().DecodeNodeList(NodeListJson({kA, NodeJson("other"), kB}));
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  EXPECT_THAT(Names(*nodes), ElementsAre("a", "b"));
  EXPECT_THAT(nodes->refused, IsEmpty());
  EXPECT_EQ(nodes->not_managed, 1u);
}

TEST(NodeList, OtherForms) {
  const std::string forms[] = {
      R"({"kind":"NodeList","items":[)" + kA.Text() + "]}",
      R"({"items":[)" + kA.Text() + "]}",
      "[" + kA.Text() + "]",
      kA.Text(),
      "\xef\xbb\xbf" + kA.Text(),
  };
  for (const std::string& form : forms) {
    const auto nodes = NodeJsonCodec().DecodeNodeList(form);
    ASSERT_TRUE(nodes.ok()) << form;
    EXPECT_THAT(Names(*nodes), ElementsAre("a")) << form;
  }
}

TEST(NodeList, AListWithoutNodesIsValid) {
  for (const char* text :
       {R"({"kind":"List","items":[]})", R"({"kind":"NodeList","items":null})", "[]"}) {
    const auto nodes = NodeJsonCodec().DecodeNodeList(text);
    ASSERT_TRUE(nodes.ok()) << text;
    EXPECT_THAT(nodes->leases, IsEmpty());
  }
}

TEST(NodeList, OneBadNodeDoesNotAffectTheRest) {
  const auto nodes = NodeJsonCodec().DecodeNodeList(
      NodeListJson({kA, NodeJson("bad").Uid("u-bad").Leased("10.244.300.0/24", "192.0.2.3"), kB}));
  ASSERT_TRUE(nodes.ok());
  EXPECT_THAT(Names(*nodes), ElementsAre("a", "b"));
  ASSERT_EQ(nodes->refused.size(), 1u);
  EXPECT_EQ(nodes->refused[0].name, "bad");
  EXPECT_EQ(nodes->refused[0].uid, "u-bad");
  EXPECT_EQ(nodes->refused[0].reason,
            "spec.podCIDRs entry \"10.244.300.0/24\" is not an address block");
}

TEST(NodeList, ANodeWithABadHalfIsALeaseAndARefusal) {
  const auto nodes =
      NodeJsonCodec().DecodeNodeList(NodeListJson({NodeJson("half")
                                                       .Uid("u-half")
                                                       .Managed()
                                                       .PodCidrs({"10.81.5.0/24", "fd81:5::/64"})
                                                       .Annotation("public-ip", "192.0.2.5")
                                                       .Annotation("public-ipv6", "none")}));
  ASSERT_TRUE(nodes.ok());
  EXPECT_THAT(Names(*nodes), ElementsAre("half"));
  ASSERT_EQ(nodes->refused.size(), 1u);
  EXPECT_EQ(nodes->refused[0].name, "half");
  EXPECT_EQ(nodes->refused[0].uid, "u-half");
  EXPECT_EQ(nodes->refused[0].half, IpFamily::kV6);
  EXPECT_THAT(nodes->refused[0].reason, HasSubstr("\"none\" is not an IPv6 address"));
}

TEST(NodeList, AnEntryWithoutANameIsNamedByItsPosition) {
  const auto nodes = NodeJsonCodec().DecodeNodeList(
      "[" + kA.Text() + R"(,7,{"kind":"Pod","metadata":{"name":"p"}},)" +
      R"({"metadata":{"name":"a b","uid":"u"}},{"metadata":{"name":"b","uid":"a b"}}])");
  ASSERT_TRUE(nodes.ok());
  EXPECT_EQ(
      nodes->refused,
      (std::vector<lease::RefusedNode>{
          {"#1", "the Node is 7, not an object"},
          {"#2", "kind is \"Pod\", not \"Node\""},
          {"#3", "metadata.name \"a b\" is not a node name: 1 to 253 visible ASCII characters"},
          {"b", "metadata.uid \"a b\" is not a UID"}}));
}

TEST(NodeList, OfTwoWithOneNameTheLastWinsAndTheNameIsRefused) {
  const auto nodes = NodeJsonCodec().DecodeNodeList(
      NodeListJson({kA, kB, NodeJson("a").Leased("10.244.9.0/24", "192.0.2.9")}));
  ASSERT_TRUE(nodes.ok());
  ASSERT_THAT(Names(*nodes), ElementsAre("b", "a"));
  EXPECT_EQ(nodes->leases[1].v4->subnet.ToString(), "10.244.9.0/24");
  ASSERT_EQ(nodes->refused.size(), 1u);
  EXPECT_EQ(nodes->refused[0].name, "a");
}

TEST(NodeList, ALastDuplicateThatIsBadIsRefusedOnce) {
  const auto nodes =
      NodeJsonCodec().DecodeNodeList(NodeListJson({kA, NodeJson("a").Leased("x", "192.0.2.9")}));
  ASSERT_TRUE(nodes.ok());
  EXPECT_THAT(Names(*nodes), IsEmpty());
  ASSERT_EQ(nodes->refused.size(), 1u);
  EXPECT_THAT(nodes->refused[0].reason, HasSubstr("not an address block"));
}

TEST(NodeList, OurOwnNodeIsFoundAmongThem) {
  const NodeJsonCodec codec({}, "b");
  const auto nodes = codec.DecodeNodeList(NodeListJson({kA, kB}));
  ASSERT_TRUE(nodes.ok());
  ASSERT_TRUE(nodes->own.has_value());
  EXPECT_EQ(nodes->own->v4.subnet->ToString(), "10.244.2.0/24");
  EXPECT_FALSE(codec.DecodeNodeList("[]")->own.has_value());
}

TEST(NodeList, OurOwnUnreadableNodeGivesTheReason) {
  const auto nodes = NodeJsonCodec({}, "us").DecodeNodeList(
      "[" + kA.Text() + R"(,{"metadata":{"name":"us","uid":7}}])");
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  ASSERT_TRUE(nodes->own.has_value());
  EXPECT_EQ(nodes->own->node.name, "us");
  EXPECT_THAT(nodes->own->problems, ElementsAre("metadata.uid is 7, not a string"));
  EXPECT_EQ(nodes->refused,
            (std::vector<lease::RefusedNode>{{"us", "metadata.uid is 7, not a string"}}));
}

// The last entry of a name is used, for our Node as for any other, even if it has fewer
// annotations.
TEST(NodeList, OfTwoNodesWithOurNameTheLastIsOursAndTheNameIsRefused) {
  const auto nodes = NodeJsonCodec({}, "us").DecodeNodeList(
      NodeListJson({NodeJson("us").Leased("10.244.1.0/24", "192.0.2.1"),
                    NodeJson("us").PodCidrs({"10.244.9.0/24"})}));
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  EXPECT_THAT(Names(*nodes), IsEmpty());
  EXPECT_EQ(nodes->not_managed, 1u);
  ASSERT_TRUE(nodes->own.has_value());
  EXPECT_EQ(nodes->own->v4.subnet->ToString(), "10.244.9.0/24");
  EXPECT_FALSE(nodes->own->managed);
  ASSERT_EQ(nodes->refused.size(), 1u);
  EXPECT_EQ(nodes->refused[0].reason,
            "the name occurs more than once in the list; the last one is used");
}

TEST(NodeList, ErrorsOfTheWholeText) {
  EXPECT_THAT(Error(""), HasSubstr("it is empty"));
  EXPECT_THAT(Error("{\n  \"items\": [\n    {]\n"), HasSubstr("line 3, column 6: not JSON"));
  EXPECT_THAT(Error("items: []"), HasSubstr("line 1, column 1: not JSON"));
  EXPECT_THAT(Error("7"), HasSubstr("the text is 7, not an object"));
  EXPECT_THAT(Error("{}"), HasSubstr("kubectl get nodes -o json"));
  EXPECT_THAT(Error(R"({"kind":"Status","message":"Unauthorized"})"),
              HasSubstr("kind is \"Status\""));
  EXPECT_THAT(Error(R"({"items":{}})"), HasSubstr("items is an object, not an array"));
  EXPECT_THAT(Error(R"({"metadata":{"continue":"abc"},"items":[]})"),
              HasSubstr("one page of a longer list"));
  EXPECT_THAT(Error(R"({"metadata":7,"items":[]})"), HasSubstr("metadata is 7, not an object"));
  EXPECT_THAT(Error(R"({"metadata":{"continue":7},"items":[]})"),
              HasSubstr("metadata.continue is 7, not a string"));
  EXPECT_THAT(Error(R"({"kind":"Pod","metadata":{"name":"p"}})"),
              HasSubstr("it is not a list of Nodes: no \"items\", and kind is \"Pod\""));
  EXPECT_THAT(Error(R"({"kind":["Node"]})"), HasSubstr("kind is an array"));
  EXPECT_THAT(Error("[\"\xff\"]"), HasSubstr("not JSON at "));
  EXPECT_THAT(Error(std::string("\xff\xfe{\0}\0", 6)), HasSubstr("UTF-16"));
  EXPECT_THAT(Error(std::string("\xfe\xff\0{\0}", 6)), HasSubstr("Set-Content -Encoding utf8"));
}

TEST(NodeList, EveryCutOfAListIsAnErrorOrAValidListButNeverACrash) {
  const std::string whole = NodeListJson({kA, kB});
  for (std::size_t size = 0; size + 2 < whole.size(); ++size) {
    EXPECT_NE(Error(whole.substr(0, size)), "OK") << size;
  }
}

TEST(NodeList, DepthIsRefusedNotFollowed) {
  EXPECT_NE(Error(std::string(100'000, '[')), "OK");
  EXPECT_NE(Error(std::string(5'000, '[') + std::string(5'000, ']')), "OK");
}

}  // namespace
}  // namespace weft::kube
