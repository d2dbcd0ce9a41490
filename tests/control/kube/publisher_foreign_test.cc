// SPDX-License-Identifier: Apache-2.0
// Foreign changes and API server errors that affect our lease.
#include "tests/control/kube/publisher_fixture.h"

namespace weft::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

// ---- foreign changes of our annotations

// Row "own annotations stripped / Node recreated".
TEST_F(PublisherTest, StrippedAnnotationsArePutBackAtOnce) {
  StartPublished();
  publisher.OnOwnNode(BareNode());
  EXPECT_FALSE(publisher.published());
  EXPECT_THAT(publisher.condition(),
              AllOf(HasSubstr("another program changed our annotations of node \"win1\""),
                    HasSubstr("flannel.alpha.coreos.com/backend-data removed"),
                    HasSubstr("put back"), ::testing::EndsWith("names the writer")));
  EXPECT_EQ(Body(), kWholePatch);
  Accept();
  publisher.OnOwnNode(PublishedNode());
  EXPECT_TRUE(publisher.published());
  EXPECT_EQ(publisher.condition(), "");
}

TEST_F(PublisherTest, AChangedAnnotationIsPutBackAlone) {
  StartPublished();
  lease::OwnNode node = PublishedNode();
  node.v4.public_ip = "10.9.9.9";
  publisher.OnOwnNode(node);
  EXPECT_THAT(publisher.condition(),
              HasSubstr("flannel.alpha.coreos.com/public-ip to \"10.9.9.9\""));
  EXPECT_EQ(Body(), PatchOf("public-ip", "192.168.1.10"));
}

TEST_F(PublisherTest, ARepeatedForeignRewriteIsAnsweredWithBackOffAndNamed) {
  StartPublished();
  lease::OwnNode theirs = PublishedNode();
  theirs.v4.public_ip = "10.9.9.9";
  for (const auto wait : {0ms, 100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms, 12800ms, 25600ms,
                          51200ms, 102400ms, 204800ms, 300000ms, 300000ms}) {
    publisher.OnOwnNode(theirs);
    EXPECT_EQ(Wait(), wait);
    if (wait > 0ms) {
      clock.Advance(wait - 1ms);
      EXPECT_EQ(Body(), "");
      clock.Advance(1ms);
    }
    EXPECT_EQ(Body(), PatchOf("public-ip", "192.168.1.10"));
    Accept();
    publisher.OnOwnNode(PublishedNode());
    EXPECT_TRUE(publisher.published());
  }
  EXPECT_THAT(publisher.condition(), HasSubstr("15 times so far"));
  clock.Advance(Publisher::kCalm);
  EXPECT_EQ(publisher.condition(), "");
  publisher.OnOwnNode(theirs);
  EXPECT_EQ(Wait(), 0s);
}

TEST_F(PublisherTest, OneChangeSeenTwiceIsCountedOnce) {
  StartPublished();
  publisher.OnOwnNode(BareNode());
  publisher.OnOwnNode(BareNode());
  EXPECT_EQ(Wait(), 0s);
}

TEST_F(PublisherTest, AForeignWriteOfTheDesiredValueIsNoCondition) {
  publisher.SetDesired(OurPublication());
  publisher.OnOwnNode(BareNode());
  publisher.OnOwnNode(PublishedNode());
  EXPECT_EQ(Body(), "");
  EXPECT_EQ(publisher.condition(), "");
}

// ---- the Node is deleted and re-created

TEST_F(PublisherTest, WithoutItsNodeThePublisherWaits) {
  StartPublished();
  publisher.OnOwnNode(std::nullopt);
  EXPECT_EQ(Body(), "");
  EXPECT_EQ(publisher.NextDeadline(), std::nullopt);
  EXPECT_FALSE(publisher.published());
  EXPECT_EQ(publisher.condition(), "");
}

// Row "own annotations stripped / Node recreated".
TEST_F(PublisherTest, ARecreatedNodeIsPublishedAtOnce) {
  StartPublished();
  publisher.OnOwnNode(std::nullopt);
  publisher.OnOwnNode(BareNode("uid-2"));
  EXPECT_EQ(Body(), kWholePatch);
  EXPECT_EQ(publisher.condition(), "") << "no annotation was rewritten";
}

TEST_F(PublisherTest, RecreatedWhileTheAnswerOrTheWatchIsAwaited) {
  publisher.SetDesired(OurPublication());
  publisher.OnOwnNode(BareNode());
  EXPECT_EQ(Body(), kWholePatch);
  Accept();
  publisher.OnOwnNode(BareNode("uid-2"));
  EXPECT_EQ(Body(), kWholePatch) << "patches of the old Node do not count";
  publisher.OnOwnNode(BareNode("uid-3"));
  EXPECT_EQ(Body(), "");
  Accept();  // of uid-2, for all we know
  EXPECT_EQ(Body(), kWholePatch);
}

TEST_F(PublisherTest, ARecreatedNodeDoesNotWaitForABackOff) {
  publisher.SetDesired(OurPublication());
  publisher.OnOwnNode(BareNode());
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(Body(), kWholePatch);
    Refuse(404);
    clock.Advance(std::max(Wait(), 0ms));
  }
  EXPECT_EQ(Body(), kWholePatch);
  Refuse(404);
  EXPECT_EQ(Body(), "");
  EXPECT_THAT(publisher.condition(), HasSubstr("the Node is gone"));
  publisher.OnOwnNode(BareNode("uid-2"));
  EXPECT_EQ(publisher.condition(), "");
  EXPECT_EQ(Body(), kWholePatch);
}

TEST_F(PublisherTest, ARefusalOfTheNodeBeforeDoesNotCount) {
  publisher.SetDesired(OurPublication());
  publisher.OnOwnNode(BareNode());
  EXPECT_EQ(Body(), kWholePatch);
  publisher.OnOwnNode(std::nullopt);
  Refuse(503);
  publisher.OnOwnNode(BareNode("uid-2"));
  EXPECT_EQ(Body(), kWholePatch);
  publisher.OnOwnNode(BareNode("uid-3"));
  Refuse(503);
  EXPECT_EQ(Body(), kWholePatch);
  EXPECT_EQ(publisher.condition(), "");
}

// ---- errors

TEST_F(PublisherTest, EveryErrorIsRetriedWithBackOff) {
  const absl::StatusOr<ApiStatus> rows[] = {
      Answer(401),
      Answer(403),
      Answer(404),
      Answer(409),
      Answer(422),
      Answer(429),
      Answer(500),
      Answer(503),
      Answer(302),
      Answer(199),
      Answer(0),
      absl::UnavailableError("connection refused"),
      absl::DeadlineExceededError("no answer within 30 s"),
      absl::UnauthenticatedError("certificate is not to be trusted"),
  };
  for (const auto& answer : rows) {
    publisher = Make(Options());
    publisher.SetDesired(OurPublication());
    publisher.OnOwnNode(BareNode());
    for (const auto wait : {1s, 2s, 4s, 8s, 16s, 30s, 30s}) {
      EXPECT_EQ(Body(), kWholePatch);
      publisher.OnAnswer(answer);
      EXPECT_THAT(publisher.condition(), HasSubstr("the annotations of node \"win1\" cannot be"));
      EXPECT_EQ(Wait(), wait);
      clock.Advance(wait - 1ms);
      EXPECT_EQ(Body(), "");
      clock.Advance(1ms);
    }
    EXPECT_EQ(Body(), kWholePatch);
    Accept();
    EXPECT_EQ(publisher.condition(), "");
  }
}

// Row "API socket dead right after network creation".
TEST_F(PublisherTest, ADeadSocketIsRetriedSoonOnANewConnection) {
  Publisher::Options options = Options();
  options.retry = control::RetryPolicy();
  publisher = Make(options);
  publisher.SetDesired(OurPublication());
  publisher.OnOwnNode(BareNode());
  EXPECT_EQ(Body(), kWholePatch);
  publisher.OnAnswer(absl::UnavailableError("connection reset"));
  EXPECT_EQ(Wait(), 800ms);
  clock.Advance(800ms);
  EXPECT_EQ(Body(), kWholePatch);
  Accept();
  publisher.OnOwnNode(PublishedNode());
  EXPECT_TRUE(publisher.published());
}

TEST_F(PublisherTest, AfterASuccessTheBackOffIsReset) {
  publisher.SetDesired(OurPublication());
  publisher.OnOwnNode(BareNode());
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Body(), kWholePatch);
    Refuse(503);
    clock.Advance(Wait());
  }
  EXPECT_EQ(Body(), kWholePatch);
  Accept();
  publisher.SetDesired(OurPublication("02:00:00:00:00:01"));
  EXPECT_NE(Body(), "");
  Refuse(503);
  EXPECT_EQ(Wait(), 1s);
}

TEST_F(PublisherTest, RetryAfterIsObeyedWithinLimits) {
  const struct {
    std::chrono::seconds asked;
    std::chrono::milliseconds wait;
  } rows[] = {{0s, 1s}, {7s, 7s}, {5min, 5min}, {24h, 5min}};
  for (const auto& row : rows) {
    publisher = Make(Options());
    publisher.SetDesired(OurPublication());
    publisher.OnOwnNode(BareNode());
    EXPECT_EQ(Body(), kWholePatch);
    ApiStatus answer = Answer(429);
    answer.retry_after = row.asked;
    publisher.OnAnswer(answer);
    EXPECT_EQ(Wait(), row.wait);
  }
}

TEST_F(PublisherTest, AForbiddenPatchNamesTheMissingRule) {
  publisher.SetDesired(OurPublication());
  publisher.OnOwnNode(BareNode());
  EXPECT_EQ(Body(), kWholePatch);
  Refuse(403);
  EXPECT_THAT(publisher.condition(), HasSubstr("allow \"patch\" of \"nodes/status\""));
}

TEST_F(PublisherTest, AnErrorEndsWhenTheNodeIsCorrect) {
  publisher.SetDesired(OurPublication());
  publisher.OnOwnNode(BareNode());
  EXPECT_EQ(Body(), kWholePatch);
  // Sent and written, but the answer was lost.
  publisher.OnAnswer(absl::UnavailableError("cut"));
  publisher.OnOwnNode(PublishedNode());
  EXPECT_EQ(publisher.condition(), "");
  EXPECT_TRUE(publisher.published());
}

}  // namespace
}  // namespace weft::kube
