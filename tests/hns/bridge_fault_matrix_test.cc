// SPDX-License-Identifier: Apache-2.0
// Faults of HNS and the host at every call of the bridge's keeper, on every kind of HNS that
// concerns it. After each case network, endpoint and the host's interface are as desired, or
// expected_failures.h gives the reason.
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/hns/bridge_stage.h"
#include "tests/hns/expected_failures.h"

namespace weft::hns {
namespace {

using emulator::Restart;
using Step = WatchedApi::Step;
using namespace std::chrono_literals;

struct Killed {};

struct BridgeKind {
  const char* name;
  emulator::Settings settings;
};
const BridgeKind kBridgeKinds[] = {
    {"host-gw, the usual HNS", {}},
    {"host-gw, a slow one",
     {.management_ip = 45s, .new_interface = 45s, .settle = 6s, .name_release = 2s}},
    {"host-gw, one that takes a NIC at random",
     {.adapter_choice = emulator::AdapterChoice::kRandom}},
    {"host-gw, one that gives the management IP after the attach",
     {.management_ip_after_attach = true}},
    {"host-gw, one that shows every state of an endpoint", {.all_endpoint_states = true}},
    {"host-gw, 1809, where a second attach is another code", {.already_attached_code = 0x80070022}},
    {"host-gw, one with a link-local address first", {.link_local = 60s}},
    {"host-gw, one whose restart ends what a process may call", {.processes_die = true}},
};

struct Start {
  const char* name;
  bool in_sync;
};
constexpr Start kStarts[] = {{"empty HNS", false}, {"all is right", true}};

struct Event {
  const char* name;
  std::optional<Restart> restart;
  bool reboot = false;
};
std::vector<Event> Events() {
  Restart endpoints_kept = emulator::kReboot, stale = emulator::kReboot,
          unsettled = emulator::kReboot, new_ids = emulator::kReboot;
  endpoints_kept.endpoints_kept = stale.endpoints_kept = stale.attachments_stale = true;
  unsettled.unsettled = 60s;
  new_ids.adapter_ids_new = true;
  return {{"nothing happens", std::nullopt},
          {"restart", Restart()},
          {"restart without endpoints", Restart{.endpoints_kept = false}},
          {"restart without attachments", Restart{.attachments_kept = false}},
          {"restart with stale attachments", Restart{.attachments_stale = true}},
          {"restart without anything", Restart{.networks = Restart::Networks::kLost}},
          {"crash", Restart{.away = 120s}},
          {"reboot", emulator::kReboot, true},
          {"reboot with endpoints kept", endpoints_kept, true},
          {"reboot with stale attachments", stale, true},
          {"reboot with creates refused at first", unsettled, true},
          {"reboot with a new id of the adapter", new_ids, true}};
}

class BridgeFaultMatrixTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  const BridgeKind& hns() const { return kBridgeKinds[GetParam()]; }

  void Prepare(BridgeStage& stage, const Start& start) {
    stage.host.Add({"Storage", {Ip("10.9.9.9")}});
    if (start.in_sync) EXPECT_EQ(stage.Drive().state, BridgeState::kInSync);
    stage.hns.Set(hns().settings);
    stage.StartKeeper();
    stage.api.calls = 0;
  }

  std::size_t Calls(const Start& start) {
    BridgeStage stage;
    Prepare(stage, start);
    stage.Drive();
    return std::min<std::size_t>(stage.api.calls, 12);  // while it waits it repeats the same calls
  }

  void Drive(BridgeStage& stage, Duration most) {
    for (int rounds = 0; rounds < 1000; ++rounds) {
      try {
        const BridgeOutcome outcome = stage.Drive(most);
        EXPECT_FALSE(outcome.sentence.empty());
        const IpPrefix link_local = Cidr("169.254.0.0/16");
        EXPECT_FALSE(outcome.state == BridgeState::kInSync &&
                     link_local.Contains(*outcome.management_ip))
            << "peers cannot reach " << outcome.management_ip->ToString();
        return;
      } catch (const Killed&) {
        stage.StartKeeper();
      }
    }
    ADD_FAILURE() << "rounds without end";
  }

  void Play(const Start& start, std::size_t number, const Event& event, bool before) {
    BridgeStage stage;
    Prepare(stage, start);
    const auto act = [&, done = false](const Step& step) mutable -> std::optional<Hresult> {
      if (done || step.number < number || !event.restart) return std::nullopt;
      done = true;
      if (!event.reboot) {
        stage.hns.RestartService(*event.restart);
        return std::nullopt;
      }
      stage.hns.Reboot(*event.restart);
      throw Killed();
    };
    (before ? stage.api.before : stage.api.after) = act;
    Drive(stage, 2min);
    stage.api.before = stage.api.after = nullptr;
    stage.clock.now += 2min;
    stage.keeper->Recheck();
    Drive(stage, 5min);
    const BridgeOutcome outcome = stage.Round();
    EXPECT_EQ(outcome.state, BridgeState::kInSync) << outcome.sentence;
    EXPECT_TRUE(stage.IsInSync());
    EXPECT_EQ(outcome.management_ip, stage.spec.node_address) << "it is on another NIC";
    const auto interfaces = stage.host.endpoints();
    ASSERT_EQ(interfaces.size(), 1u) << "the host has no interface of it";
    EXPECT_EQ(interfaces[0].id, outcome.endpoint_id);
    EXPECT_LE(stage.api.calls, 3000u) << "it must not spin";
  }
};

TEST_P(BridgeFaultMatrixTest, AtEveryCall) {
  CaseJudge judge;
  const std::size_t every = MatrixSample();
  std::size_t cases = 0;
  for (const Start& start : kStarts) {
    const std::size_t calls = Calls(start);
    for (std::size_t number = 1; number <= calls; ++number) {
      for (const Event& event : Events()) {
        for (const bool before : {true, false}) {
          if (cases++ % every != 0) continue;
          judge.Run({hns().name, "BridgeAtEveryCall", start.name, event.name}, [&] {
            SCOPED_TRACE("call " + std::to_string(number) + (before ? ", before" : ", after"));
            Play(start, number, event, before);
          });
        }
      }
    }
  }
  judge.ExpectFewUnlisted();
  if (every == 1) judge.ExpectEachRowHolds(hns().name, "BridgeAtEveryCall");
  EXPECT_GE(cases, 130u);
  std::printf("%zu cases, %zu failed as expected\n", cases, judge.expected());
}

TEST(BridgeFaultMatrix, EachExpectedFailureIsOfAKindThatIsRun) {
  ExpectEachRowNamesOneOf(kBridgeKinds, "host-gw, ");
}

INSTANTIATE_TEST_SUITE_P(Hns, BridgeFaultMatrixTest,
                         ::testing::Range<std::size_t>(0, std::size(kBridgeKinds)));

}  // namespace
}  // namespace weft::hns
