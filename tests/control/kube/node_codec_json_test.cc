// SPDX-License-Identifier: Apache-2.0
// One Node: upstream v0.28.9's rows, and our own.
#include "control/kube/node_codec_json.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"
#include "tests/support/node_json.h"

namespace weft::kube {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NodeJson;

// Appendix B, "Windows node after start".
constexpr const char* kWindowsNode = R"({"metadata":{"name":"win1","annotations":{
  "flannel.alpha.coreos.com/backend-data":"{\"VNI\":4096,\"VtepMAC\":\"00:15:5d:8c:2f:93\"}",
  "flannel.alpha.coreos.com/backend-type":"vxlan",
  "flannel.alpha.coreos.com/kube-subnet-manager":"true",
  "flannel.alpha.coreos.com/public-ip":"192.168.1.10"}},
 "spec":{"podCIDR":"10.244.3.0/24","podCIDRs":["10.244.3.0/24"]}})";

lease::Lease LeaseOf(const DecodedNode& decoded) {
  const auto* lease = std::get_if<lease::Lease>(&decoded.node);
  if (lease != nullptr) return *lease;
  if (const auto* refused = std::get_if<lease::RefusedNode>(&decoded.node))
    ADD_FAILURE() << refused->reason;
  return {};
}

// "name: reason"; empty when not refused.
std::string Refusal(const DecodedNode& decoded) {
  const auto* refused = std::get_if<lease::RefusedNode>(&decoded.node);
  return refused == nullptr ? "" : refused->name + ": " + refused->reason;
}

TEST(NodeCodecJson, TheWindowsNodeOfTheSample) {
  const lease::Lease lease = LeaseOf(NodeJsonCodec().DecodeNode(kWindowsNode));
  EXPECT_EQ(lease.node, (lease::NodeKey{"win1", ""}));
  EXPECT_EQ(lease.backend_type, "vxlan");
  EXPECT_EQ(lease.created, 0);
  EXPECT_EQ(lease.v4, testing::HalfLease("10.244.3.0/24", "192.168.1.10", "00:15:5d:8c:2f:93"));
  EXPECT_FALSE(lease.v6.has_value());
}

TEST(NodeCodecJson, BothFamilies) {
  const lease::Lease lease = LeaseOf(NodeJsonCodec().DecodeNode(
      NodeJson("linux1")
          .Uid("8f1c")
          .Created("2026-08-14T12:00:00Z")
          .PodCidrs({"10.244.1.0/24", "fd00:10:244:1::/64"})
          .Managed()
          .Annotation("backend-type", "vxlan")
          .Annotation("backend-data", R"({"VNI":4096,"VtepMAC":"ee:37:da:54:ca:7d"})")
          .Annotation("backend-v6-data", R"({"VNI":4096,"VtepMAC":"5a:0c:11:22:33:44"})")
          .Annotation("public-ip", "172.16.0.11")
          .Annotation("public-ipv6", "fd00:1::11")
          .Text()));
  EXPECT_EQ(lease.node, (lease::NodeKey{"linux1", "8f1c"}));
  EXPECT_EQ(lease.created, 1786708800);
  EXPECT_EQ(lease.v4, testing::HalfLease("10.244.1.0/24", "172.16.0.11", "ee:37:da:54:ca:7d"));
  EXPECT_EQ(lease.v6, testing::HalfLease("fd00:10:244:1::/64", "fd00:1::11", "5a:0c:11:22:33:44"));
}

TEST(NodeCodecJson, OnlyTheTextTrueMakesAFlannelNode) {
  for (const char* value : {"", "false", "True", "1", "true "}) {
    const DecodedNode decoded =
        NodeJsonCodec().DecodeNode(NodeJson("a").Annotation("kube-subnet-manager", value).Text());
    EXPECT_TRUE(std::holds_alternative<NotManaged>(decoded.node)) << value;
  }
  const DecodedNode bare = NodeJsonCodec().DecodeNode(R"({"metadata":{"name":"a"}})");
  ASSERT_TRUE(std::holds_alternative<NotManaged>(bare.node));
  EXPECT_EQ(std::get<NotManaged>(bare.node).node.name, "a");
  // What is wrong with a Node that is not flannel's is not our matter.
  EXPECT_TRUE(std::holds_alternative<NotManaged>(
      NodeJsonCodec()
          .DecodeNode(R"({"metadata":{"name":"a","annotations":null},"spec":{"podCIDR":7}})")
          .node));
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
    const lease::Lease lease =
        LeaseOf(NodeJsonCodec().DecodeNode(NodeJson("a").Managed().Spec(row.spec).Text()));
    EXPECT_EQ(lease.v4 ? lease.v4->subnet.ToString() : "", row.v4);
    EXPECT_EQ(lease.v6 ? lease.v6->subnet.ToString() : "", row.v6);
  }
}

TEST(NodeCodecJson, AbsentMembersAreStatesNotErrors) {
  const lease::Lease lease = LeaseOf(
      NodeJsonCodec().DecodeNode(NodeJson("a").Managed().PodCidrs({"10.244.1.0/24"}).Text()));
  EXPECT_EQ(lease.backend_type, "");
  EXPECT_FALSE(lease.v4->public_ip.has_value());
  EXPECT_FALSE(lease.v4->vni.has_value());
  EXPECT_FALSE(lease.v4->vtep_mac.has_value());
}

TEST(NodeCodecJson, OtherBackendsKeepTheirDataToThemselves) {
  for (const char* data : {"null", R"({"PublicKey":"x"})", "rubbish"}) {
    const lease::Lease lease =
        LeaseOf(NodeJsonCodec().DecodeNode(NodeJson("a")
                                               .Managed()
                                               .PodCidrs({"10.244.1.0/24"})
                                               .Annotation("backend-type", "host-gw")
                                               .Annotation("backend-data", data)
                                               .Annotation("public-ip", "192.0.2.1")
                                               .Text()));
    EXPECT_EQ(lease.backend_type, "host-gw");
    EXPECT_FALSE(lease.v4->vni.has_value());
  }
}

TEST(NodeCodecJson, AFamilyWithoutPodCidrIsNotLookedAt) {
  const lease::Lease lease =
      LeaseOf(NodeJsonCodec().DecodeNode(NodeJson("a")
                                             .Managed()
                                             .PodCidrs({"10.244.1.0/24"})
                                             .Annotation("public-ipv6", "rubbish")
                                             .Text()));
  EXPECT_FALSE(lease.v6.has_value());
}

TEST(NodeCodecJson, AnotherPrefix) {
  const NodeJsonCodec codec(*AnnotationKeys::Of("org.com/x"));
  EXPECT_TRUE(std::holds_alternative<NotManaged>(codec.DecodeNode(kWindowsNode).node));
  const lease::Lease lease = LeaseOf(codec.DecodeNode(
      R"({"metadata":{"name":"a","annotations":{"org.com/x-kube-subnet-manager":"true","org.com/x-public-ip":"192.0.2.1"}},
          "spec":{"podCIDR":"10.244.1.0/24"}})"));
  EXPECT_EQ(lease.v4->public_ip, testing::Address("192.0.2.1"));
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
      {"", "#0: it is empty"},
      {"{", "#0: line 1, column 2: not JSON"},
      {"[]", "#0: the Node is an array, not an object"},
      {"{}", "#0: metadata is missing"},
      {R"({"kind":"Pod"})", "#0: kind is \"Pod\", not \"Node\""},
      {R"({"metadata":[]})", "#0: metadata is an array, not an object"},
      {R"({"metadata":{}})", "#0: metadata.name \"\" is not a node name"},
      {R"({"metadata":{"name":7}})", "#0: metadata.name is 7, not a string"},
      {R"({"metadata":{"name":"a\nb"}})", R"(#0: metadata.name "a\nb" is not a node name)"},
      {"\xfe\xff{", "#0: it is UTF-16"},
      {R"({"kind":7,"metadata":{"name":"n1"}})", "#0: kind is 7, not a string"},
      {R"({"kind":null,"metadata":null})", "#0: metadata is missing"},
      {R"({"metadata":{"name":"#7"}})", "#0: metadata.name \"#7\" is not a node name"},
      {R"({"metadata":{"name":"a b"}})", "#0: metadata.name \"a b\" is not a node name"},
      {R"({"metadata":{"name":"n\u00e9"}})", R"(#0: metadata.name "n\xc3\xa9" is not a node name)"},
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
    EXPECT_THAT(Refusal(NodeJsonCodec().DecodeNode(text)), HasSubstr(refusal)) << text;
  }
}

TEST(NodeCodecJson, CreationTimesThatAreNone) {
  for (const char* time : {"yesterday", "2026-13-01T00:00:00Z", "infinite-future", "2026-08-14"}) {
    EXPECT_THAT(Refusal(NodeJsonCodec().DecodeNode(
                    NodeJson("a").Created(time).Managed().PodCidrs({"10.244.1.0/24"}).Text())),
                HasSubstr("a: metadata.creationTimestamp"))
        << time;
  }
}

TEST(NodeCodecJson, ACreationTimeThatIsNoTextIsRefused) {
  EXPECT_THAT(
      Refusal(NodeJsonCodec().DecodeNode(
          R"({"metadata":{"name":"a","creationTimestamp":0,"annotations":{"flannel.alpha.coreos.com/kube-subnet-manager":"true"}},
              "spec":{"podCIDR":"10.244.1.0/24"}})")),
      HasSubstr("a: metadata.creationTimestamp is 0, not a string"));
}

TEST(NodeCodecJson, NamesHaveUpTo253Characters) {
  const auto name_of = [](std::size_t size) {
    const DecodedNode decoded = NodeJsonCodec().DecodeNode(NodeJson(std::string(size, 'n')).Text());
    const auto* node = std::get_if<NotManaged>(&decoded.node);
    return node == nullptr ? Refusal(decoded) : node->node.name;
  };
  EXPECT_EQ(name_of(253), std::string(253, 'n'));
  EXPECT_THAT(name_of(254), HasSubstr("is not a node name: 1 to 253 visible ASCII characters"));
}

TEST(NodeCodecJson, ForeignTextIsBoundedInMessages) {
  const std::string refusal = Refusal(NodeJsonCodec().DecodeNode(
      NodeJson("a").Managed().PodCidrs({std::string(100'000, 'x')}).Text()));
  EXPECT_LT(refusal.size(), 300u);
  EXPECT_THAT(refusal, HasSubstr("(100000 octets)"));
}

// ---- our own Node

TEST(OwnNode, BeforeItHasPublished) {
  const NodeJsonCodec codec({}, "us");
  const DecodedNode decoded =
      codec.DecodeNode(NodeJson("us").PodCidrs({"10.244.0.0/24", "fd00::/64"}).Text());
  EXPECT_TRUE(std::holds_alternative<NotManaged>(decoded.node));
  ASSERT_TRUE(decoded.own.has_value());
  EXPECT_FALSE(decoded.own->managed);
  EXPECT_EQ(decoded.own->v4.subnet, testing::Prefix("10.244.0.0/24"));
  EXPECT_EQ(decoded.own->v6.subnet, testing::Prefix("fd00::/64"));
  EXPECT_FALSE(decoded.own->v4.published_vtep_mac.has_value());
  EXPECT_THAT(decoded.own->problems, IsEmpty());
}

TEST(OwnNode, WhatItPublishedAndWhatItIsTold) {
  const NodeJsonCodec codec({}, "us");
  const DecodedNode decoded =
      codec.DecodeNode(NodeJson("us")
                           .Managed()
                           .PodCidrs({"10.244.0.0/24"})
                           .Annotation("backend-type", "vxlan")
                           .Annotation("backend-data", R"({"VNI":7,"VtepMAC":"02:00:00:00:00:09"})")
                           .Annotation("public-ip", "192.0.2.9")
                           .Annotation("node-public-ip", "192.0.2.10")
                           .Annotation("public-ip-overwrite", "203.0.113.1")
                           .Annotation("node-public-ipv6", "fd00::10")
                           .Annotation("public-ipv6-overwrite", "fd00::11")
                           .Text());
  EXPECT_TRUE(std::holds_alternative<lease::Lease>(decoded.node));
  ASSERT_TRUE(decoded.own.has_value());
  EXPECT_TRUE(decoded.own->managed);
  EXPECT_EQ(decoded.own->v4.published_vni, 7u);
  EXPECT_EQ(decoded.own->v4.published_vtep_mac, testing::Mac("02:00:00:00:00:09"));
  EXPECT_EQ(decoded.own->v4.published_public_ip, testing::Address("192.0.2.9"));
  EXPECT_EQ(decoded.own->v4.node_public_ip, "192.0.2.10");
  EXPECT_EQ(decoded.own->v4.public_ip_overwrite, "203.0.113.1");
  EXPECT_EQ(decoded.own->v6.node_public_ip, "fd00::10");
  EXPECT_EQ(decoded.own->v6.public_ip_overwrite, "fd00::11");
}

TEST(OwnNode, WhatCannotBeReadIsAProblemAndAbsent) {
  const NodeJsonCodec codec({}, "us");
  const DecodedNode decoded = codec.DecodeNode(NodeJson("us")
                                                   .Managed()
                                                   .PodCidrs({"rubbish"})
                                                   .Annotation("backend-type", "vxlan")
                                                   .Annotation("backend-data", "rubbish")
                                                   .Annotation("public-ip", "rubbish")
                                                   .Text());
  ASSERT_TRUE(decoded.own.has_value());
  EXPECT_EQ(decoded.own->problems.size(), 3u);
  EXPECT_FALSE(decoded.own->v4.subnet.has_value());
  const DecodedNode broken = codec.DecodeNode(R"({"metadata":{"name":"us","annotations":7}})");
  ASSERT_TRUE(broken.own.has_value());
  EXPECT_THAT(broken.own->problems, Contains(HasSubstr("metadata.annotations is 7")));
}

TEST(OwnNode, ProblemsOfEitherFamilyNameTheirAnnotation) {
  const NodeJsonCodec codec({}, "us");
  const DecodedNode decoded = codec.DecodeNode(NodeJson("us")
                                                   .Managed()
                                                   .PodCidrs({"10.244.0.0/24", "fd00::/64"})
                                                   .Annotation("backend-type", "VXLAN")
                                                   .Annotation("backend-v6-data", "[]")
                                                   .Annotation("public-ipv6", "192.0.2.1")
                                                   .Text());
  ASSERT_TRUE(decoded.own.has_value());
  EXPECT_THAT(
      decoded.own->problems,
      ::testing::ElementsAre(
          HasSubstr("annotation flannel.alpha.coreos.com/public-ipv6 \"192.0.2.1\" is not an IPv6"),
          HasSubstr("annotation flannel.alpha.coreos.com/backend-v6-data: the text is an array")));
  EXPECT_EQ(decoded.own->v6.subnet, testing::Prefix("fd00::/64"));
  EXPECT_FALSE(decoded.own->v6.published_public_ip.has_value());
}

// What another backend left in the annotations is not taken for our MAC.
TEST(OwnNode, DataOfAnotherBackendIsNotRead) {
  const DecodedNode decoded =
      NodeJsonCodec({}, "us").DecodeNode(NodeJson("us")
                                             .Managed()
                                             .PodCidrs({"10.244.0.0/24"})
                                             .Annotation("backend-type", "host-gw")
                                             .Annotation("backend-data", "rubbish")
                                             .Text());
  ASSERT_TRUE(decoded.own.has_value());
  EXPECT_EQ(decoded.own->backend_type, "host-gw");
  EXPECT_THAT(decoded.own->problems, IsEmpty());
  EXPECT_FALSE(decoded.own->v4.published_vtep_mac.has_value());
}

TEST(OwnNode, OthersAreNotOurs) {
  EXPECT_FALSE(NodeJsonCodec({}, "us").DecodeNode(kWindowsNode).own.has_value());
  EXPECT_FALSE(NodeJsonCodec().DecodeNode(kWindowsNode).own.has_value());
}

}  // namespace
}  // namespace weft::kube
