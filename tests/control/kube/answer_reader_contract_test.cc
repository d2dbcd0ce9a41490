// SPDX-License-Identifier: Apache-2.0
// Lists and watches of Nodes: one suite, every case in both encodings.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/control/kube/answer_recorder.h"
#include "tests/support/lease_makers.h"

namespace weft::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NodeFacts;
using testing::StatusFacts;

class AnswerContract : public ::testing::TestWithParam<Encoding> {
 protected:
  using Lines = std::vector<std::string>;

  const testing::Answers answers{GetParam()};
  const NodeFacts a = NodeFacts("a").Version("3").Leased("10.244.1.0/24", "192.0.2.1").Large();
  const NodeFacts b = NodeFacts("b").Version("4").Leased("10.244.2.0/24", "192.0.2.2");
  const NodeFacts other = NodeFacts("other").Version("5").PodCidr("10.244.3.0/24");

  Lines List(std::string_view answer, std::size_t piece = std::string_view::npos) const {
    return LinesOf(GetParam(), AnswerKind::kList, answer, piece);
  }
  Lines Watch(std::string_view answer, std::size_t piece = std::string_view::npos) const {
    return LinesOf(GetParam(), AnswerKind::kWatch, answer, piece);
  }
};

TEST_P(AnswerContract, AListTellsItsNodesAndThenItsVersion) {
  EXPECT_THAT(List(answers.List({a, other, b}, "17")),
              ElementsAre("LISTED a@3 lease", "LISTED other@5 not managed", "LISTED b@4 lease",
                          "END 17 ", "OK"));
}

TEST_P(AnswerContract, AnEmptyListIsATruthToo) {
  EXPECT_THAT(List(answers.List({}, "17")), ElementsAre("END 17 ", "OK"));
}

TEST_P(AnswerContract, APageTellsWhereTheNextOneIs) {
  EXPECT_THAT(List(answers.List({a}, "17", "token")),
              ElementsAre("LISTED a@3 lease", "END 17 token", "OK"));
}

TEST_P(AnswerContract, AWatchTellsItsEvents) {
  const std::string events = answers.Event("ADDED", a) + answers.Bookmark("16") +
                             answers.Bookmark("17", true) + answers.Event("MODIFIED", b) +
                             answers.Event("DELETED", a) + answers.Event("ADDED", other);
  EXPECT_THAT(Watch(events),
              ElementsAre("ADDED a@3 lease", "BOOKMARK 16", "BOOKMARK 17 end", "MODIFIED b@4 lease",
                          "DELETED a@3 lease", "ADDED other@5 not managed", "OK"));
}

TEST_P(AnswerContract, AWatchWithoutEventsIsAWatch) { EXPECT_THAT(Watch(""), ElementsAre("OK")); }

TEST_P(AnswerContract, AnErrorEventTellsItsStatus) {
  const StatusFacts gone{410, "Expired", "too old resource version: 1 (2)", 0, "", ""};
  EXPECT_THAT(
      Watch(answers.Event("ADDED", a) + answers.ErrorEvent(gone)),
      ElementsAre("ADDED a@3 lease", "ERROR 410 Expired: too old resource version: 1 (2)", "OK"));
}

// ---- cut anywhere

TEST_P(AnswerContract, AListCutAtEveryOctetIsTheSameList) {
  const std::string list = answers.List({a, other, b}, "17", "token");
  const Lines whole = List(list);
  ASSERT_EQ(whole.back(), "OK");
  for (std::size_t cut = 1; cut < list.size(); ++cut) {
    const AnnotationKeys keys;
    AnswerRecorder recorder;
    const auto reader = MakeAnswerReader(GetParam(), AnswerKind::kList, keys, "us", recorder);
    ASSERT_TRUE(reader->Read(std::string(list, 0, cut)).ok()) << cut;
    ASSERT_TRUE(reader->Read(std::string(list, cut)).ok()) << cut;
    ASSERT_TRUE(reader->Finish().ok()) << cut;
    recorder.lines.push_back("OK");
    ASSERT_EQ(recorder.lines, whole) << cut;
  }
}

TEST_P(AnswerContract, PiecesOfAnySizeAreTheSameAnswer) {
  const std::string list = answers.List({a, other, b, a}, "17");
  const std::string watch = answers.Event("ADDED", a) + answers.Bookmark("16", true) +
                            answers.Event("DELETED", b) + answers.Event("MODIFIED", a);
  const Lines whole_list = List(list), whole_watch = Watch(watch);
  for (const std::size_t piece : {1, 2, 3, 5, 7, 63, 64, 65, 1000, 8191}) {
    EXPECT_EQ(List(list, piece), whole_list) << piece;
    EXPECT_EQ(Watch(watch, piece), whole_watch) << piece;
  }
}

// What was told before stays true; that not all was told is an error.
TEST_P(AnswerContract, AListThatEndsEarlyIsAnErrorWhereverItEnds) {
  const std::string list = answers.List({a, b}, "17");
  const std::size_t end = list.find_last_not_of('\n') + 1;
  for (std::size_t size = 0; size < end; ++size) {
    const Lines lines = List(list.substr(0, size));
    // In protobuf the envelope has two empty fields behind the list.
    if (lines.back() == "OK") {
      ASSERT_EQ(lines, List(list)) << size;
      continue;
    }
    ASSERT_THAT(lines.back(), HasSubstr("it ends before the list does")) << size;
    ASSERT_THAT(lines.back(), HasSubstr(absl::StrCat("octet ", size, ":")));
  }
}

TEST_P(AnswerContract, AWatchThatEndsAmidAnEventIsAnErrorAndBetweenThemNot) {
  const std::string first = answers.Event("ADDED", b);
  const std::string watch = first + answers.Bookmark("9");
  for (std::size_t size = 0; size < watch.size(); ++size) {
    const Lines lines = Watch(watch.substr(0, size));
    // A JSON event is whole without its line break.
    const std::size_t newline = GetParam() == Encoding::kJson ? 1 : 0;
    const bool between = size == 0 || (size >= first.size() - newline && size <= first.size()) ||
                         size >= watch.size() - newline;
    if (between) {
      ASSERT_EQ(lines.back(), "OK") << size;
    } else {
      ASSERT_THAT(lines.back(), HasSubstr("it ends amid the ")) << size;
    }
  }
}

// ---- what one Node says

class NodeContract : public AnswerContract {
 protected:
  // As an event of a watch and as an item of a list: the same.
  DecodedNode Decode(const NodeFacts& facts, const AnnotationKeys& keys = {}) const {
    AnswerRecorder recorder;
    const auto list = MakeAnswerReader(GetParam(), AnswerKind::kList, keys, "us", recorder);
    EXPECT_TRUE(list->Read(answers.List({facts}, "1")).ok());
    const auto watch = MakeAnswerReader(GetParam(), AnswerKind::kWatch, keys, "us", recorder);
    EXPECT_TRUE(watch->Read(answers.Event("ADDED", facts)).ok());
    EXPECT_EQ(recorder.nodes.size(), 2u);
    if (recorder.nodes.size() != 2) return {};
    const DecodedNode& node = recorder.nodes[0];
    EXPECT_EQ(node.kind, recorder.nodes[1].kind);
    EXPECT_EQ(node.lease, recorder.nodes[1].lease);
    EXPECT_EQ(node.refusal, recorder.nodes[1].refusal);
    EXPECT_EQ(node.own, recorder.nodes[1].own);
    return node;
  }
  lease::Lease LeaseOf(const NodeFacts& facts) const {
    const DecodedNode node = Decode(facts);
    EXPECT_EQ(node.kind, DecodedNode::Kind::kLease) << node.refusal;
    return node.lease;
  }
  // "name: reason"; empty when not refused.
  std::string Refusal(const NodeFacts& facts) const {
    const DecodedNode node = Decode(facts);
    if (node.kind != DecodedNode::Kind::kRefused) return "";
    return node.lease.node.name + ": " + node.refusal;
  }
};

TEST_P(NodeContract, BothFamilies) {
  const lease::Lease lease =
      LeaseOf(NodeFacts("linux1")
                  .Uid("8f1c")
                  .Created(1786708800)
                  .PodCidrs({"10.244.1.0/24", "fd00:10:244:1::/64"})
                  .Managed()
                  .Annotation("backend-type", "vxlan")
                  .Annotation("backend-data", R"({"VNI":4096,"VtepMAC":"ee:37:da:54:ca:7d"})")
                  .Annotation("backend-v6-data", R"({"VNI":4096,"VtepMAC":"5a:0c:11:22:33:44"})")
                  .Annotation("public-ip", "172.16.0.11")
                  .Annotation("public-ipv6", "fd00:1::11")
                  .Large());
  EXPECT_EQ(lease.node, (lease::NodeKey{"linux1", "8f1c"}));
  EXPECT_EQ(lease.created, 1786708800);
  EXPECT_EQ(lease.backend_type, "vxlan");
  EXPECT_EQ(lease.v4, testing::HalfLease("10.244.1.0/24", "172.16.0.11", "ee:37:da:54:ca:7d"));
  EXPECT_EQ(lease.v6, testing::HalfLease("fd00:10:244:1::/64", "fd00:1::11", "5a:0c:11:22:33:44"));
}

TEST_P(NodeContract, ALeaseLeavesNothingBehindForTheNext) {
  EXPECT_EQ(List(answers.List({a, NodeFacts("bare").Managed().PodCidr("10.244.9.0/24"),
                               NodeFacts("none"), NodeFacts("")},
                              "1"))[3],
            "LISTED @ refused: metadata.name \"\" is not a node name: 1 to 253 visible ASCII "
            "characters");
  AnswerRecorder recorder;
  const AnnotationKeys keys;
  const auto list = MakeAnswerReader(GetParam(), AnswerKind::kList, keys, "a", recorder);
  NodeFacts full = a;
  full.Uid("1").Created(7);
  const NodeFacts next = NodeFacts("bare").Managed().PodCidr("fd00:9::/64");
  ASSERT_TRUE(list->Read(answers.List({full, next}, "1")).ok());
  lease::Lease bare;
  bare.node.name = "bare";
  bare.v6 = lease::FamilyLease{testing::Prefix("fd00:9::/64"), {}, {}, {}};
  EXPECT_EQ(recorder.nodes.at(1).lease, bare);
  EXPECT_TRUE(recorder.nodes.at(0).own.has_value());
  EXPECT_FALSE(recorder.nodes.at(1).own.has_value());
}

TEST_P(NodeContract, OnlyTheTextTrueMakesAFlannelNode) {
  for (const char* value : {"", "false", "True", "1", "true "}) {
    EXPECT_EQ(Decode(NodeFacts("a").Annotation("kube-subnet-manager", value)).kind,
              DecodedNode::Kind::kNotManaged)
        << value;
  }
}

// Upstream's row "Node with no annotations map": it panics there.
TEST_P(NodeContract, ANodeWithNoAnnotationsMapIsNotManaged) {
  const DecodedNode node = Decode(NodeFacts("a").PodCidr("10.244.1.0/24"));
  EXPECT_EQ(node.kind, DecodedNode::Kind::kNotManaged);
  EXPECT_EQ(node.lease.node.name, "a");
  const DecodedNode ours = Decode(NodeFacts("us").PodCidr("10.244.1.0/24"));
  ASSERT_TRUE(ours.own.has_value());
  EXPECT_FALSE(ours.own->managed);
  EXPECT_EQ(ours.own->v4.subnet, testing::Prefix("10.244.1.0/24"));
}

// Upstream's rows "K annotations": prefix flannel.alpha.coreos.com, with /, /prefix, /prefix-.
TEST_P(NodeContract, KAnnotationsPrefix) {
  const std::pair<const char*, const char*> rows[] = {
      {"flannel.alpha.coreos.com", "flannel.alpha.coreos.com/"},
      {"flannel.alpha.coreos.com/", "flannel.alpha.coreos.com/"},
      {"flannel.alpha.coreos.com/prefix", "flannel.alpha.coreos.com/prefix-"},
      {"flannel.alpha.coreos.com/prefix-", "flannel.alpha.coreos.com/prefix-"},
      {"org.com", "org.com/"},
  };
  for (const auto& [prefix, full] : rows) {
    NodeFacts node("a");
    node.PodCidr("10.244.1.0/24");
    node.ForeignAnnotation(full + std::string("kube-subnet-manager"), "true");
    node.ForeignAnnotation(full + std::string("public-ip"), "192.0.2.1");
    node.ForeignAnnotation("another.org/public-ip", "192.0.2.9");
    const DecodedNode decoded = Decode(node, *AnnotationKeys::Of(prefix));
    ASSERT_EQ(decoded.kind, DecodedNode::Kind::kLease) << prefix;
    EXPECT_EQ(decoded.lease.v4->public_ip, testing::Address("192.0.2.1")) << prefix;
  }
  EXPECT_EQ(Decode(a, *AnnotationKeys::Of("org.com/x")).kind, DecodedNode::Kind::kNotManaged);
}

struct CidrRow {
  const char* description;
  const char* pod_cidr;
  std::vector<std::string> pod_cidrs;
  const char* v4;
  const char* v6;
};

TEST_P(NodeContract, PodCidrs) {
  const CidrRow rows[] = {
      {"podCIDR alone", "10.244.1.0/24", {}, "10.244.1.0/24", ""},
      {"podCIDRs before podCIDR", "10.244.9.0/24", {"10.244.1.0/24"}, "10.244.1.0/24", ""},
      {"podCIDRs alone", "", {"10.244.1.0/24"}, "10.244.1.0/24", ""},
      {"v6 first", "", {"fd00::/64", "10.244.1.0/24"}, "10.244.1.0/24", "fd00::/64"},
      {"two of one family: the first", "", {"10.244.1.0/24", "10.244.2.0/24"}, "10.244.1.0/24", ""},
      {"v6 only", "fd00:10:244:1::/64", {}, "", "fd00:10:244:1::/64"},
      {"host bits are cleared", "10.244.1.7/24", {}, "10.244.1.0/24", ""},
  };
  for (const CidrRow& row : rows) {
    SCOPED_TRACE(row.description);
    NodeFacts node = NodeFacts("a").Managed().PodCidr(row.pod_cidr);
    node.pod_cidrs = row.pod_cidrs;
    const lease::Lease lease = LeaseOf(node);
    EXPECT_EQ(lease.v4 ? lease.v4->subnet.ToString() : "", row.v4);
    EXPECT_EQ(lease.v6 ? lease.v6->subnet.ToString() : "", row.v6);
  }
}

// Upstream's rule: three entries and more are an error.
TEST_P(NodeContract, PodCidrsOfThreeEntriesAreRefused) {
  for (const std::size_t count : {3, 4, 100}) {
    EXPECT_EQ(
        Refusal(
            NodeFacts("a").Managed().PodCidrs(std::vector<std::string>(count, "10.244.1.0/24"))),
        absl::StrCat("a: spec.podCIDRs has ", count, " entries: one for each family is the most"));
  }
}

TEST_P(NodeContract, AbsentMembersAreStatesNotErrors) {
  const lease::Lease lease = LeaseOf(NodeFacts("a").Managed().PodCidrs({"10.244.1.0/24"}));
  EXPECT_EQ(lease.backend_type, "");
  EXPECT_EQ(lease.created, 0);
  EXPECT_FALSE(lease.v4->public_ip.has_value());
  EXPECT_FALSE(lease.v4->vni.has_value());
  EXPECT_FALSE(lease.v4->vtep_mac.has_value());
}

TEST_P(NodeContract, OtherBackendsKeepTheirDataToThemselves) {
  for (const char* data : {"null", R"({"PublicKey":"x"})", "rubbish"}) {
    const lease::Lease lease = LeaseOf(NodeFacts("a")
                                           .Managed()
                                           .PodCidrs({"10.244.1.0/24"})
                                           .Annotation("backend-type", "host-gw")
                                           .Annotation("backend-data", data)
                                           .Annotation("public-ip", "192.0.2.1"));
    EXPECT_EQ(lease.backend_type, "host-gw");
    EXPECT_FALSE(lease.v4->vni.has_value());
  }
}

TEST_P(NodeContract, AFamilyWithoutPodCidrIsNotLookedAt) {
  EXPECT_FALSE(
      LeaseOf(
          NodeFacts("a").Managed().PodCidrs({"10.244.1.0/24"}).Annotation("public-ipv6", "rubbish"))
          .v6.has_value());
}

NodeFacts WithData(const char* data) {
  return NodeFacts("a").Leased("10.244.1.0/24", "192.0.2.1").Annotation("backend-data", data);
}

// Upstream's row "peer with {"VtepMAC":"..."} (old Linux)": no VNI; the table says that no peer can
// be made of it.
TEST_P(NodeContract, PeerOfOldLinuxHasAMacAndNoVni) {
  const lease::Lease lease = LeaseOf(WithData(R"({"VtepMAC":"ee:37:da:54:ca:7d"})"));
  EXPECT_FALSE(lease.v4->vni.has_value());
  EXPECT_EQ(lease.v4->vtep_mac, testing::Mac("ee:37:da:54:ca:7d"));
}

TEST_P(NodeContract, PeerMacWithHyphensOrUpperCaseIsAccepted) {
  for (const char* data : {R"({"VNI":4096,"VtepMAC":"00-15-5D-8C-2F-93"})",
                           R"({"VNI":4096,"VtepMAC":"00:15:5D:8C:2F:93"})",
                           R"({ "VNI": 4096, "VtepMAC": "0015.5d8c.2f93" })"}) {
    EXPECT_EQ(LeaseOf(WithData(data)).v4->vtep_mac, testing::Mac("00:15:5d:8c:2f:93")) << data;
  }
}

// The first of upstream's two patches on Windows.
TEST_P(NodeContract, AnEmptyMacIsAbsent) {
  const lease::Lease lease = LeaseOf(WithData(R"({"VNI":4096,"VtepMAC":""})"));
  EXPECT_EQ(lease.v4->vni, 4096u);
  EXPECT_FALSE(lease.v4->vtep_mac.has_value());
}

TEST_P(NodeContract, RefusedByFieldAndValue) {
  const auto managed = [] {
    return NodeFacts("n1").Managed().Annotation("backend-type", "vxlan").PodCidr("10.244.1.0/24");
  };
  const std::pair<NodeFacts, const char*> rows[] = {
      {NodeFacts(""), ": metadata.name \"\" is not a node name"},
      {NodeFacts("#7"), ": metadata.name \"#7\" is not a node name"},
      {NodeFacts("a b"), ": metadata.name \"a b\" is not a node name"},
      {NodeFacts("n1").Uid("a b"), "n1: metadata.uid \"a b\" is not a UID"},
      {NodeFacts("n1").Managed(), "n1: spec.podCIDR is not assigned"},
      {managed().PodCidr("10.244.300.0/24"),
       "n1: spec.podCIDR \"10.244.300.0/24\" is not an address block"},
      {managed().PodCidr("10.244.1.0"), "is not an address block"},
      {managed().PodCidr("::ffff:10.244.1.0/120"), "is not an address block"},
      {managed().PodCidrs({"10.244.1.0/24", ""}), "n1: spec.podCIDRs entry \"\" is not an address"},
      {managed().Annotation("public-ip", "192.0.2.1/24"),
       "public-ip \"192.0.2.1/24\" is not an IPv4 address"},
      {managed().Annotation("public-ip", "::ffff:192.0.2.1"), "is not an IPv4 address"},
      {managed().Annotation("public-ip", "224.0.0.1"), "is not an address of one host"},
      {managed().PodCidr("fd00::/64").Annotation("public-ipv6", "192.0.2.1"),
       "is not an IPv6 address"},
      {managed().Annotation("backend-data", R"({"VNI":70000000})"),
       "n1: annotation flannel.alpha.coreos.com/backend-data: VNI is 70000000, more than 24 bits"},
      {managed().PodCidr("fd00::/64").Annotation("backend-v6-data", R"({"VtepMAC":"x"})"),
       "n1: annotation flannel.alpha.coreos.com/backend-v6-data: VtepMAC \"x\""},
  };
  for (const auto& [node, refusal] : rows) EXPECT_THAT(Refusal(node), HasSubstr(refusal));
}

TEST_P(NodeContract, AnObjectThatIsNoNodeIsRefused) {
  const std::string event =
      GetParam() == Encoding::kProtobuf
          ? testing::WatchFrameProtobuf("ADDED",
                                        testing::ProtobufEnvelope("Pod", testing::NodeProtobuf(a)))
          : testing::WatchEventJson("ADDED", R"({"kind":"Pod","metadata":{"name":"a"}})");
  EXPECT_THAT(Watch(event)[0], HasSubstr("refused: kind is \"Pod\", not \"Node\""));
}

TEST_P(NodeContract, ForeignTextIsBoundedInMessages) {
  const std::string refusal = Refusal(NodeFacts("a").Managed().PodCidr(std::string(100'000, 'x')));
  EXPECT_LT(refusal.size(), 300u);
  EXPECT_THAT(refusal, HasSubstr("(100000 octets)"));
}

// ---- our own Node

TEST_P(NodeContract, OursBeforeItHasPublished) {
  const DecodedNode node = Decode(NodeFacts("us").PodCidrs({"10.244.0.0/24", "fd00::/64"}));
  EXPECT_EQ(node.kind, DecodedNode::Kind::kNotManaged);
  ASSERT_TRUE(node.own.has_value());
  EXPECT_FALSE(node.own->managed);
  EXPECT_EQ(node.own->v4.subnet, testing::Prefix("10.244.0.0/24"));
  EXPECT_EQ(node.own->v6.subnet, testing::Prefix("fd00::/64"));
  EXPECT_FALSE(node.own->v4.published_vtep_mac.has_value());
  EXPECT_THAT(node.own->problems, IsEmpty());
}

TEST_P(NodeContract, WhatOursPublishedAndWhatItIsTold) {
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

TEST_P(NodeContract, WhatOfOursCannotBeReadIsAProblemAndAbsent) {
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

std::string EncodingName(const ::testing::TestParamInfo<Encoding>& info) {
  return info.param == Encoding::kProtobuf ? "Protobuf" : "Json";
}

constexpr Encoding kEncodings[] = {Encoding::kProtobuf, Encoding::kJson};
INSTANTIATE_TEST_SUITE_P(, AnswerContract, ::testing::ValuesIn(kEncodings), EncodingName);
INSTANTIATE_TEST_SUITE_P(, NodeContract, ::testing::ValuesIn(kEncodings), EncodingName);

}  // namespace
}  // namespace weft::kube
