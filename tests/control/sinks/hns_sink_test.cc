// SPDX-License-Identifier: Apache-2.0
#include "control/sinks/hns_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <source_location>

#include "tests/control/sinks/hns_sink_rig.h"

namespace weft::control {
namespace {

using hns::OverlayState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HnsSinkRig;
using ::testing::IsEmpty;
using testing::MakePeer;
using namespace std::chrono_literals;

using Strings = std::set<std::string>;

// Stops calls. It outlives the rig, because a hung thread refers to it.
class Gate {
 public:
  void Pass() {
    std::unique_lock lock(mutex_);
    reached_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  ::testing::AssertionResult IsReached(
      std::source_location where = std::source_location::current()) {
    std::unique_lock lock(mutex_);
    return testing::Await({60s, where}, changed_, lock, [this] { return reached_; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false, open_ = false;
};

class HnsSinkTest : public ::testing::Test {
 protected:
  HnsSinkRig rig_{{.slow = 5s, .deadline = 120s, .most_left = 2, .poll_pause = 1ms}};
  const lease::Peer a_ = MakePeer("a", "10.244.1.0/24", "192.0.2.1");
  const lease::Peer b_ = MakePeer("b", "10.244.2.0/24", "192.0.2.2");
};

TEST_F(HnsSinkTest, ItsOwnerIsAskedBeforeRoutesChange) {
  HnsSink& sink = rig_.Start();
  std::vector<std::size_t> before;
  sink.SetBeforeRoutes([&] { before.push_back(sink.Report().desired); });
  sink.Resync({{a_}});
  sink.Update({{b_}, {}});
  sink.Update({{}, {a_.subnet}});
  EXPECT_THAT(before, ElementsAre(0, 1, 2));
}

TEST_F(HnsSinkTest, TheNetworkExistsBeforeAnyPeerIsKnown) {
  HnsSink& sink = rig_.Start();
  EXPECT_EQ(sink.name(), "HNS network flannel.4096");
  ASSERT_TRUE(rig_.IsInSync());
  const HnsState state = sink.State();
  EXPECT_EQ(state.outcome.network_id, rig_.Read().id);
  EXPECT_EQ(state.outcome.dr_mac, rig_.Read().dr_mac());
  EXPECT_EQ(state.outcome.management_ip, testing::Address("192.168.1.10"));
  EXPECT_TRUE(state.notified);
  EXPECT_EQ(sink.Report().desired, 0u);
  EXPECT_GT(state.calls, state.modifying_calls);
  EXPECT_GT(state.modifying_calls, 0u);
}

TEST_F(HnsSinkTest, AReportShowsThatWorkIsInProgress) {
  const auto gate = std::make_shared<Gate>();
  rig_.emulator().OnEachCall([gate](const hns::ApiCall&) { gate->Pass(); }, {});
  HnsSink& sink = rig_.Start();
  const lease::SinkReport report = sink.Resync(std::vector{a_, b_});
  EXPECT_EQ(report.desired, 2u);
  EXPECT_EQ(report.applied, 0u);
  EXPECT_FALSE(report.settled);
  EXPECT_THAT(report.pending, IsEmpty()) << "nothing is known yet";
  gate->Open();
  ASSERT_TRUE(rig_.Holds());
  EXPECT_EQ(sink.Report().applied, 2u);
  sink.SetSpec(rig_.spec);
  EXPECT_TRUE(sink.Report().settled) << "nothing is to be done";
}

TEST_F(HnsSinkTest, Ipv6PeersAreIgnored) {
  HnsSink& sink = rig_.Start();
  sink.Resync(std::vector{a_, MakePeer("six", "fd00:1::/64", "fd00::1")});
  ASSERT_TRUE(rig_.Holds());
  EXPECT_EQ(sink.Report().desired, 1u);
  EXPECT_EQ(rig_.Routes(), Strings{"10.244.1.0/24"});
}

TEST_F(HnsSinkTest, WithoutTheServiceItReportsThatAndContinuesOnceItStarts) {
  rig_.emulator().Stop();
  HnsSink& sink = rig_.Start();
  sink.Resync(std::vector{a_});
  ASSERT_TRUE(rig_.Until([&] { return sink.Report().settled; }));
  EXPECT_THAT(sink.Report().pending, ElementsAre(HasSubstr("HNS")));
  EXPECT_EQ(sink.State().outcome.state, OverlayState::kHns);
  rig_.emulator().Start();
  sink.Retry();
  ASSERT_TRUE(rig_.Holds());
  EXPECT_THAT(sink.Report().pending, IsEmpty());
}

TEST_F(HnsSinkTest, ARestartIsReportedAndItsLossesAreRepaired) {
  HnsSink& sink = rig_.Start();
  sink.Resync(std::vector{a_, b_});
  ASSERT_TRUE(rig_.Holds());
  const hns::Guid before = rig_.Read().id;
  rig_.emulator().RestartService(
      {hns::emulator::Restart::Networks::kLost, /*routes_kept=*/false, /*endpoints_kept=*/false});
  ASSERT_TRUE(rig_.Until([&] {
    return sink.State().outcome.network_id != before &&
           sink.State().outcome.state == OverlayState::kInSync;
  }));
  EXPECT_EQ(rig_.Routes(), (Strings{"10.244.1.0/24", "10.244.2.0/24"}));
}

TEST_F(HnsSinkTest, ItSeesChangesAtTheEndOfItsFirstRound) {
  // HostRoute was put and is read back.
  const auto put = std::make_shared<std::atomic<bool>>(false);
  const auto lost = std::make_shared<std::atomic<bool>>(false);
  rig_.emulator().OnEachCall({}, [&, put, lost](const hns::ApiCall& call, const hns::Reply&) {
    if (call.function() == "HcnModifyNetwork") *put = true;
    if (call.function() != "HcnQueryNetworkProperties" || !*put || lost->exchange(true)) return;
    rig_.emulator().RestartService({hns::emulator::Restart::Networks::kLost,
                                    /*routes_kept=*/false, /*endpoints_kept=*/false});
  });
  HnsSink& sink = rig_.Start();
  ASSERT_TRUE(rig_.Until([&] { return *lost && sink.State().known; }));
  ASSERT_TRUE(rig_.Until([&] {
    const auto networks = hns::Client(rig_.emulator()).Networks(rig_.spec.name);
    return networks.ok() && !networks->empty();
  }));
}

TEST_F(HnsSinkTest, AfterAnUnreportedRestartItSubscribesAgain) {
  hns::emulator::Settings settings = rig_.emulator().settings();
  settings.disconnect_notified = false;
  rig_.emulator().Set(settings);
  HnsSink& sink = rig_.Start();
  sink.Resync(std::vector{a_});
  ASSERT_TRUE(rig_.Holds());
  rig_.emulator().RestartService({hns::emulator::Restart::Networks::kKept, /*routes_kept=*/false,
                                  /*endpoints_kept=*/false});
  // The next call finds its handle dead.
  lease::PeerChanges changes;
  changes.upserts.push_back(b_);
  sink.Update(changes);
  ASSERT_TRUE(rig_.Holds());
  EXPECT_EQ(rig_.Routes(), (Strings{"10.244.1.0/24", "10.244.2.0/24"}));
  EXPECT_TRUE(sink.State().notified);
  // Notifications arrive again.
  const hns::Guid before = rig_.Read().id;
  ASSERT_TRUE(rig_.emulator().Delete(hns::Kind::kNetwork, before).ok());
  ASSERT_TRUE(rig_.Until([&] {
    return sink.State().outcome.network_id != before &&
           sink.State().outcome.state == OverlayState::kInSync;
  }));
}

TEST_F(HnsSinkTest, ADeletedNetworkIsRecreated) {
  HnsSink& sink = rig_.Start();
  sink.Resync(std::vector{a_});
  ASSERT_TRUE(rig_.Holds());
  const hns::Guid before = rig_.Read().id;
  ASSERT_TRUE(rig_.emulator().Delete(hns::Kind::kNetwork, before).ok());
  ASSERT_TRUE(rig_.Until([&] {
    return sink.State().outcome.network_id != before &&
           sink.State().outcome.state == OverlayState::kInSync;
  }));
  EXPECT_EQ(rig_.Routes(), Strings{"10.244.1.0/24"});
}

TEST_F(HnsSinkTest, ADeletedBaseNetworkIsRecreated) {
  rig_.spec.base_network = true;
  HnsSink& sink = rig_.Start();
  ASSERT_TRUE(rig_.IsInSync());
  const hns::Guid base = sink.State().outcome.base_network_id.value();
  ASSERT_TRUE(rig_.emulator().Delete(hns::Kind::kNetwork, base).ok());
  EXPECT_TRUE(rig_.Until([&] { return sink.State().outcome.base_network_id != base; }));
}

// HNS does not notify of a changed policy.
TEST(HnsSinkPollTest, UnreportedChangesAreFoundByPolling) {
  HnsSinkRig rig({.poll = 20ms});
  HnsSink& sink = rig.Start();
  sink.Resync(std::vector{MakePeer("a", "10.244.1.0/24", "192.0.2.1")});
  ASSERT_TRUE(rig.Holds());
  for (const hns::Policy& policy : rig.Read().policies) {
    if (policy.type == hns::policy_type::kRemoteSubnetRoute) rig.Meddle("Remove", policy);
  }
  EXPECT_TRUE(rig.Until([&] { return rig.Routes() == Strings{"10.244.1.0/24"}; }));
}

TEST_F(HnsSinkTest, ACallThatNeverReturnsIsAbandonedAndWorkContinues) {
  const auto gate = std::make_shared<Gate>();
  HnsSink& sink = rig_.Start();
  ASSERT_TRUE(rig_.IsInSync());
  rig_.emulator().OnEachCall(
      [gate, first = std::make_shared<std::atomic<bool>>(true)](const hns::ApiCall& call) {
        if (call.function() == "HcnModifyNetwork" && first->exchange(false)) gate->Pass();
      },
      {});
  sink.Resync(std::vector{a_});
  ASSERT_TRUE(gate->IsReached());
  EXPECT_THAT(sink.Supervise(std::chrono::steady_clock::now() + 30s),
              HasSubstr("has been under way for 30 s"));
  EXPECT_THAT(sink.Supervise(std::chrono::steady_clock::now() + 121s), HasSubstr("left behind"));
  ASSERT_TRUE(rig_.Holds());
  EXPECT_EQ(rig_.Routes(), Strings{"10.244.1.0/24"});
  gate->Open();
}

// An empty peer list is known as well: the next thread removes what the first one could not.
TEST_F(HnsSinkTest, TheThreadAfterAnAbandonedOneRemovesTheLastRoute) {
  const auto gate = std::make_shared<Gate>();
  HnsSink& sink = rig_.Start();
  sink.Resync(std::vector{a_});
  ASSERT_TRUE(rig_.Holds());
  rig_.emulator().OnEachCall(
      [gate, first = std::make_shared<std::atomic<bool>>(true)](const hns::ApiCall& call) {
        if (call.function() == "HcnModifyNetwork" && first->exchange(false)) gate->Pass();
      },
      {});
  sink.Resync({});
  ASSERT_TRUE(gate->IsReached());
  EXPECT_THAT(sink.Supervise(std::chrono::steady_clock::now() + 121s), HasSubstr("left behind"));
  EXPECT_TRUE(rig_.Until([&] { return rig_.Routes().empty(); }));
  gate->Open();
}

TEST_F(HnsSinkTest, ItsEndChangesNothingAndTheNextOneNothingEither) {
  rig_.Start().Resync(std::vector{a_, b_});
  ASSERT_TRUE(rig_.Holds());
  rig_.Stop();
  EXPECT_EQ(rig_.Routes(), (Strings{"10.244.1.0/24", "10.244.2.0/24"}));
  EXPECT_EQ(rig_.emulator().open_handles(), 0u);

  HnsSink& next = rig_.Start();
  next.Resync(std::vector{a_, b_});
  ASSERT_TRUE(rig_.Holds());
  EXPECT_EQ(next.State().modifying_calls, 0u);
}

TEST_F(HnsSinkTest, AnotherAddressOfTheNodeIsFollowedInItsNetwork) {
  HnsSink& sink = rig_.Start();
  sink.Resync(std::vector{a_});
  ASSERT_TRUE(rig_.Holds());
  const hns::Guid network = rig_.Read().id;
  hns::OverlaySpec spec = rig_.spec;
  spec.node_address = testing::Address("192.168.1.20");
  rig_.host().SetAddresses("Ethernet", {spec.node_address});
  sink.SetSpec(spec);
  EXPECT_TRUE(rig_.Until([&] {
    const hns::OverlayOutcome outcome = sink.State().outcome;
    return outcome.management_ip == spec.node_address && outcome.notes.empty();
  })) << "HNS has the address, and the sink knows that it is this node's";
  EXPECT_EQ(rig_.Read().id, network) << "its pods live on";
  EXPECT_EQ(rig_.Routes(), Strings{"10.244.1.0/24"});
}

TEST_F(HnsSinkTest, AnotherPodCidrOfTheNodeIsFollowed) {
  HnsSink& sink = rig_.Start();
  sink.Resync(std::vector{a_});
  ASSERT_TRUE(rig_.Holds());
  hns::OverlaySpec spec = rig_.spec;
  spec.subnet = testing::Prefix("10.244.10.0/24");
  sink.SetSpec(spec);
  ASSERT_TRUE(rig_.Holds());
  EXPECT_EQ(rig_.Read().subnets[0].prefix, spec.subnet) << "no pod lived there";
  EXPECT_EQ(rig_.Routes(), Strings{"10.244.1.0/24"});
}

}  // namespace
}  // namespace weft::control
