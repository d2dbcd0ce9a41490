// SPDX-License-Identifier: Apache-2.0
// One Node of a file: what only JSON can express. The rest is in answer_reader_contract_test.cc.
#include "control/kube/codec/node_codec_json.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"
#include "tests/support/node_json.h"

namespace weft::kube {
namespace {

using ::testing::HasSubstr;
using testing::NodeJson;

// Appendix B, "Windows node after start".
constexpr const char* kWindowsNode = R"({"metadata":{"name":"win1","annotations":{
  "flannel.alpha.coreos.com/backend-data":"{\"VNI\":4096,\"VtepMAC\":\"00:15:5d:8c:2f:93\"}",
  "flannel.alpha.coreos.com/backend-type":"vxlan",
  "flannel.alpha.coreos.com/kube-subnet-manager":"true",
  "flannel.alpha.coreos.com/public-ip":"192.168.1.10"}},
 "spec":{"podCIDR":"10.244.3.0/24","podCIDRs":["10.244.3.0/24"]}})";

DecodedNodes Decode(std::string_view node, std::string own_name = "") {
  const auto nodes = NodeJsonCodec({}, std::move(own_name)).DecodeNodeList(node);
  EXPECT_TRUE(nodes.ok()) << nodes.status();
  return nodes.ok() ? *nodes : DecodedNodes();
}

lease::Lease LeaseOf(std::string_view node) {
  const DecodedNodes nodes = Decode(node);
  if (nodes.leases.size() == 1) return nodes.leases[0];
  ADD_FAILURE() << (nodes.refused.empty() ? "not managed" : nodes.refused[0].reason);
  return {};
}

// "name: reason"; empty when not refused. In an array, where no name is the position.
std::string Refusal(const std::string& node) {
  const DecodedNodes nodes = Decode("[" + node + "]");
  return nodes.refused.empty() ? "" : nodes.refused[0].name + ": " + nodes.refused[0].reason;
}

TEST(NodeCodecJson, TheWindowsNodeOfTheSample) {
  const lease::Lease lease = LeaseOf(kWindowsNode);
  EXPECT_EQ(lease.node, (lease::NodeKey{"win1", ""}));
  EXPECT_EQ(lease.backend_type, "vxlan");
  EXPECT_EQ(lease.created, 0);
  EXPECT_EQ(lease.v4, testing::HalfLease("10.244.3.0/24", "192.168.1.10", "00:15:5d:8c:2f:93"));
  EXPECT_FALSE(lease.v6.has_value());
}

// Errors of a Node that flannel does not manage are ignored.
TEST(NodeCodecJson, NullAnnotationsAreNone) {
  const DecodedNodes nodes =
      Decode(R"({"metadata":{"name":"a","annotations":null},"spec":{"podCIDR":7}})");
  EXPECT_EQ(nodes.not_managed, 1u);
}

TEST(NodeCodecJson, WithoutConditionsNothingIsKnownOfItsReadiness) {
  for (const char* status : {"{}", R"({"addresses":[{"type":"Ready","status":"True"}]})"}) {
    std::string node = NodeJson("a").Managed().PodCidrs({"10.244.1.0/24"}).Text();
    node.replace(node.rfind("{\"conditions\":[]}"), 17, status);
    EXPECT_EQ(LeaseOf(node).readiness, std::nullopt) << status;
  }
}

struct CidrRow {
  const char* description;
  const char* spec;
  const char* v4;
  const char* v6;
};

TEST(NodeCodecJson, PodCidrs) {
  const CidrRow rows[] = {
      {"podCIDR alone", R"({"podCIDR":"10.244.1.0/24"})", "10.244.1.0/24", ""},
      {"podCIDRs before podCIDR", R"({"podCIDR":"10.244.9.0/24","podCIDRs":["10.244.1.0/24"]})",
       "10.244.1.0/24", ""},
      {"podCIDR is not read where podCIDRs has an entry",
       R"({"podCIDR":7,"podCIDRs":["10.244.1.0/24"]})", "10.244.1.0/24", ""},
      {"empty podCIDRs", R"({"podCIDR":"10.244.1.0/24","podCIDRs":[]})", "10.244.1.0/24", ""},
      {"null podCIDRs", R"({"podCIDR":"10.244.1.0/24","podCIDRs":null})", "10.244.1.0/24", ""},
      {"v6 first", R"({"podCIDRs":["fd00::/64","10.244.1.0/24"]})", "10.244.1.0/24", "fd00::/64"},
      {"two of one family: the first", R"({"podCIDRs":["10.244.1.0/24","10.244.2.0/24"]})",
       "10.244.1.0/24", ""},
      {"v6 only", R"({"podCIDR":"fd00:10:244:1::/64"})", "", "fd00:10:244:1::/64"},
      {"host bits are cleared", R"({"podCIDR":"10.244.1.7/24"})", "10.244.1.0/24", ""},
      {"the last duplicate member wins", R"({"podCIDR":"10.244.1.0/24","podCIDR":"10.244.2.0/24"})",
       "10.244.2.0/24", ""},
  };
  for (const CidrRow& row : rows) {
    SCOPED_TRACE(row.description);
    const lease::Lease lease = LeaseOf(NodeJson("a").Managed().Spec(row.spec).Text());
    EXPECT_EQ(lease.v4 ? lease.v4->subnet.ToString() : "", row.v4);
    EXPECT_EQ(lease.v6 ? lease.v6->subnet.ToString() : "", row.v6);
  }
}

TEST(NodeCodecJson, RefusedByFieldAndValue) {
  const auto managed = [](const char* annotations, const char* spec) {
    return std::string(
               R"({"metadata":{"name":"n1","annotations":{"flannel.alpha.coreos.com/kube-subnet-manager":"true",
      "flannel.alpha.coreos.com/backend-type":"vxlan")") +
           annotations + R"(}},"spec":)" + spec + "}";
  };
  const char* const cidr = R"({"podCIDR":"10.244.1.0/24"})";
  const std::pair<std::string, const char*> rows[] = {
      {"[]", "#0: the Node is an array, not an object"},
      {"{}", "#0: metadata is missing"},
      {R"({"kind":"Pod"})", "#0: kind is \"Pod\", not \"Node\""},
      {R"({"metadata":[]})", "#0: metadata is an array, not an object"},
      {R"({"metadata":{}})", "#0: metadata.name \"\" is not a node name"},
      {R"({"metadata":{"name":7}})", "#0: metadata.name is 7, not a string"},
      {R"({"metadata":{"name":"a\nb"}})", R"(#0: metadata.name "a\nb" is not a node name)"},
      {R"({"kind":7,"metadata":{"name":"n1"}})", "#0: kind is 7, not a string"},
      {R"({"kind":null,"metadata":null})", "#0: metadata is missing"},
      {R"({"metadata":{"name":"#7"}})", "#0: metadata.name \"#7\" is not a node name"},
      {R"({"metadata":{"name":"a b"}})", "#0: metadata.name \"a b\" is not a node name"},
      {R"({"metadata":{"name":"n\u00e9"}})", R"(#0: metadata.name "n\xc3\xa9" is not a node name)"},
      {R"({"metadata":{"name":"a\u007f"}})", R"(#0: metadata.name "a\x7f" is not a node name)"},
      {R"({"metadata":{"name":"a b-at-the-begin"}})", "is not a node name"},
      {R"({"metadata":{"name":"at-the-very-end b"}})", "is not a node name"},
      {R"({"metadata":{"name":"n1","uid":7,"annotations":[]}})", "n1: metadata.uid is 7"},
      {R"({"metadata":{"name":"n1","uid":"a b"}})", "n1: metadata.uid \"a b\" is not a UID"},
      {R"({"metadata":{"name":"n1","annotations":{"a":null}}})",
       "n1: annotation \"a\" is null, not a string"},
      {R"({"metadata":{"name":"n1","uid":{}}})", "n1: metadata.uid is an object, not a string"},
      {R"({"metadata":{"name":"n1","annotations":[]}})",
       "n1: metadata.annotations is an array, not an object"},
      {R"({"metadata":{"name":"n1","annotations":{"a/b":true}}})",
       "n1: annotation \"a/b\" is true, not a string"},
      {managed("", "{}"), "n1: spec.podCIDR is not assigned"},
      {managed("", "null"), "n1: spec.podCIDR is not assigned"},
      {managed("", R"({"podCIDR":""})"), "n1: spec.podCIDR is not assigned"},
      {managed("", "7"), "n1: spec is 7, not an object"},
      {managed("", R"({"podCIDR":7})"), "n1: spec.podCIDR is 7, not a string"},
      {managed("", R"({"podCIDR":"10.244.300.0/24"})"),
       "n1: spec.podCIDR \"10.244.300.0/24\" is not an address block"},
      {managed("", R"({"podCIDR":"10.244.1.0"})"), "is not an address block"},
      {managed("", R"({"podCIDR":"::ffff:10.244.1.0/120"})"), "is not an address block"},
      {managed("", R"({"podCIDRs":"10.244.1.0/24"})"),
       "n1: spec.podCIDRs is \"10.244.1.0/24\", not an array"},
      {managed("", R"({"podCIDRs":["a","b","c"]})"), "n1: spec.podCIDRs has 3 entries"},
      {managed("", R"({"podCIDRs":["10.244.1.0/24",null]})"),
       "n1: spec.podCIDRs entry is null, not a string"},
      {managed(R"(,"flannel.alpha.coreos.com/public-ip":"192.0.2.1/24")", cidr),
       "public-ip \"192.0.2.1/24\" is not an IPv4 address"},
      {managed(R"(,"flannel.alpha.coreos.com/public-ip":"fd00::1")", cidr),
       "is not an IPv4 address"},
      {managed(R"(,"flannel.alpha.coreos.com/public-ip":"::ffff:192.0.2.1")", cidr),
       "is not an IPv4 address"},
      {managed(R"(,"flannel.alpha.coreos.com/public-ip":"0.0.0.0")", cidr),
       "is not an address of one host"},
      {managed(R"(,"flannel.alpha.coreos.com/public-ip":"224.0.0.1")", cidr),
       "is not an address of one host"},
      {managed(R"(,"flannel.alpha.coreos.com/public-ip":"255.255.255.255")", cidr),
       "is not an address of one host"},
      {managed(R"(,"flannel.alpha.coreos.com/public-ipv6":"::")", R"({"podCIDR":"fd00::/64"})"),
       "public-ipv6 \"::\" is not an address of one host"},
      {managed(R"(,"flannel.alpha.coreos.com/public-ipv6":"192.0.2.1")",
               R"({"podCIDR":"fd00::/64"})"),
       "is not an IPv6 address"},
      {managed(R"(,"flannel.alpha.coreos.com/public-ipv6":"::ffff:192.0.2.1")",
               R"({"podCIDR":"fd00::/64"})"),
       "is not an IPv6 address"},
      {managed(R"(,"flannel.alpha.coreos.com/backend-data":"{\"VNI\":70000000}")", cidr),
       "n1: annotation flannel.alpha.coreos.com/backend-data: VNI is 70000000, more than 24 bits"},
      {managed(R"(,"flannel.alpha.coreos.com/backend-v6-data":"{\"VtepMAC\":\"x\"}")",
               R"({"podCIDR":"fd00::/64"})"),
       "n1: annotation flannel.alpha.coreos.com/backend-v6-data: VtepMAC \"x\""},
  };
  for (const auto& [text, refusal] : rows) {
    EXPECT_THAT(Refusal(text), HasSubstr(refusal)) << text;
  }
}

TEST(NodeCodecJson, InvalidCreationTimes) {
  for (const char* time : {"yesterday", "2026-13-01T00:00:00Z", "infinite-future", "infinite-past",
                           "2026-08-14", "2026-02-30T00:00:00Z", "2026-08-14T24:00:00Z",
                           "2026-08-14T00:60:00Z", "2026-08-14T00:00:61Z", "2026-08-0:T00:00:00Z",
                           "2026-08-1/T00:00:00Z", "2026-08-14x00:00:00Z"}) {
    EXPECT_THAT(Refusal(NodeJson("a").Created(time).Managed().PodCidrs({"10.244.1.0/24"}).Text()),
                HasSubstr("a: metadata.creationTimestamp"))
        << time;
  }
}

TEST(NodeCodecJson, ACreationTimeThatIsNoTextIsRefused) {
  EXPECT_THAT(
      Refusal(
          R"({"metadata":{"name":"a","creationTimestamp":0,"annotations":{"flannel.alpha.coreos.com/kube-subnet-manager":"true"}},
              "spec":{"podCIDR":"10.244.1.0/24"}})"),
      HasSubstr("a: metadata.creationTimestamp is 0, not a string"));
}

TEST(NodeCodecJson, NamesHaveUpTo253Characters) {
  EXPECT_EQ(Refusal(NodeJson(std::string(253, 'n')).Text()), "");
  EXPECT_THAT(Refusal(NodeJson(std::string(254, 'n')).Text()),
              HasSubstr("is not a node name: 1 to 253 visible ASCII characters"));
}

// ---- our own Node

TEST(OwnNode, AnnotationsThatAreNoObjectAreItsProblem) {
  const DecodedNodes nodes = Decode(R"({"metadata":{"name":"us","annotations":7}})", "us");
  ASSERT_TRUE(nodes.own.has_value());
  EXPECT_THAT(nodes.own->problems, ::testing::ElementsAre(HasSubstr("metadata.annotations is 7")));
}

TEST(OwnNode, ProblemsOfEitherFamilyNameTheirAnnotation) {
  const DecodedNodes nodes = Decode(NodeJson("us")
                                        .Managed()
                                        .PodCidrs({"10.244.0.0/24", "fd00::/64"})
                                        .Annotation("backend-type", "VXLAN")
                                        .Annotation("backend-v6-data", "[]")
                                        .Annotation("public-ipv6", "192.0.2.1")
                                        .Text(),
                                    "us");
  ASSERT_TRUE(nodes.own.has_value());
  EXPECT_THAT(
      nodes.own->problems,
      ::testing::ElementsAre(
          HasSubstr("annotation flannel.alpha.coreos.com/public-ipv6 \"192.0.2.1\" is not an IPv6"),
          HasSubstr("annotation flannel.alpha.coreos.com/backend-v6-data: the text is an array")));
  EXPECT_EQ(nodes.own->v6.subnet, testing::Prefix("fd00::/64"));
  EXPECT_FALSE(nodes.own->v6.published_public_ip.has_value());
}

// Another backend's old annotation is not used as our MAC.
TEST(OwnNode, DataOfAnotherBackendIsNotRead) {
  const DecodedNodes nodes = Decode(NodeJson("us")
                                        .Managed()
                                        .PodCidrs({"10.244.0.0/24"})
                                        .Annotation("backend-type", "host-gw")
                                        .Annotation("backend-data", "rubbish")
                                        .Text(),
                                    "us");
  ASSERT_TRUE(nodes.own.has_value());
  EXPECT_EQ(nodes.own->backend_type, "host-gw");
  EXPECT_THAT(nodes.own->problems, ::testing::IsEmpty());
  EXPECT_FALSE(nodes.own->v4.published_vtep_mac.has_value());
}

TEST(OwnNode, OtherNodesAreNotOurs) {
  EXPECT_FALSE(Decode(kWindowsNode, "us").own.has_value());
  EXPECT_FALSE(Decode(kWindowsNode).own.has_value());
  EXPECT_FALSE(Decode("[{}]").own.has_value());
}

}  // namespace
}  // namespace weft::kube
