// SPDX-License-Identifier: Apache-2.0
#include "control/kube/publisher.h"

#include "tests/control/kube/publisher_fixture.h"

namespace weft::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kNever = -1ms;

// ---- once and complete

TEST_F(PublisherTest, NothingIsSentBeforeOurNodeExists) {
  publisher.SetDesired(OurPublication());
  EXPECT_EQ(Body(), "");
  publisher.OnOwnNode(std::nullopt);
  EXPECT_EQ(Body(), "");
  EXPECT_EQ(Wait(), kNever);
  EXPECT_FALSE(publisher.published());
  EXPECT_EQ(publisher.condition(), "");
}

TEST_F(PublisherTest, NothingIsSentBeforeTheFactsAreKnown) {
  publisher.OnOwnNode(BareNode());
  publisher.SetReady(true);
  EXPECT_EQ(Body(), "");
  EXPECT_EQ(Wait(), kNever);
  EXPECT_FALSE(publisher.published());
  EXPECT_EQ(publisher.condition(), "");
}

// Upstream publishes an empty MAC first; peers that start then have no route to us.
TEST_F(PublisherTest, NeverAnEmptyMac) {
  publisher.OnOwnNode(BareNode());
  Publication publication = OurPublication();
  publication.v4->vtep_mac.reset();
  publisher.SetDesired(publication);
  EXPECT_EQ(Body(), "");
  EXPECT_THAT(publisher.condition(), HasSubstr("a VTEP MAC is missing"));
  publication = OurPublication();
  publication.v6 = {weft::testing::Address("fd00::1"), MacAddress()};
  publisher.SetDesired(publication);
  EXPECT_EQ(Body(), "");
}

// Row "Node with no annotations map".
TEST_F(PublisherTest, ABareNodeGetsAllInOnePatch) {
  publisher.SetDesired(OurPublication());
  publisher.OnOwnNode(BareNode());
  const auto request = publisher.Next();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "PATCH");
  EXPECT_EQ(request->target, "/api/v1/nodes/win1/status");
  EXPECT_EQ(request->content_type, "application/strategic-merge-patch+json");
  EXPECT_EQ(request->accept, "application/json");
  EXPECT_EQ(request->body, kWholePatch);
  EXPECT_EQ(Body(), "") << "an answer is awaited";
  EXPECT_EQ(Wait(), kNever);
  Accept();
  EXPECT_FALSE(publisher.published()) << "the watch has not shown it";
  publisher.OnOwnNode(PublishedNode());
  EXPECT_TRUE(publisher.published());
  EXPECT_EQ(Body(), "");
  EXPECT_EQ(Wait(), kNever);
}

// Row "healthy node, restart flanneld".
TEST_F(PublisherTest, AHealthyNodeIsNotTouched) {
  publisher.OnOwnNode(PublishedNode());
  publisher.SetDesired(OurPublication());
  EXPECT_EQ(Body(), "");
  EXPECT_EQ(Wait(), kNever);
  EXPECT_TRUE(publisher.published());
}

TEST_F(PublisherTest, OnlyDifferencesAreSent) {
  const struct {
    void (*damage)(lease::OwnNode&);
    std::string body;
  } rows[] = {
      {[](lease::OwnNode& node) { node.v4.backend_data = R"({"VNI":4096,"VtepMAC":""})"; },
       PatchOf("backend-data", R"({\"VNI\":4096,\"VtepMAC\":\"00:15:5d:8c:2f:93\"})")},
      {[](lease::OwnNode& node) { node.backend_type = "VXLAN"; }, PatchOf("backend-type", "vxlan")},
      {[](lease::OwnNode& node) { node.managed = false; }, PatchOf("kube-subnet-manager", "true")},
      {[](lease::OwnNode& node) { node.v4.public_ip = "10.0.0.1"; },
       PatchOf("public-ip", "192.168.1.10")},
      // The same to us, another text to peers.
      {[](lease::OwnNode& node) {
         node.v4.backend_data = R"({"VtepMAC":"00:15:5d:8c:2f:93","VNI":4096})";
       },
       PatchOf("backend-data", R"({\"VNI\":4096,\"VtepMAC\":\"00:15:5d:8c:2f:93\"})")},
  };
  for (const auto& row : rows) {
    Publisher fresh = Make(Options());
    lease::OwnNode node = PublishedNode();
    row.damage(node);
    fresh.SetDesired(OurPublication());
    fresh.OnOwnNode(node);
    const auto request = fresh.Next();
    ASSERT_TRUE(request) << row.body;
    EXPECT_EQ(request->body, row.body);
  }
}

TEST_F(PublisherTest, DualStackIsOnePatchToo) {
  Publication publication = OurPublication();
  publication.v6 = {weft::testing::Address("fd00:1::11"), weft::testing::Mac("5a:0c:11:22:33:44")};
  publisher.SetDesired(publication);
  publisher.OnOwnNode(PublishedNode());
  EXPECT_EQ(Body(), R"({"metadata":{"annotations":{)"
                    R"("flannel.alpha.coreos.com/backend-v6-data":)"
                    R"("{\"VNI\":4096,\"VtepMAC\":\"5a:0c:11:22:33:44\"}",)"
                    R"("flannel.alpha.coreos.com/public-ipv6":"fd00:1::11"}}})");
}

TEST_F(PublisherTest, AnotherPrefixMeansOtherKeys) {
  Publisher::Options options = Options();
  options.keys = *AnnotationKeys::Of("org.com/net");
  publisher = Make(options);
  publisher.SetDesired(OurPublication());
  lease::OwnNode node = PublishedNode();
  node.v4.public_ip.clear();
  publisher.OnOwnNode(node);
  EXPECT_EQ(Body(), R"({"metadata":{"annotations":{"org.com/net-public-ip":"192.168.1.10"}}})");
}

TEST_F(PublisherTest, TheNodesNameIsEscapedInThePath) {
  Publisher::Options options = Options();
  options.node_name = "win 1/x";
  publisher = Make(options);
  publisher.SetDesired(OurPublication());
  publisher.OnOwnNode(BareNode());
  EXPECT_EQ(publisher.Next()->target, "/api/v1/nodes/win%201%2Fx/status");
}

// ---- never blanked

TEST_F(PublisherTest, ValuesThatAreNoLongerKnownStay) {
  StartPublished();
  publisher.SetDesired(std::nullopt);
  EXPECT_EQ(Body(), "");
  EXPECT_FALSE(publisher.published());
  lease::OwnNode node = PublishedNode();
  node.v4.backend_data.clear();
  publisher.OnOwnNode(node);
  EXPECT_EQ(Body(), "");
  EXPECT_EQ(publisher.condition(), "");
}

TEST_F(PublisherTest, AnUnusedFamilyIsNotTouched) {
  lease::OwnNode node = PublishedNode();
  node.v6.backend_data = R"({"VNI":1,"VtepMAC":""})";
  node.v6.public_ip = "fd00::9";
  publisher.SetDesired(OurPublication());
  publisher.OnOwnNode(node);
  EXPECT_EQ(Body(), "");
  EXPECT_TRUE(publisher.published());
}

TEST_F(PublisherTest, PublishedIPv6IsRemovedWhereIPv6IsOff) {
  lease::OwnNode node = PublishedNode();
  node.v6.backend_data = R"({"VNI":4096,"VtepMAC":"5a:0c:11:22:33:44"})";
  node.v6.public_ip = "fd00:1::11";
  Publication publication = OurPublication();
  publication.without_v6 = true;
  publisher.SetDesired(publication);
  publisher.OnOwnNode(node);
  EXPECT_EQ(Body(), R"({"metadata":{"annotations":{)"
                    R"("flannel.alpha.coreos.com/backend-v6-data":null,)"
                    R"("flannel.alpha.coreos.com/public-ipv6":null}}})");
  Accept();
  publisher.OnOwnNode(PublishedNode());
  EXPECT_TRUE(publisher.published());
  EXPECT_EQ(Body(), "");
}

// ---- after a success, the watch

TEST_F(PublisherTest, OneDifferenceIsSentOnce) {
  publisher.SetDesired(OurPublication());
  publisher.OnOwnNode(BareNode());
  EXPECT_EQ(Body(), kWholePatch);
  Accept();
  EXPECT_EQ(Body(), "");
  EXPECT_EQ(Wait(), 10s);
  publisher.OnOwnNode(BareNode());  // a heartbeat that was on its way
  EXPECT_EQ(Body(), "");
  clock.Advance(9s);
  publisher.OnOwnNode(PublishedNode());
  clock.Advance(1h);
  EXPECT_EQ(Body(), "");
  EXPECT_EQ(Wait(), kNever);
  EXPECT_EQ(publisher.condition(), "");
}

TEST_F(PublisherTest, TheWatchMayBeQuickerThanTheAnswer) {
  publisher.SetDesired(OurPublication());
  publisher.OnOwnNode(BareNode());
  EXPECT_EQ(Body(), kWholePatch);
  publisher.OnOwnNode(PublishedNode());
  EXPECT_TRUE(publisher.published());
  Accept();
  EXPECT_EQ(Wait(), kNever);
  clock.Advance(1h);
  EXPECT_EQ(Body(), "");
}

TEST_F(PublisherTest, APatchThatTheWatchDoesNotShowIsSentAgainWithBackOff) {
  publisher.SetDesired(OurPublication());
  publisher.OnOwnNode(BareNode());
  for (const auto wait : {10s, 20s, 40s, 80s, 160s, 320s, 320s}) {
    EXPECT_EQ(Body(), kWholePatch);
    Accept();
    EXPECT_EQ(Wait(), wait);
    clock.Advance(wait - 1ms);
    EXPECT_EQ(Body(), "");
    clock.Advance(1ms);
  }
  EXPECT_EQ(Body(), kWholePatch);
  EXPECT_THAT(publisher.condition(),
              HasSubstr("accepted our annotations of node \"win1\" 7 times, but the Node does not "
                        "show them"));
  Accept();
  publisher.OnOwnNode(PublishedNode());
  EXPECT_EQ(publisher.condition(), "");
  EXPECT_TRUE(publisher.published());
}

TEST_F(PublisherTest, APatchShownLateEndsTheCondition) {
  publisher.SetDesired(OurPublication());
  publisher.OnOwnNode(BareNode());
  EXPECT_EQ(Body(), kWholePatch);
  Accept();
  clock.Advance(10s);
  EXPECT_EQ(Body(), kWholePatch);
  Refuse(503);
  EXPECT_NE(publisher.condition(), "");
  publisher.OnOwnNode(PublishedNode());
  EXPECT_EQ(publisher.condition(), "");
  EXPECT_EQ(Wait(), kNever);
}

// ---- the desired state changes

TEST_F(PublisherTest, AnotherMacIsPublishedWithoutWaitingForTheWatch) {
  publisher.SetDesired(OurPublication());
  publisher.OnOwnNode(BareNode());
  EXPECT_EQ(Body(), kWholePatch);
  Accept();
  publisher.SetDesired(OurPublication("02:00:00:00:00:01"));
  EXPECT_EQ(Body(), PatchOf("backend-data", R"({\"VNI\":4096,\"VtepMAC\":\"02:00:00:00:00:01\"})"));
}

TEST_F(PublisherTest, ChangedAndChangedBackWithinTheWatchsDelay) {
  StartPublished();
  publisher.SetDesired(OurPublication("02:00:00:00:00:01"));
  EXPECT_EQ(Body(), PatchOf("backend-data", R"({\"VNI\":4096,\"VtepMAC\":\"02:00:00:00:00:01\"})"));
  Accept();
  publisher.SetDesired(OurPublication());
  EXPECT_EQ(Body(), PatchOf("backend-data", R"({\"VNI\":4096,\"VtepMAC\":\"00:15:5d:8c:2f:93\"})"));
}

TEST_F(PublisherTest, ChangedWhileAnAnswerIsAwaited) {
  publisher.SetDesired(OurPublication());
  publisher.OnOwnNode(BareNode());
  EXPECT_EQ(Body(), kWholePatch);
  publisher.SetDesired(OurPublication("02:00:00:00:00:01"));
  EXPECT_EQ(Body(), "");
  Accept();
  EXPECT_EQ(Body(), PatchOf("backend-data", R"({\"VNI\":4096,\"VtepMAC\":\"02:00:00:00:00:01\"})"));
}

// ---- public-ip-overwrite

// Row "annotation public-ip-overwrite".
TEST_F(PublisherTest, AnOverwriteIsPublishedInsteadOfTheDetectedAddress) {
  StartPublished();
  lease::OwnNode node = PublishedNode();
  node.v4.public_ip_overwrite = "172.18.0.2";
  publisher.OnOwnNode(node);
  EXPECT_EQ(Body(), PatchOf("public-ip", "172.18.0.2"));
  Accept();
  node.v4.public_ip = "172.18.0.2";
  publisher.OnOwnNode(node);
  EXPECT_TRUE(publisher.published());
  EXPECT_EQ(Body(), "");
  EXPECT_EQ(publisher.condition(), "");
  node.v4.public_ip_overwrite.clear();
  publisher.OnOwnNode(node);
  EXPECT_EQ(Body(), PatchOf("public-ip", "192.168.1.10"));
  EXPECT_EQ(publisher.condition(), "") << "an operator's change is no conflict";
  for (const char* address : {"172.18.0.3", "172.18.0.4", "172.18.0.5"}) {
    node.v4.public_ip_overwrite = node.v4.public_ip = address;
    publisher.OnOwnNode(node);
    EXPECT_EQ(publisher.condition(), "") << "nor that of both";
  }
}

TEST_F(PublisherTest, AnInvalidOverwriteIsAConditionAndTheDetectedAddressStays) {
  lease::OwnNode node = PublishedNode();
  node.v4.public_ip_overwrite = "nat.example";
  publisher.SetDesired(OurPublication());
  publisher.OnOwnNode(node);
  EXPECT_EQ(Body(), "");
  EXPECT_TRUE(publisher.published());
  EXPECT_THAT(publisher.condition(), AllOf(HasSubstr("public-ip-overwrite \"nat.example\""),
                                           HasSubstr("peers receive 192.168.1.10")));
}

}  // namespace
}  // namespace weft::kube
