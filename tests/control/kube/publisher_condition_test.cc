// SPDX-License-Identifier: Apache-2.0
// The condition NetworkUnavailable.
#include "tests/control/kube/publisher_fixture.h"

namespace weft::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr char kCondition[] =
    R"({"status":{"conditions":[{"type":"NetworkUnavailable","status":"False",)"
    R"("lastHeartbeatTime":"2026-08-14T12:00:00Z","lastTransitionTime":"2026-08-14T12:00:00Z",)"
    R"("reason":"FlannelIsUp","message":"Flannel is running on this node"}]}})";

TEST_F(PublisherTest, TheConditionIsSetOnceReady) {
  StartPublished();
  publisher.SetReady(true);
  const auto request = publisher.Next();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "PATCH");
  EXPECT_EQ(request->target, "/api/v1/nodes/win1/status");
  EXPECT_EQ(request->content_type, "application/strategic-merge-patch+json");
  EXPECT_EQ(request->body, kCondition);
  EXPECT_EQ(Body(), "");
  Accept();
  EXPECT_EQ(Body(), "");
  publisher.SetReady(false);
  publisher.SetReady(true);
  publisher.OnOwnNode(PublishedNode());
  EXPECT_EQ(Body(), "");
  EXPECT_EQ(publisher.NextDeadline(), std::nullopt);
}

TEST_F(PublisherTest, TheConditionComesAfterTheAnnotations) {
  publisher.SetDesired(OurPublication());
  publisher.SetReady(true);
  publisher.OnOwnNode(BareNode());
  EXPECT_EQ(Body(), kWholePatch);
  Refuse(500);
  EXPECT_EQ(Body(), "");
  clock.Advance(1s);
  EXPECT_EQ(Body(), kWholePatch);
  Accept();
  EXPECT_EQ(Body(), kCondition);
}

TEST_F(PublisherTest, WithoutTheFlagNoCondition) {
  Publisher::Options options = Options();
  options.set_condition = false;
  publisher = Make(options);
  StartPublished();
  publisher.SetReady(true);
  EXPECT_EQ(Body(), "");
  EXPECT_EQ(publisher.NextDeadline(), std::nullopt);
}

// Upstream tries once.
TEST_F(PublisherTest, TheConditionIsTriedUntilItIsSet) {
  StartPublished();
  publisher.SetReady(true);
  for (const auto wait : {1s, 2s, 4s, 8s, 16s, 30s, 30s}) {
    EXPECT_EQ(Body(), kCondition);
    publisher.OnAnswer(absl::UnavailableError("connection refused"));
    EXPECT_THAT(publisher.condition(),
                HasSubstr("the condition NetworkUnavailable of node \"win1\" cannot be written: "
                          "connection refused"));
    EXPECT_EQ(Wait(), wait);
    EXPECT_EQ(Body(), "");
    clock.Advance(wait);
  }
  EXPECT_EQ(Body(), kCondition);
  Accept();
  EXPECT_EQ(publisher.condition(), "");
  EXPECT_TRUE(publisher.published());
}

TEST_F(PublisherTest, EveryNodeGetsTheConditionOnce) {
  StartPublished();
  publisher.SetReady(true);
  EXPECT_EQ(Body(), kCondition);
  Accept();
  publisher.OnOwnNode(std::nullopt);
  publisher.OnOwnNode(PublishedNode());
  EXPECT_EQ(Body(), "") << "the same Node, seen again";
  publisher.OnOwnNode(BareNode("uid-2"));
  EXPECT_EQ(Body(), kWholePatch);
  Accept();
  EXPECT_EQ(Body(), kCondition);
  Accept();
  EXPECT_EQ(Body(), "");
}

TEST_F(PublisherTest, AConditionOfTheNodeBeforeDoesNotCount) {
  StartPublished();
  publisher.SetReady(true);
  EXPECT_EQ(Body(), kCondition);
  publisher.OnOwnNode(PublishedNode("uid-2"));
  Accept();
  EXPECT_EQ(Body(), kCondition);
}

}  // namespace
}  // namespace weft::kube
