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
  Outcome Run(std::vector<std::string> words) {
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
  const Outcome text = Run({"plan"});
  EXPECT_EQ(text.code, 1);
  EXPECT_THAT(text.err, IsEmpty());
  EXPECT_TRUE(MatchesGolden(text.out, "plan/plan.txt"));
  const Outcome json = Run({"plan", "-o", "json"});
  EXPECT_EQ(json.code, 1);
  EXPECT_EQ(admin::ParsePlan(json.out).value(), admin::SamplePlan());
}

TEST_F(PlanTest, DriftNamesWhatDiffers) {
  const Outcome drift = Run({"hns", "drift"});
  EXPECT_EQ(drift.code, 1);
  EXPECT_EQ(drift.out, "the route to 10.244.1.0/24 is missing\n");
  Plan long_one = admin::SamplePlan();
  long_one.differences.assign(60, "the route to 10.244.1.0/24 is missing");
  Set(long_one);
  EXPECT_THAT(Run({"hns", "drift"}).out, HasSubstr("\nand 10 more; -o json has them all\n"));
}

TEST_F(PlanTest, RepairReportsWhatWasDoneAndWhatIsLeft) {
  const Outcome done = Run({"hns", "repair"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, "repaired:\nthe route to 10.244.1.0/24 is missing\n");
  Plan half = admin::SamplePlan();
  half.repaired = true;
  half.differences.push_back("the route to 10.244.2.0/24 is missing");
  half.left = {half.differences[0]};
  half.done = {half.differences[1]};
  half.causes = {"remote subnet 10.244.1.0/24: HCN_E_INVALID_POLICY (0x803B000D)"};
  Set(half);
  const Outcome left = Run({"hns", "repair"});
  EXPECT_EQ(left.code, 1);
  EXPECT_EQ(left.out,
            "repaired:\nthe route to 10.244.2.0/24 is missing\n"
            "not repaired; flanneld tries again:\nthe route to 10.244.1.0/24 is missing\n"
            "causes:\nremote subnet 10.244.1.0/24: HCN_E_INVALID_POLICY (0x803B000D)\n");
  EXPECT_EQ(admin::ParsePlan(Run({"hns", "repair", "-o", "json"}).out).value(), half);
  half.left.clear();
  Set(half);
  EXPECT_EQ(Run({"hns", "repair"}).out, "repaired:\nthe route to 10.244.2.0/24 is missing\n");
}

// An earlier flanneld does not report what it did: what is left is not printed as done.
TEST_F(PlanTest, OfAnEarlierFlanneldOnlyWhatIsLeftIsKnown) {
  Plan half = admin::SamplePlan();
  half.repaired = true;
  half.left = half.differences;
  Set(half);
  EXPECT_EQ(Run({"hns", "repair"}).out,
            "not repaired; flanneld tries again:\nthe route to 10.244.1.0/24 is missing\n");
}

TEST_F(PlanTest, NothingToDoOrNoneAllowed) {
  Plan plan;
  plan.network = "flannel.4096";
  Set(plan);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"plan"}, {"hns", "drift"}, {"hns", "repair"}}) {
    const Outcome outcome = Run(words);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out, "nothing to do: the network flannel.4096 is in sync\n");
  }
  plan.refused = "pods live in it";
  Set(plan);
  EXPECT_EQ(Run({"hns", "repair"}).code, 1);
  EXPECT_EQ(Run({"plan"}).out, "the network flannel.4096 must not be changed: pods live in it\n");
}

TEST_F(PlanTest, CallsOrDifferencesAloneAreSomethingToDo) {
  Plan plan = admin::SamplePlan();
  plan.calls.clear();
  Set(plan);
  EXPECT_EQ(Run({"hns", "drift"}).out, "the route to 10.244.1.0/24 is missing\n");
  plan = admin::SamplePlan();
  plan.differences.clear();
  Set(plan);
  EXPECT_THAT(Run({"plan"}).out, ::testing::StartsWith("delete the network flannel.4096\n"));
}

TEST_F(PlanTest, WithoutAnAnswerItGivesTheReason) {
  Set(absl::FailedPreconditionError("this flanneld does not program HNS"));
  const Outcome none = Run({"plan"});
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.err, "flannelctl plan: this flanneld does not program HNS\n");
  EXPECT_EQ(Run({"hns", "drift"}).err,
            "flannelctl hns drift: this flanneld does not program HNS\n");
  const Outcome unreachable = Call({"hns", "repair", "--admin", server_.endpoint() + ".not"});
  EXPECT_EQ(unreachable.code, 2);
  EXPECT_THAT(unreachable.err, HasSubstr("start it on this node"));
}

}  // namespace
}  // namespace weft::cli
