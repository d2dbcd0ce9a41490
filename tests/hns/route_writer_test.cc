// SPDX-License-Identifier: Apache-2.0
#include "hns/route_writer.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/hns/overlay_makers.h"

namespace weft::hns {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

// One network's policies, and a rule for what is refused.
class Policies final : public Api {
 public:
  std::vector<Policy> there;
  // Called for each request, with all policies of that request.
  std::function<Hresult(bool add, const std::vector<Policy>&)> rule;
  // How long a request takes, and how many of its policies it applies.
  std::function<Duration(std::size_t size)> cost = [](std::size_t) { return Duration::zero(); };
  std::size_t most_applied = 1'000'000;
  TimePoint now{1h};
  std::vector<std::size_t> sizes;  // of each request

  Reply Make(const ApiCall& call) override {
    if (call.operation != Operation::kModify) return {};
    const auto json = nlohmann::ordered_json::parse(call.text);
    std::vector<Policy> policies;
    for (const auto& policy : json["Settings"]["Policies"])
      policies.push_back({policy["Type"], policy["Settings"].dump()});
    sizes.push_back(policies.size());
    now += cost(policies.size());
    const bool add = json["RequestType"] == "Add";
    Reply reply;
    reply.code = rule ? rule(add, policies) : hresult::kOk;
    if (!reply.ok()) return reply;
    policies.resize(std::min(policies.size(), most_applied));
    for (const Policy& policy : policies) {
      if (add) {
        there.push_back(policy);
      } else if (const auto found = std::find(there.begin(), there.end(), policy);
                 found != there.end()) {
        there.erase(found);
      }
    }
    return reply;
  }
};

class RouteWriterTest : public ::testing::Test {
 protected:
  // As the keeper does: reads after each refusal, where the writer requires it, and at the end.
  void Work() {
    for (;;) {
      writer.SetPlan(PlanRoutes(desired, hns.there, Vsid(4096), true), now);
      if (!writer.has_work()) return;
      while (writer.has_work() && !writer.needs_read() && WriteBatch()) {
      }
      ++reads;
    }
  }
  bool WriteBatch() {
    return caller.Run(writer.WriteBatch(now, [this] { return now; })).ok();
  }
  bool Holds() { return PlanRoutes(desired, hns.there, Vsid(4096), true).empty(); }

  Policies hns;
  TimePoint& now = hns.now;
  RouteWriter writer;
  RemoteSubnetRoutes desired;
  int reads = 0;

 private:
  static Sequence<absl::Status> Open() { co_return co_await call::Open(Network()); }
  void SetUp() override { ASSERT_TRUE(caller.Run(Open()).ok()); }
  Caller caller{hns};
};

bool Holds(const std::vector<Policy>& policies, const RemoteSubnetRoute& route) {
  return std::find(policies.begin(), policies.end(), RemoteSubnetRoutePolicy(route)) !=
         policies.end();
}

TEST_F(RouteWriterTest, InBatches) {
  desired = ManyRoutes(2000);
  Work();
  EXPECT_TRUE(Holds());
  EXPECT_THAT(hns.sizes, ElementsAre(1, 30, 60, 120, 240, 480, 480, 480, 109));
  EXPECT_EQ(reads, 6) << "before each that is larger, and at the end";
  EXPECT_EQ(writer.next(), std::nullopt);
}

TEST_F(RouteWriterTest, ABatchThatIsNotFullIsNoReasonToGrow) {
  desired = RoutesTo({"10.244.1.0/24"});
  hns.rule = [](bool, const std::vector<Policy>&) { return hresult::kInvalidPolicy; };
  Work();
  hns.rule = nullptr;
  now += 1s;
  desired.merge(ManyRoutes(21));
  hns.sizes.clear();
  reads = 0;
  Work();
  EXPECT_THAT(hns.sizes, ElementsAre(1, 20, 1)) << "the refused one is the last";
  EXPECT_EQ(reads, 2) << "after the first, and at the end";
  EXPECT_TRUE(Holds());
}

TEST_F(RouteWriterTest, ChangedPeersAreReplacedBatchByBatch) {
  desired = ManyRoutes(300);
  Work();
  for (auto& [destination, route] : desired) route.router_mac = Mac("0e:2a:00:00:00:99");
  std::vector<bool> adds;
  hns.rule = [&](bool add, const std::vector<Policy>&) {
    adds.push_back(add);
    return hresult::kOk;
  };
  Work();
  EXPECT_TRUE(Holds());
  EXPECT_THAT(adds, ElementsAre(false, true, false, true, false, true, false, true, false, true));
  EXPECT_THAT(std::vector(hns.sizes.end() - 4, hns.sizes.end()), ElementsAre(120, 120, 89, 89));
}

TEST_F(RouteWriterTest, ABatchLimitIsLearnt) {
  for (const std::size_t most : {150u, 100u, 7u, 1u}) {
    hns.there.clear();
    hns.sizes.clear();
    reads = 0;
    desired = ManyRoutes(1000);
    hns.rule = [&](bool, const std::vector<Policy>& policies) {
      return policies.size() > most ? hresult::kInvalidArgument : hresult::kOk;
    };
    Work();
    EXPECT_TRUE(Holds()) << most;
    EXPECT_LE(hns.sizes.size(), 2 * 1000 / most + 16);
    EXPECT_LE(reads, 16);
  }
}

// S_OK, and a part was applied.
TEST_F(RouteWriterTest, APartialApplicationIsLearnt) {
  for (const std::size_t most : {50u, 7u, 1u}) {
    hns.there.clear();
    hns.sizes.clear();
    desired = ManyRoutes(300);
    hns.most_applied = most;
    Work();
    EXPECT_TRUE(Holds()) << most;
    EXPECT_THAT(writer.Pending(), IsEmpty());
    EXPECT_LE(hns.sizes.size(), 2 * 300 / most + 16);
  }
}

TEST_F(RouteWriterTest, AMissingRouteDoesNotStopTheRest) {
  desired = ManyRoutes(300);
  const Policy bad = RemoteSubnetRoutePolicy(RouteTo("10.0.77.0/24"));
  for (int reading = 0; reading < 40; ++reading) {
    std::erase(hns.there, bad);
    writer.SetPlan(PlanRoutes(desired, hns.there, Vsid(4096), true), now);
    while (writer.has_work() && !writer.needs_read()) {
      ASSERT_TRUE(WriteBatch());
    }
  }
  std::erase(hns.there, bad);
  EXPECT_THAT(hns.there, SizeIs(299));
  EXPECT_THAT(writer.Pending(),
              ElementsAre(HasSubstr("10.0.77.0/24: HNS accepted the change but does not show it")));
  EXPECT_LE(hns.sizes.size(), 40u);
}

TEST_F(RouteWriterTest, ABatchAimsAtASecond) {
  const struct {
    const char* name;
    Duration call, policy;
    std::size_t most;  // of a batch
  } kCosts[] = {
      {"by the policy", 0ms, 100ms, 10},         {"a second each", 0ms, 1s, 1},
      {"half a minute each", 0ms, 30s, 1},       {"both", 100ms, 30ms, 30},
      {"by the call, quick", 40ms, 0ms, 480},    {"by the call, slow", 5s, 0ms, 480},
      {"by the call, very slow", 25s, 1ms, 480},
  };
  for (const auto& each : kCosts) {
    SCOPED_TRACE(each.name);
    hns.there.clear();
    hns.sizes.clear();
    desired = ManyRoutes(1500);
    Duration longest{};
    hns.cost = [&](std::size_t size) {
      const Duration took = each.call + each.policy * size;
      longest = std::max(longest, took);
      return took;
    };
    const TimePoint begin = now;
    Work();
    EXPECT_TRUE(Holds());
    const std::size_t largest = *std::max_element(hns.sizes.begin(), hns.sizes.end());
    EXPECT_LE(largest, each.most);
    EXPECT_GE(largest, (each.most + 1) / 2);
    // The caller abandons a call after two minutes (control/sinks/round_thread.h).
    EXPECT_LE(longest, each.call + each.policy + 30s);
    EXPECT_LE(now - begin,
              1500 * each.policy + 1500 / ((each.most + 1) / 2) * each.call + 10 * each.call);
  }
}

TEST_F(RouteWriterTest, TheRefusedRouteIsFoundAndTheRestIsWritten) {
  desired = ManyRoutes(1000);
  const RemoteSubnetRoute bad = RouteTo("10.0.77.0/24");
  hns.rule = [&](bool, const std::vector<Policy>& policies) {
    return weft::hns::Holds(policies, bad) ? hresult::kInvalidPolicy : hresult::kOk;
  };
  Work();
  EXPECT_THAT(hns.there, SizeIs(999));
  EXPECT_LE(hns.sizes.size(), 40u);
  EXPECT_THAT(writer.Pending(), ElementsAre(AllOf(HasSubstr("remote subnet 10.0.77.0/24: "),
                                                  HasSubstr("HCN_E_INVALID_POLICY"))));
  EXPECT_EQ(writer.next(), now + 1s);

  // Before its retry time it is not tried, after it it is tried alone, each time after a longer
  // pause.
  hns.sizes.clear();
  Work();
  EXPECT_THAT(hns.sizes, IsEmpty());
  now += 1s;
  Work();
  EXPECT_THAT(hns.sizes, ElementsAre(1));
  EXPECT_EQ(writer.next(), now + 2s);
  hns.rule = nullptr;
  now += 2s;
  Work();
  EXPECT_TRUE(Holds());
  EXPECT_THAT(writer.Pending(), IsEmpty());
}

TEST_F(RouteWriterTest, ANewSpecForARefusedPeerIsTriedAtOnce) {
  desired = RoutesTo({"10.244.1.0/24"});
  hns.rule = [&](bool, const std::vector<Policy>&) { return hresult::kInvalidPolicy; };
  Work();
  EXPECT_THAT(writer.Pending(), SizeIs(1));
  hns.rule = nullptr;
  desired.begin()->second.router_mac = Mac("0e:2a:00:00:00:99");
  Work();
  EXPECT_TRUE(Holds());
}

TEST_F(RouteWriterTest, AnHnsThatRefusesEverythingIsNotCalledForEachPeer) {
  desired = ManyRoutes(1000);
  hns.rule = [&](bool, const std::vector<Policy>&) { return hresult::kDegradedOperation; };
  Work();
  EXPECT_LE(hns.sizes.size(), 2 * kRefusedInARow + 16);
  EXPECT_THAT(writer.Pending(), SizeIs(1000));
  EXPECT_THAT(writer.Pending().back(), HasSubstr("not tried: HNS refused the last 16"));
  EXPECT_EQ(writer.next(), now + 1s);
  hns.rule = nullptr;
  now += 1s;
  Work();
  EXPECT_TRUE(Holds());
}

// Untried routes are written first, so that many refused ones in a row do not delay a good one.
TEST_F(RouteWriterTest, ManyRefusedRoutesDoNotStopTheRest) {
  desired = ManyRoutes(300);
  hns.rule = [&](bool, const std::vector<Policy>& policies) {
    for (const Policy& policy : policies)
      if (ReadRemoteSubnetRoute(policy)->destination < Cidr("10.0.100.0/24"))
        return hresult::kInvalidPolicy;
    return hresult::kOk;
  };
  for (int tries = 0; tries < 20 && hns.there.size() < 200; ++tries) {
    Work();
    now = writer.next().value_or(now);
  }
  EXPECT_THAT(hns.there, SizeIs(200));
  EXPECT_THAT(writer.Pending(), SizeIs(100));
}

TEST_F(RouteWriterTest, ReportedDuplicateThatExists) {
  desired = RoutesTo({"10.244.1.0/24"});
  hns.rule = [&](bool, const std::vector<Policy>& policies) {
    hns.there = policies;  // it was added nevertheless
    return hresult::kPolicyAlreadyExists;
  };
  Work();
  EXPECT_TRUE(Holds());
  EXPECT_THAT(writer.Pending(), IsEmpty());
}

TEST_F(RouteWriterTest, ReportedDuplicateThatIsMissing) {
  desired = RoutesTo({"10.244.1.0/24"});
  hns.rule = [&](bool, const std::vector<Policy>&) { return hresult::kPolicyAlreadyExists; };
  Work();
  EXPECT_THAT(writer.Pending(), ElementsAre(HasSubstr("HCN_E_POLICY_ALREADY_EXISTS")));
  EXPECT_EQ(writer.next(), now + 1s);
}

// The removal of the former route was carried out.
TEST_F(RouteWriterTest, AReplacementThatIsReportedAsADuplicateIsTriedAgainAtOnce) {
  hns.there = {RemoteSubnetRoutePolicy(RouteTo("10.244.1.0/24", "0e:2a:00:00:00:99"))};
  desired = RoutesTo({"10.244.1.0/24"});
  hns.rule = [refused = false](bool add, const std::vector<Policy>&) mutable {
    if (!add || std::exchange(refused, true)) return hresult::kOk;
    return hresult::kPolicyAlreadyExists;
  };
  Work();
  EXPECT_TRUE(Holds());
}

TEST_F(RouteWriterTest, ARefusedRemovalIsReported) {
  hns.there = {RemoteSubnetRoutePolicy(RouteTo("10.244.1.0/24"))};
  hns.rule = [](bool, const std::vector<Policy>&) { return hresult::kInvalidPolicy; };
  Work();
  EXPECT_THAT(writer.Pending(), ElementsAre(HasSubstr("HCN_E_INVALID_POLICY")));
  EXPECT_EQ(writer.refused_removals(), 1u);
}

TEST_F(RouteWriterTest, ReportedMissingThatExists) {
  hns.there = {RemoteSubnetRoutePolicy(RouteTo("10.244.1.0/24"))};
  hns.rule = [&](bool, const std::vector<Policy>&) { return hresult::kPolicyNotFound; };
  Work();
  EXPECT_THAT(writer.Pending(), SizeIs(1));
  EXPECT_EQ(writer.next(), now + 1s);
}

// Of two routes to one destination: the remaining one is removed at once.
TEST_F(RouteWriterTest, OfTwoRemovalsForOneDestinationOneIsGoneAlready) {
  const Policy policy = RemoteSubnetRoutePolicy(RouteTo("10.244.1.0/24"));
  hns.there = {policy, policy};
  hns.rule = [&](bool, const std::vector<Policy>& policies) {
    if (policies.size() == 1) return hresult::kOk;
    hns.there.pop_back();
    return hresult::kPolicyNotFound;
  };
  Work();
  EXPECT_TRUE(Holds());
  EXPECT_THAT(hns.sizes, ElementsAre(2, 1));
}

// HNS refuses a whole request when one of its routes is missing: "not found" then proves nothing
// for the other routes, and nothing may be added before all are removed.
TEST_F(RouteWriterTest, OfManyRemovalsOneIsGoneAlready) {
  for (const bool replaced : {true, false}) {
    SCOPED_TRACE(replaced ? "peers that changed" : "peers that are gone");
    hns.rule = nullptr;
    desired = ManyRoutes(100);
    Work();
    ASSERT_THAT(hns.there, SizeIs(100));
    for (auto& [destination, route] : desired) route.router_mac = Mac("0e:2a:00:00:00:99");
    if (!replaced) desired.clear();
    writer.SetPlan(PlanRoutes(desired, hns.there, Vsid(4096), true), now);
    hns.there.erase(hns.there.begin() + 42);  // without a plan
    std::size_t most = 0;
    hns.rule = [&](bool add, const std::vector<Policy>& policies) {
      most = std::max(most, hns.there.size() + (add ? policies.size() : 0));
      const auto is_there = [&](const Policy& policy) {
        return std::find(hns.there.begin(), hns.there.end(), policy) != hns.there.end();
      };
      const bool all_there = std::all_of(policies.begin(), policies.end(), is_there);
      return add || all_there ? hresult::kOk : hresult::kPolicyNotFound;
    };
    while (writer.has_work() && !writer.needs_read() && WriteBatch()) {
    }
    Work();
    EXPECT_TRUE(Holds());
    EXPECT_LE(most, 100u) << "no route existed next to the one that it replaces";
    EXPECT_THAT(writer.Pending(), IsEmpty());
    EXPECT_EQ(writer.next(), std::nullopt);
  }
}

TEST_F(RouteWriterTest, AcceptedRouteThatDoesNotAppear) {
  desired = RoutesTo({"10.244.1.0/24"});
  writer.SetPlan(PlanRoutes(desired, {}, Vsid(4096), true), now);
  EXPECT_TRUE(WriteBatch());
  writer.SetPlan(PlanRoutes(desired, {}, Vsid(4096), true), now);
  EXPECT_FALSE(writer.has_work());
  EXPECT_THAT(writer.Pending(), ElementsAre(HasSubstr("does not show it")));
  EXPECT_EQ(writer.next(), now + 1s);
}

TEST_F(RouteWriterTest, ASpecThatChangesBeforeTheReadBackIsNoRefusal) {
  desired = RoutesTo({"10.244.1.0/24"});
  writer.SetPlan(PlanRoutes(desired, {}, Vsid(4096), true), now);
  EXPECT_TRUE(WriteBatch());
  desired.begin()->second.router_mac = Mac("0e:2a:00:00:00:99");
  Work();
  EXPECT_TRUE(Holds());
  EXPECT_THAT(writer.Pending(), IsEmpty());
}

}  // namespace
}  // namespace weft::hns
