// SPDX-License-Identifier: Apache-2.0
// Everything that may go wrong, at every call of every start: generated, not listed. After each
// case all is as wanted, what is another's is as it was, and no outcome has lied.
#include <array>
#include <cstdio>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/hns/overlay_stage.h"

namespace weft::hns {
namespace {

using namespace std::chrono_literals;
using emulator::Restart;
using Step = WatchedApi::Step;

// What stands when the keeper starts, and what it shall do.
struct Scenario {
  const char* name;
  void (*prepare)(OverlayStage&);
};

void Stand(OverlayStage& stage) { EXPECT_EQ(stage.Drive().state, OverlayState::kHolds); }

const Scenario kScenarios[] = {
    {"empty HNS", [](OverlayStage&) {}},
    {"empty HNS, base network wanted", [](OverlayStage& stage) { stage.wish.base_network = true; }},
    {"all is right", Stand},
    {"peers changed while it was away",
     [](OverlayStage& stage) {
       Stand(stage);
       const RemoteSubnetRoute changed = RouteTo("10.244.1.0/24", "0e:2a:00:00:00:99");
       stage.routes.insert_or_assign(changed.destination, changed);
       stage.routes.erase(Cidr("10.244.2.0/24"));
       stage.routes.emplace(Cidr("10.244.5.0/24"), RouteTo("10.244.5.0/24"));
       stage.RemovePolicy(HostRoutePolicy());
     }},
    {"another VSID",
     [](OverlayStage& stage) {
       Stand(stage);
       stage.wish.isolation_id = Vsid(4100);
       stage.routes.clear();
       for (const char* text : {"10.244.1.0/24", "10.244.2.0/24"}) {
         RemoteSubnetRoute route = RouteTo(text);
         route.isolation_id = Vsid(4100);
         stage.routes.emplace(route.destination, route);
       }
     }},
};

const struct {
  const char* name;
  emulator::Settings settings;
} kHns[] = {
    {"the usual HNS", {}},
    {"a slow one", {.management_ip = 3s, .settle = 6s, .name_release = 2s}},
    {"batches of one, applied in part",
     {.duplicates = emulator::Duplicates::kRefusedByPrefix,
      .missing_policy_refused = false,
      .batch_limit = 1,
      .batch_applied = 1,
      .dead_handle_code = hresult::kInvalidHandle}},
};

// Networks, endpoints and policies that are none of ours.
class Strangers {
 public:
  explicit Strangers(OverlayStage& stage) : stage_(stage) {
    OverlayWish theirs = Wish();
    theirs.name = "vxlan0";
    theirs.subnet = Cidr("10.9.0.0/24");
    theirs.isolation_id = Vsid(5000);
    theirs.adapter = "Ethernet 2";
    stage.host.Add({theirs.adapter, {Ip("192.168.2.10")}});
    Network network = OverlayNetwork(theirs);
    network.flags = 0;  // persistent: also there after a reboot
    auto opened = stage.stranger.Create(network);
    EXPECT_TRUE(opened.ok()) << opened.status();
    RemoteSubnetRoute route = RouteTo("10.244.1.0/24");
    route.isolation_id = Vsid(5000);
    EXPECT_TRUE(opened->Add({RemoteSubnetRoutePolicy(route)}).ok());
    EXPECT_TRUE(opened->Add({HostRoutePolicy()}).ok());
    Endpoint pod;
    pod.name = "their pod";
    pod.network = opened->Read().value().id;
    pod.ip_configurations = {{Ip("10.9.0.5"), 24}};
    EXPECT_TRUE(stage.stranger.CreateEndpoint(pod).ok());
    stage.clock.now += 2min;  // until it is done
    before_ = Look();
  }
  // `routes`: they were kept; `endpoints`: too.
  void ExpectUntouched(bool routes, bool endpoints) {
    const Seen now = Look();
    if (routes) EXPECT_EQ(now.networks, before_.networks);
    if (endpoints) EXPECT_EQ(now.endpoints, before_.endpoints);
  }

 private:
  struct Seen {
    std::vector<std::string> networks, endpoints;
  };
  Seen Look() {
    Seen seen;
    const auto networks = stage_.stranger.Networks();
    for (const Network& network : networks.value())
      if (network.name == "vxlan0") seen.networks.push_back(NetworkJson(network));
    const auto endpoints = stage_.stranger.Endpoints();
    for (const Endpoint& endpoint : endpoints.value())
      if (endpoint.name == "their pod") seen.endpoints.push_back(EndpointJson(endpoint));
    return seen;
  }
  OverlayStage& stage_;
  Seen before_;
};

struct Killed : std::runtime_error {
  Killed() : std::runtime_error("killed") {}
};

class OverlayFaultMatrixTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  // One case: `disturb` arms what happens.
  template <typename Disturb>
  void Case(const Scenario& scenario, const emulator::Settings& settings,
            const std::string& description, Disturb disturb, bool routes_kept = true,
            bool endpoints_kept = true) {
    SCOPED_TRACE(std::string(scenario.name) + ", " + description);
    ++cases_;
    OverlayStage stage;
    Strangers strangers(stage);
    scenario.prepare(stage);
    stage.hns.Set(settings);
    stage.api.calls = 0;
    disturb(stage);
    Run(stage, 2min);
    // What went wrong is over; nobody tells the keeper.
    stage.api.before = stage.api.after = nullptr;
    Run(stage, 5min);
    // What strangers did is found by looking.
    stage.keeper->Recheck();
    const OverlayOutcome outcome = Run(stage, 5min);
    EXPECT_EQ(outcome.state, OverlayState::kHolds) << outcome.sentence;
    EXPECT_EQ(outcome.applied, outcome.desired);
    EXPECT_EQ(stage.RoutesThere(), stage.RoutesWanted());
    const auto network = stage.Overlay();
    ASSERT_TRUE(network);
    EXPECT_TRUE(network->Has("HostRoute"));
    EXPECT_EQ(Differences(stage.wish, *network).size(), 0u);
    EXPECT_EQ(outcome.network_id, network->id);
    EXPECT_EQ(outcome.dr_mac, network->dr_mac());
    if (stage.wish.base_network) EXPECT_TRUE(stage.Named("External"));
    strangers.ExpectUntouched(routes_kept, endpoints_kept);
    EXPECT_LE(stage.api.calls, 1500u) << "it must not spin";
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
      ExpectTrue(stage, outcome);
      if (std::exchange(told_, false)) {
        stage.keeper->OnServiceGone();
        continue;
      }
      if (outcome.state == OverlayState::kHolds && !outcome.next) return outcome;
      if (!outcome.next || *outcome.next > end) return outcome;
      stage.clock.now = std::max(
          stage.clock.now,
          std::chrono::duration_cast<emulator::Milliseconds>(outcome.next->time_since_epoch()));
    }
    ADD_FAILURE() << "rounds without end: " << outcome.sentence;
    return outcome;
  }

  void ExpectTrue(OverlayStage& stage, const OverlayOutcome& outcome) {
    EXPECT_FALSE(outcome.sentence.empty());
    EXPECT_EQ(outcome.desired, stage.routes.size());
    if (outcome.state != OverlayState::kHolds) {
      EXPECT_TRUE(outcome.next) << outcome.sentence;
      return;
    }
    EXPECT_EQ(outcome.applied, outcome.desired);
    if (!strangers_act_) EXPECT_EQ(stage.RoutesThere(), stage.RoutesWanted());
  }

  // Calls that `scenario` makes undisturbed.
  std::vector<Step> Calls(const Scenario& scenario, const emulator::Settings& settings) {
    OverlayStage stage;
    const Strangers strangers(stage);
    scenario.prepare(stage);
    stage.hns.Set(settings);
    std::vector<Step> calls;
    stage.api.calls = 0;
    stage.api.before = [&](const Step& step) -> std::optional<Hresult> {
      calls.push_back(step);
      return std::nullopt;
    };
    stage.StartKeeper();
    Run(stage, 5min);
    stage.keeper.reset();
    return calls;
  }

  void TearDown() override {
    std::printf("%zu cases\n", cases_);
    RecordProperty("cases", std::to_string(cases_));
  }

  std::size_t cases_ = 0;
  bool strangers_act_ = false;  // what holds at the end of a Round need not hold any more
  bool told_ = false;           // the service's notification is under way
};

// Runs `act` once, before or after the call `number`.
template <typename Act>
void At(OverlayStage& stage, std::size_t number, bool before, Act act) {
  stage.StartKeeper();
  const auto once = [number, act,
                     done = false](const Step& step) mutable -> std::optional<Hresult> {
    if (done || step.number < number) return std::nullopt;
    done = true;
    return act();
  };
  (before ? stage.api.before : stage.api.after) = once;
}

TEST_P(OverlayFaultMatrixTest, CallsFail) {
  constexpr std::array kCodes = {hresult::kUnspecified, hresult::kRpcCallFailed,
                                 hresult::kElementNotFound};
  const auto& hns = kHns[GetParam()];
  for (const Scenario& scenario : kScenarios) {
    for (const Step& call : Calls(scenario, hns.settings)) {
      for (const Hresult code : kCodes) {
        for (const std::size_t times : {1u, 2u, 1'000'000u}) {
          for (const bool carried_out : {false, true}) {
            // Of the unusual HNS only a part, for time.
            if (GetParam() != 0 && (times != 1 || code == hresult::kElementNotFound)) continue;
            Case(scenario, hns.settings,
                 std::string(hns.name) + ", call " + std::to_string(call.number) + " " +
                     call.function + " fails " + std::to_string(times) + " times with " +
                     std::string(Name(code)) + (carried_out ? " after" : " before"),
                 [&](OverlayStage& stage) {
                   stage.StartKeeper();
                   const auto fail = [call, code, times, failed = std::size_t{0}](
                                         const Step& step) mutable -> std::optional<Hresult> {
                     if (step.number < call.number || step.function != call.function ||
                         failed >= times) {
                       return std::nullopt;
                     }
                     ++failed;
                     return code;
                   };
                   (carried_out ? stage.api.after : stage.api.before) = fail;
                 });
          }
        }
      }
    }
  }
}

TEST_P(OverlayFaultMatrixTest, HnsRestartsAtEveryCall) {
  constexpr Restart kRestarts[] = {
      {Restart::Networks::kKept, true, true},
      {Restart::Networks::kKept, false, false},
      {Restart::Networks::kPersistentKept, true, false},
  };
  const auto& hns = kHns[GetParam()];
  for (const Scenario& scenario : kScenarios) {
    for (const Step& call : Calls(scenario, hns.settings)) {
      for (const Restart& restart : kRestarts) {
        for (const bool before : {true, false}) {
          for (const bool told : {true, false}) {
            if (GetParam() != 0 && (told || !before)) continue;
            // Untold, and at the end of a round, nothing but the next Recheck can find it.
            strangers_act_ = true;
            Case(
                scenario, hns.settings,
                std::string(hns.name) + ", restart " + std::to_string(&restart - kRestarts) +
                    (before ? " before" : " after") + " call " + std::to_string(call.number) + " " +
                    call.function,
                [&](OverlayStage& stage) {
                  OverlayStage* const on = &stage;
                  At(stage, call.number, before,
                     [this, on, restart, told]() -> std::optional<Hresult> {
                       on->hns.RestartService(restart);
                       told_ = told;
                       return std::nullopt;
                     });
                },
                restart.routes_kept, restart.endpoints_kept);
            strangers_act_ = false;
          }
        }
      }
    }
  }
}

TEST_P(OverlayFaultMatrixTest, TheProcessIsKilledAtEveryCall) {
  const auto& hns = kHns[GetParam()];
  for (const Scenario& scenario : kScenarios) {
    for (const Step& call : Calls(scenario, hns.settings)) {
      // Made by destructors, which may not throw; the next call is as good a place.
      if (call.function == "HcnCloseNetwork") continue;
      for (const bool before : {true, false}) {
        for (const bool reboot : {false, true}) {
          Case(
              scenario, hns.settings,
              std::string(hns.name) + (reboot ? ", reboot" : ", killed") +
                  (before ? " before" : " after") + " call " + std::to_string(call.number) + " " +
                  call.function,
              [&](OverlayStage& stage) {
                OverlayStage* const on = &stage;
                At(stage, call.number, before, [on, reboot]() -> std::optional<Hresult> {
                  if (reboot) on->hns.Reboot();
                  throw Killed();
                });
              },
              true, !reboot);
        }
      }
    }
  }
}

TEST_P(OverlayFaultMatrixTest, StrangersActAtEveryCall) {
  strangers_act_ = true;
  const struct {
    const char* name;
    void (*act)(OverlayStage&);
  } kActs[] = {
      {"a route of ours goes",
       [](OverlayStage& stage) {
         const auto there = stage.RoutesThere();
         if (!there.empty()) stage.RemovePolicy({"RemoteSubnetRoute", there.front()});
       }},
      {"a route comes",
       [](OverlayStage& stage) {
         if (stage.Overlay()) stage.AddPolicy(RemoteSubnetRoutePolicy(RouteTo("10.244.9.0/24")));
       }},
      {"a route of ours is altered",
       [](OverlayStage& stage) {
         const auto there = stage.RoutesThere();
         if (there.empty()) return;
         stage.RemovePolicy({"RemoteSubnetRoute", there.front()});
         stage.AddPolicy(RemoteSubnetRoutePolicy(RouteTo("10.244.1.0/24", "02:00:00:00:00:07")));
       }},
      {"HostRoute goes",
       [](OverlayStage& stage) {
         const auto network = stage.Overlay();
         if (network && network->Has("HostRoute")) stage.RemovePolicy(HostRoutePolicy());
       }},
      {"the network goes",
       [](OverlayStage& stage) {
         if (const auto network = stage.Overlay())
           EXPECT_TRUE(stage.stranger.DeleteNetwork(network->id, network->name).ok());
       }},
      {"the network goes, and another one comes",
       [](OverlayStage& stage) {
         const auto network = stage.Overlay();
         if (!network) return;
         EXPECT_TRUE(stage.stranger.DeleteNetwork(network->id, network->name).ok());
         // Slow ones refuse it so soon after a delete.
         stage.stranger.Create(OverlayNetwork(stage.wish)).IgnoreError();
       }},
      {"ours is made by somebody else",
       [](OverlayStage& stage) {
         if (!stage.Overlay()) stage.stranger.Create(OverlayNetwork(stage.wish)).IgnoreError();
       }},
  };
  const auto& hns = kHns[GetParam()];
  for (const Scenario& scenario : kScenarios) {
    for (const Step& call : Calls(scenario, hns.settings)) {
      for (const auto& act : kActs) {
        if (GetParam() != 0 && (&act - kActs) % 2 == 1) continue;  // for time
        Case(scenario, hns.settings,
             std::string(hns.name) + ", before call " + std::to_string(call.number) + " " +
                 call.function + ": " + act.name,
             [&](OverlayStage& stage) {
               OverlayStage* const on = &stage;
               At(stage, call.number, true, [on, run = act.act]() -> std::optional<Hresult> {
                 run(*on);
                 return std::nullopt;
               });
             });
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Hns, OverlayFaultMatrixTest,
                         ::testing::Range(std::size_t{0}, std::size(kHns)));

}  // namespace
}  // namespace weft::hns
