// SPDX-License-Identifier: Apache-2.0
// The decoding of one Node: one suite, every case in both encodings. Upstream v0.28.9's rows, and
// our own.
#include <iterator>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/control/kube/node_contract.h"
#include "tests/support/lease_makers.h"
#include "tests/support/seed.h"

namespace weft::kube {
namespace {

using ::testing::HasSubstr;
using testing::NodeFacts;

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

TEST_P(NodeContract, ALeaseDoesNotAffectTheNext) {
  EXPECT_EQ(LinesOf(GetParam(), AnswerKind::kList,
                    answers.List({a, NodeFacts("bare").Managed().PodCidr("10.244.9.0/24"),
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

TEST_P(NodeContract, TheInternalAddressesOfOurOwnNode) {
  const auto with = [](const char* name) {
    return NodeFacts(name)
        .Address("Hostname", "192.0.2.7")
        .Address("InternalIP", "192.0.2.8")
        .Address("ExternalIP", "198.51.100.1")
        .Address("InternalIP", "no address")
        .Address("InternalIP", "fd00::8");
  };
  EXPECT_EQ(Decode(with("us")).own->internal_ips,
            (std::vector{testing::Address("192.0.2.8"), testing::Address("fd00::8")}));
  EXPECT_THAT(Decode(NodeFacts("us")).own->internal_ips, ::testing::IsEmpty());
  NodeFacts many("us");
  for (int i = 0; i < 100; ++i) many.Address("InternalIP", absl::StrCat("192.0.2.", i));
  EXPECT_THAT(Decode(many).own->internal_ips, ::testing::SizeIs(16));
}

// Whatever annotation it comes from.
TEST_P(NodeContract, APublicIpThatTheNodeReportsIsANodesAddress) {
  struct Row {
    const char* type;
    const char* address;
    bool node_address;
  };
  for (const Row& row : {Row{"InternalIP", "192.0.2.7", true}, Row{"ExternalIP", "192.0.2.7", true},
                         Row{"Hostname", "192.0.2.7", false}, Row{"InternalIP", "192.0.2.8", false},
                         Row{"InternalIP", "", false}}) {
    NodeFacts facts = NodeFacts("a").Leased("10.244.1.0/24", "192.0.2.7");
    facts.Address("InternalIP", "fd00::8").Address(row.type, row.address).Large();
    EXPECT_EQ(Decode(facts).lease.v4->node_address, row.node_address)
        << row.type << " " << row.address;
  }
  NodeFacts v6 = NodeFacts("a").Managed().PodCidrs({"fd00:1::/64"});
  v6.Annotation("public-ipv6", "2001:db8::7").Address("InternalIP", "2001:db8:0::7");
  EXPECT_TRUE(Decode(v6).lease.v6->node_address) << "in another form";
}

TEST_P(NodeContract, ReadinessIsTheConditionReady) {
  const auto facts = [] { return NodeFacts("a").Leased("10.244.1.0/24", "192.0.2.7"); };
  EXPECT_EQ(Decode(facts()).lease.readiness, std::nullopt);
  EXPECT_EQ(Decode(facts().Is("DiskPressure", "True", 7)).lease.readiness, std::nullopt);
  for (const char* const status : {"True", "False", "Unknown"}) {
    EXPECT_EQ(Decode(facts()
                         .Is("DiskPressure", "False", 7)
                         .Is("Ready", status, 1'795'046'400)
                         .Address("InternalIP", "192.0.2.7")
                         .Large())
                  .lease.readiness,
              (lease::Readiness{std::string_view(status) == "True", 1'795'046'400}));
  }
}

// k3s sets the first annotation on every node, mostly to the node's own address.
TEST_P(NodeContract, AnOverwriteToAnAddressThatTheNodeDoesNotHaveMeansNat) {
  struct Row {
    const char* overwrite;
    const char* internal_ip;
    bool behind_nat;
    const char* annotation = "public-ip-overwrite";
  };
  for (const Row& row : {Row{"", "10.0.0.7", false}, Row{"203.0.113.7", "10.0.0.7", true},
                         Row{"203.0.113.7", "203.0.113.7", false}, Row{"203.0.113.7", "", true},
                         Row{"203.0.113.7", "10.0.0.7", true, "node-public-ip"},
                         Row{"203.0.113.7", "203.0.113.7", false, "node-public-ip"}}) {
    NodeFacts facts = NodeFacts("a").Managed().PodCidr("10.244.1.0/24");
    facts.Annotation("public-ip", "203.0.113.7");
    if (*row.overwrite != '\0') facts.Annotation(row.annotation, row.overwrite);
    facts.Address("InternalIP", "10.0.0.6").Address("ExternalIP", "203.0.113.7");
    if (*row.internal_ip != '\0') facts.Address("InternalIP", row.internal_ip);
    EXPECT_EQ(Decode(facts).lease.v4->behind_nat, row.behind_nat)
        << row.overwrite << " " << row.internal_ip;
  }
  NodeFacts unpublished = NodeFacts("a").Managed().PodCidr("10.244.1.0/24");
  unpublished.Annotation("public-ip-overwrite", "203.0.113.7");
  EXPECT_FALSE(Decode(unpublished).lease.v4->behind_nat);
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
      {"podCIDR of the other family", "fd00::/64", {"10.244.1.0/24"}, "10.244.1.0/24", ""},
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

TEST_P(NodeContract, DataOfOtherBackendsIsNotRead) {
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

TEST_P(NodeContract, AFamilyWithoutPodCidrIsNotInspected) {
  EXPECT_FALSE(
      LeaseOf(
          NodeFacts("a").Managed().PodCidrs({"10.244.1.0/24"}).Annotation("public-ipv6", "rubbish"))
          .v6.has_value());
}

NodeFacts WithData(const char* data) {
  return NodeFacts("a").Leased("10.244.1.0/24", "192.0.2.1").Annotation("backend-data", data);
}

// Upstream's row "peer with {"VtepMAC":"..."} (old Linux)": no VNI; the lease table decides that it
// is no peer.
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

// Upstream does not read a family that is off, and gives both up if one that is on is bad.
TEST_P(NodeContract, ABadHalfDoesNotCostTheOther) {
  struct Row {
    const char *key, *value;
    IpFamily unread;
    const char* reason;
  };
  for (const Row& row :
       {Row{"public-ipv6", "2001:db8::x", IpFamily::kV6,
            "public-ipv6 \"2001:db8::x\" is not an IPv6 address; the IPv4 half is used"},
        Row{"backend-v6-data", R"({"VNI":4096,"VtepMAC":7})", IpFamily::kV6, "backend-v6-data: "},
        Row{"public-ip", "300.0.2.4", IpFamily::kV4,
            "public-ip \"300.0.2.4\" is not an IPv4 address; the IPv6 half is used"},
        Row{"backend-data", "{", IpFamily::kV4, "backend-data: \"{\" is not JSON"}}) {
    SCOPED_TRACE(row.key);
    NodeFacts facts = NodeFacts("n4").Managed().PodCidrs({"10.81.4.0/24", "fd81:4::/64"});
    facts.Annotation("backend-type", "vxlan");
    const std::pair<const char*, const char*> good[] = {
        {"public-ip", "192.0.2.4"},
        {"public-ipv6", "2001:db8::4"},
        {"backend-data", R"({"VNI":4096,"VtepMAC":"02:00:00:00:04:04"})"},
        {"backend-v6-data", R"({"VNI":4096,"VtepMAC":"02:00:00:00:04:06"})"}};
    for (const auto& [key, value] : good)
      facts.Annotation(key, std::string_view(key) == row.key ? row.value : value);
    const DecodedNode node = Decode(facts);
    EXPECT_EQ(node.kind, DecodedNode::Kind::kLease);
    EXPECT_EQ(node.lease.unread, row.unread);
    EXPECT_THAT(node.refusal, HasSubstr(row.reason));
    const bool v4 = row.unread == IpFamily::kV6;  // is left
    EXPECT_EQ(node.lease.v4, v4 ? std::optional(testing::HalfLease("10.81.4.0/24", "192.0.2.4",
                                                                   "02:00:00:00:04:04"))
                                : std::nullopt);
    EXPECT_EQ(node.lease.v6, v4 ? std::nullopt
                                : std::optional(testing::HalfLease("fd81:4::/64", "2001:db8::4",
                                                                   "02:00:00:00:04:06")));
    facts.Annotation(v4 ? "public-ip" : "public-ipv6", "rubbish");
    EXPECT_THAT(Refusal(facts), HasSubstr("is not ")) << "both";
    EXPECT_EQ(Decode(facts).lease.unread, std::nullopt);
  }
}

TEST_P(NodeContract, AnObjectThatIsNoNodeIsRefused) {
  const std::string event =
      GetParam() == Encoding::kProtobuf
          ? testing::WatchFrameProtobuf("ADDED",
                                        testing::ProtobufEnvelope("Pod", testing::NodeProtobuf(a)))
          : testing::WatchEventJson("ADDED", R"({"kind":"Pod","metadata":{"name":"a"}})");
  EXPECT_THAT(LinesOf(GetParam(), AnswerKind::kWatch, event)[0],
              HasSubstr("refused: kind is \"Pod\", not \"Node\""));
}

TEST_P(NodeContract, ForeignTextIsBoundedInMessages) {
  const std::string refusal = Refusal(NodeFacts("a").Managed().PodCidr(std::string(100'000, 'x')));
  EXPECT_LT(refusal.size(), 300u);
  EXPECT_THAT(refusal, HasSubstr("(100000 bytes)"));
}

// Upstream's row "K fuzz: arbitrary node annotations/podCIDRs": no crash. And nothing but the
// encoding depends on the encoding.
TEST(NodeInBothEncodings, KFuzzArbitraryNodeAnnotationsAndPodCidrs) {
  const std::uint32_t seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto any = [&random] {
    static constexpr const char* kParts[] = {"10.",
                                             "244",
                                             "/24",
                                             "fd00::",
                                             ":",
                                             "{",
                                             "}",
                                             "\"",
                                             "VNI",
                                             "VtepMAC",
                                             "02:00:00:00:00:01",
                                             "4096",
                                             ",",
                                             "true",
                                             "vxlan",
                                             "\\",
                                             " ",
                                             "null",
                                             "10.244.1.0/24",
                                             "-"};
    std::string text;
    for (auto parts = random() % 6; parts > 0; --parts) {
      text += kParts[random() % std::size(kParts)];
    }
    return text;
  };
  for (int round = 0; round < 3000; ++round) {
    NodeFacts node(random() % 2 == 0 ? "us" : any());
    if (random() % 4 != 0) node.Managed();
    for (const char* key : {"backend-type", "backend-data", "backend-v6-data", "public-ip",
                            "public-ipv6", "node-public-ip", "public-ip-overwrite"}) {
      if (random() % 2 == 0) node.Annotation(key, any());
    }
    if (random() % 2 == 0) node.Annotation("backend-type", "vxlan");
    node.pod_cidr = any();
    for (auto cidrs = random() % 4; cidrs > 0; --cidrs) node.pod_cidrs.push_back(any());

    AnswerRecorder recorder;
    const AnnotationKeys keys;
    for (const Encoding encoding : kEncodings) {
      const auto reader = MakeAnswerReader(encoding, AnswerKind::kWatch, keys, "us", recorder);
      ASSERT_TRUE(reader->Read(testing::Answers(encoding).Event("ADDED", node)).ok());
    }
    const DecodedNode &one = recorder.nodes.at(0), &other = recorder.nodes.at(1);
    ASSERT_EQ(recorder.lines[0], recorder.lines[1]);
    ASSERT_EQ(one.own, other.own);
    if (one.kind == DecodedNode::Kind::kLease) ASSERT_EQ(one.lease, other.lease);
  }
}

INSTANTIATE_TEST_SUITE_P(, NodeContract, ::testing::ValuesIn(kEncodings), EncodingName);

}  // namespace
}  // namespace weft::kube
