// SPDX-License-Identifier: Apache-2.0
// Every fault, at every call of every start, on every kind of HNS: generated, not listed. After
// each case all is as desired, foreign objects are unchanged, and no outcome was wrong, or
// expected_failures.h gives the reason. Include, instantiate: in process all of it, where calls are
// expensive a sample.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/hns/expected_failures.h"
#include "tests/hns/overlay_scenarios.h"

namespace weft::hns {

struct Killed : std::runtime_error {
  Killed() : std::runtime_error("killed") {}
};

struct MatrixRun {
  std::size_t hns = kUsualHns;      // of kHns; on the other kinds a part is run, to save time
  OverlayStage::Way way = nullptr;  // to it
  std::size_t every = 1;            // case; prime to the lengths of the lists of events
};

// Fewer cases of a test are a failure: an empty matrix proves nothing. Counted before sampling, on
// the usual HNS and on any other; four fifths of the cases of 2026, because keepers may make fewer
// calls later.
struct MatrixSize {
  std::string_view test;
  std::size_t usual, other;
};
inline constexpr MatrixSize kMatrixSizes[] = {
    {"HnsRestartsAtEveryCall", 716, 178},
    {"HnsStopsBeforeEveryCall", 206, 34},
    {"ACallReturnsWhenAnotherKeeperIsAtWork", 88, 88},
    {"TheProcessIsKilledAtEveryCall", 274, 68},
    {"TheAdapterIsRenamedAtEveryCall", 134, 44},
    {"TheAdapterIsPulledOutAtEveryCall", 44, 44},
    {"ForeignChangesAtEveryCall", 312, 178},
    {"CallsFail", 806, 178},
    {"CallsTakeAMinute", 88, 88},
};
inline void PrintTo(const MatrixRun& run, std::ostream* out) { *out << kHns[run.hns].name; }

// For the foreign objects in HNS.
struct Kept {
  bool routes = true, endpoints = true;
};

class OverlayFaultMatrixTest : public ::testing::TestWithParam<MatrixRun> {
 protected:
  using Restart = emulator::Restart;
  using Step = WatchedApi::Step;
  using Act = std::function<void(OverlayStage&)>;
  static constexpr bool kBefore = true;

  const KindOfHns& hns() const { return kHns[GetParam().hns]; }
  bool usual() const { return GetParam().hns == kUsualHns; }

  // Every call that every scenario makes undisturbed, but for the hundredth and later ones.
  void ForEachCall(const std::function<void(const Scenario&, const Step&)>& run) {
    for (const Scenario& scenario : kScenarios) {
      for (const Step& call : Calls(scenario)) run(scenario, call);
    }
  }

  // One case: `arm` sets up the fault, `mend` ends a lasting one.
  void Case(const Scenario& scenario, const Step& call, const std::string& what, const Act& arm,
            Kept kept = {}, const Act& mend = nullptr) {
    if (drawn_++ % every_ != 0) return;
    ++cases_;
    under_way_ = nullptr;
    stopped_ = unjudged_ = false;
    judge_.Run({hns().name, Test(), scenario.name, call.function + ": " + what}, [&] {
      SCOPED_TRACE("call " + std::to_string(call.number));
      Play(scenario, arm, kept, mend);
    });
  }

  void Play(const Scenario& scenario, const Act& arm, const Kept& kept, const Act& mend) {
    OverlayStage stage({}, GetParam().way);
    Prepare(stage);
    ForeignObjects foreign_objects(stage);
    scenario.prepare(stage);
    stage.hns.Set(hns().settings);
    stage.api.calls = 0;
    stage.StartKeeper();  // which counts as in Calls
    arm(stage);
    stage.api.longest = {};
    Run(stage, std::chrono::minutes(2));
    // The fault has ended; the keeper is not notified.
    stage.api.before = stage.api.after = nullptr;
    if (mend) mend(stage);
    Run(stage, std::chrono::minutes(5));
    // Foreign changes are found by polling.
    stage.keeper->Recheck();
    const OverlayOutcome outcome = Run(stage, std::chrono::minutes(5));
    EXPECT_EQ(outcome.state, OverlayState::kInSync) << outcome.sentence;
    EXPECT_EQ(outcome.applied, outcome.desired);
    EXPECT_EQ(stage.RoutesThere(), stage.RoutesDesired());
    const auto network = stage.Overlay();
    ASSERT_TRUE(network);
    EXPECT_TRUE(network->Has("HostRoute"));
    EXPECT_EQ(Differences(stage.spec, *network).size(), 0u);
    EXPECT_EQ(outcome.network_id, network->id);
    EXPECT_EQ(outcome.dr_mac, network->dr_mac());
    if (stage.spec.base_network) {
      stage.clock.now += std::chrono::minutes(1);  // it may have been made just now
      const auto base = stage.Named("External");
      ASSERT_TRUE(base);
      // It may be foreign, so it is not made again: the reader of `status` decides.
      if (!base->provider_address()) {
        EXPECT_THAT(outcome.notes, ::testing::Contains(::testing::HasSubstr(
                                       "the base network External does not keep the vSwitch")));
      }
    }
    foreign_objects.ExpectUntouched(kept.routes, kept.endpoints);
    EXPECT_LE(stage.api.calls, 1500u) << "it must not spin";
    EXPECT_LT(std::max(stage.api.longest, stage.other.longest), std::chrono::minutes(2))
        << "the daemon gives such a call up (control/sinks/round_thread.h)";
  }

  void Prepare(OverlayStage& stage) const {
    stage.spec.port = hns().port;
    stage.routes.merge(ManyRoutes(hns().peers));
    stage.StartKeeper();
  }

  // Runs `act` once, before or after that call.
  template <typename OnCall>
  static void At(OverlayStage& stage, const Step& call, bool before, OnCall act) {
    const auto once = [number = call.number, act,
                       done = false](const Step& step) mutable -> std::optional<Hresult> {
      if (done || step.number < number) return std::nullopt;
      done = true;
      act();
      return std::nullopt;
    };
    (before ? stage.api.before : stage.api.after) = once;
  }

  // As the daemon runs it; killed, it starts again.
  OverlayOutcome Run(OverlayStage& stage, Duration most) {
    const TimePoint end = stage.Now() + most;
    OverlayOutcome outcome;
    for (int rounds = 0; rounds < 2000; ++rounds) {
      if (!stage.keeper) stage.StartKeeper();
      try {
        outcome = stage.Round();
      } catch (const Killed&) {
        stage.keeper.reset();
        continue;
      }
      if (!unjudged_) ExpectTrue(stage, outcome);
      if (const auto notify = std::exchange(under_way_, nullptr)) {
        notify(stage);
        continue;
      }
      if (outcome.state == OverlayState::kInSync && !outcome.next) return outcome;
      if (!outcome.next || *outcome.next > end) return outcome;
      stage.clock.now = std::max(
          stage.clock.now,
          std::chrono::duration_cast<emulator::Milliseconds>(outcome.next->time_since_epoch()));
    }
    if (!unjudged_) ADD_FAILURE() << "rounds without end: " << outcome.sentence;
    return outcome;
  }

  void ExpectTrue(OverlayStage& stage, const OverlayOutcome& outcome) {
    EXPECT_FALSE(outcome.sentence.empty());
    EXPECT_EQ(outcome.desired, stage.routes.size());
    if (stopped_) EXPECT_EQ(outcome.state, OverlayState::kHns) << outcome.sentence;
    if (outcome.state != OverlayState::kInSync) {
      EXPECT_TRUE(outcome.next) << outcome.sentence;
      return;
    }
    EXPECT_EQ(outcome.applied, outcome.desired);
    // RFC 3927; Microsoft's own check prints "Recreate the HNS network".
    const IpPrefix link_local = Cidr("169.254.0.0/16");
    EXPECT_FALSE(outcome.management_ip && link_local.Contains(*outcome.management_ip))
        << "peers cannot reach " << outcome.management_ip->ToString();
    if (!foreign_changes_) EXPECT_EQ(stage.RoutesThere(), stage.RoutesDesired());
  }

  std::vector<Step> Calls(const Scenario& scenario) {
    constexpr std::size_t kMost = 99;
    OverlayStage stage({}, GetParam().way);
    Prepare(stage);
    const ForeignObjects foreign_objects(stage);
    scenario.prepare(stage);
    stage.hns.Set(hns().settings);
    std::vector<Step> calls;
    stage.api.calls = 0;
    stage.api.before = [&](const Step& step) -> std::optional<Hresult> {
      // While it waits it repeats the same calls: three rounds represent all.
      const auto same = [&](const Step& earlier) { return earlier.function == step.function; };
      const bool waits = calls.size() >= 3 && std::all_of(calls.end() - 3, calls.end(), same) &&
                         step.function.starts_with("HcnQuery");
      if (!waits && calls.size() < kMost) calls.push_back(step);
      return std::nullopt;
    };
    stage.StartKeeper();
    unjudged_ = true;
    Run(stage, std::chrono::minutes(5));
    stage.keeper.reset();
    return calls;
  }

  void TearDown() override {
    std::printf("%zu of %zu cases, %zu failed as expected\n", cases_, drawn_, judge_.expected());
    RecordProperty("cases", std::to_string(cases_));
    RecordProperty("expected_failures", std::to_string(judge_.expected()));
    const auto* const size =
        std::find_if(std::begin(kMatrixSizes), std::end(kMatrixSizes),
                     [&](const MatrixSize& each) { return each.test == Test(); });
    ASSERT_NE(size, std::end(kMatrixSizes)) << "add the minimum number of cases";
    EXPECT_GE(drawn_, usual() ? size->usual : size->other);
    EXPECT_EQ(cases_, (drawn_ + every_ - 1) / every_);
    judge_.ExpectFewUnlisted();
    if (every_ == hns().every) judge_.ExpectEachRowHolds(hns().name, Test());
  }

  static std::string Test() {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    return name.substr(0, name.find('/'));
  }

  const std::size_t every_ = GetParam().every * hns().every * MatrixSample();
  CaseJudge judge_;
  std::size_t drawn_ = 0, cases_ = 0;
  bool unjudged_ = false;         // a call, with its keeper
  bool foreign_changes_ = false;  // the state at the end of a Round may have changed since
  bool stopped_ = false;          // the service, now
  Act under_way_;                 // passed to the keeper after the Round
};

}  // namespace weft::hns

#include "tests/hns/overlay_events.h"
#include "tests/hns/overlay_faults.h"
