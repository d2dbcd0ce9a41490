// SPDX-License-Identifier: Apache-2.0
// flannelctl plan, hns drift and hns repair, against a server with a plan of the test's.
#include "control/admin/admin_server.h"
#include "gmock/gmock.h"
#include "tests/control/admin/golden.h"
#include "tests/control/admin/running_server.h"
#include "tests/control/admin/samples.h"
#include "tests/control/cli/call.h"

namespace weft::cli {
namespace {

using admin::Plan;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

admin::HttpLimits WithPost() {
  admin::HttpLimits limits;
  limits.post = true;
  return limits;
}

class PlanTest : public ::testing::Test {
 protected:
  Outcome Ask(std::vector<std::string> words) {
    words.insert(words.end(), {"--admin", server_.endpoint()});
    return Call(std::move(words));
  }
  void Set(const absl::StatusOr<Plan>& plan) {
    server_.Do([&](admin::HttpServer&) { state_.plan = plan; });
  }
  admin::FakeState state_;
  admin::RunningServer server_{AdminHandler(state_), WithPost()};
};

TEST_F(PlanTest, EachCallWithItsDocument) {
  const Outcome text = Ask({"plan"});
  EXPECT_EQ(text.code, 1);
  EXPECT_THAT(text.err, IsEmpty());
  EXPECT_TRUE(MatchesGolden(text.out, "plan/plan.txt"));
  const Outcome json = Ask({"plan", "-o", "json"});
  EXPECT_EQ(json.code, 1);
  EXPECT_EQ(admin::ParsePlan(json.out).value(), admin::SamplePlan());
}

TEST_F(PlanTest, DriftNamesWhatDiffers) {
  const Outcome drift = Ask({"hns", "drift"});
  EXPECT_EQ(drift.code, 1);
  EXPECT_EQ(drift.out, "the route to 10.244.1.0/24 is missing\n");
  Plan long_one = admin::SamplePlan();
  long_one.differences.assign(60, "the route to 10.244.1.0/24 is missing");
  Set(long_one);
  EXPECT_THAT(Ask({"hns", "drift"}).out, HasSubstr("\nand 10 more; -o json has them all\n"));
}

TEST_F(PlanTest, RepairSaysWhatWasDoneAndWhatIsLeft) {
  const Outcome done = Ask({"hns", "repair"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "put right:\nthe route to 10.244.1.0/24 is missing\n");
  Plan half = admin::SamplePlan();
  half.repaired = true;
  half.differences.push_back("the route to 10.244.2.0/24 is missing");
  half.left = {half.differences[0]};
  half.done = {half.differences[1]};
  half.causes = {"remote subnet 10.244.1.0/24: HCN_E_INVALID_POLICY (0x803B000D)"};
  Set(half);
  const Outcome left = Ask({"hns", "repair"});
  EXPECT_EQ(left.code, 1);
  EXPECT_EQ(left.out,
            "put right:\nthe route to 10.244.2.0/24 is missing\n"
            "not put right, and tried again by flanneld:\nthe route to 10.244.1.0/24 is missing\n"
            "because:\nremote subnet 10.244.1.0/24: HCN_E_INVALID_POLICY (0x803B000D)\n");
  EXPECT_EQ(admin::ParsePlan(Ask({"hns", "repair", "-o", "json"}).out).value(), half);
}

// Which does not say what it did: what is left is not called done.
TEST_F(PlanTest, OfAnEarlierFlanneldOnlyWhatIsLeftIsKnown) {
  Plan half = admin::SamplePlan();
  half.repaired = true;
  half.left = half.differences;
  Set(half);
  EXPECT_EQ(Ask({"hns", "repair"}).out,
            "not put right, and tried again by flanneld:\nthe route to 10.244.1.0/24 is missing\n");
}

TEST_F(PlanTest, NothingToDoAndNothingThatMay) {
  Plan plan;
  plan.network = "flannel.4096";
  Set(plan);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"plan"}, {"hns", "drift"}, {"hns", "repair"}}) {
    const Outcome outcome = Ask(words);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out, "nothing to do: the network flannel.4096 is as it should be\n");
  }
  plan.refused = "pods live in it";
  Set(plan);
  EXPECT_EQ(Ask({"hns", "repair"}).code, 1);
  EXPECT_EQ(Ask({"plan"}).out, "nothing may be done: pods live in it\n");
}

TEST_F(PlanTest, CallsOrDifferencesAloneAreSomethingToDo) {
  Plan plan = admin::SamplePlan();
  plan.calls.clear();
  Set(plan);
  EXPECT_EQ(Ask({"hns", "drift"}).out, "the route to 10.244.1.0/24 is missing\n");
  plan = admin::SamplePlan();
  plan.differences.clear();
  Set(plan);
  EXPECT_THAT(Ask({"plan"}).out, ::testing::StartsWith("delete the network flannel.4096\n"));
}

TEST_F(PlanTest, WithoutAnAnswerItSaysWhy) {
  Set(absl::FailedPreconditionError("this flanneld programs no HNS"));
  const Outcome none = Ask({"plan"});
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.err, "flannelctl plan: this flanneld programs no HNS\n");
  EXPECT_EQ(Ask({"hns", "drift"}).err, "flannelctl hns drift: this flanneld programs no HNS\n");
  const Outcome nobody = Call({"hns", "repair", "--admin", server_.endpoint() + ".not"});
  EXPECT_EQ(nobody.code, 2);
  EXPECT_THAT(nobody.err, HasSubstr("start it on this node"));
}

}  // namespace
}  // namespace weft::cli
