// SPDX-License-Identifier: Apache-2.0
#include "control/reconciler.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/fake_sink.h"
#include "tests/support/fake_source.h"
#include "tests/support/lease_makers.h"
#include "tests/support/manual_clock.h"
#include "tests/support/seed.h"

namespace weft::control {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeSink;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeLease;
using testing::Prefix;
using ::testing::UnorderedElementsAreArray;

lease::OwnIdentity Us() {
  lease::OwnIdentity own;
  own.node_name = "us";
  own.v4 = {Prefix("10.244.0.0/24"), Prefix("10.244.0.0/16")};
  return own;
}

class ReconcilerTest : public ::testing::Test {
 protected:
  ReconcilerTest() { source.Start(reconciler); }

  ReconcilerHooks Hooks() {
    ReconcilerHooks hooks;
    hooks.on_change = [this] { ++changes; };
    hooks.on_own_node = [this](const auto& node) {
      own_nodes.push_back(node ? node->node.name : "none");
    };
    hooks.on_notice = [this](Severity, const std::string& line) { log.push_back(line); };
    return hooks;
  }
  // Turns the clock to the next deadline.
  void Step() {
    ASSERT_TRUE(reconciler.NextDeadline().has_value());
    clock.AdvanceTo(*reconciler.NextDeadline());
    reconciler.Tick();
  }
  std::vector<std::string> World(const FakeSink& of) const {
    std::vector<std::string> subnets;
    for (const auto& [subnet, peer] : of.entries) subnets.push_back(subnet.ToString());
    return subnets;
  }
  void Ready() {
    reconciler.SetOwn(Us());
    reconciler.AddSink(sink);
    source.Sync();
    log.clear();
  }

  testing::ManualClock clock;
  testing::FakeSource source;
  FakeSink sink;
  int changes = 0;
  std::vector<std::string> log;
  std::vector<std::string> own_nodes;
  Reconciler reconciler{clock, [] { return 0.0; }, Hooks()};
  lease::Lease a = MakeLease("a", "10.244.1.0/24", "192.0.2.1");
  lease::Lease b = MakeLease("b", "10.244.2.0/24", "192.0.2.2");
};

// ---- nothing is deleted before the source is in sync

TEST_F(ReconcilerTest, SinksAreNotTouchedBeforeTheFirstSnapshot) {
  sink.entries[Prefix("10.244.7.0/24")] = testing::MakePeer("old", "10.244.7.0/24", "192.0.2.7");
  EXPECT_FALSE(reconciler.report().in_sync) << "without a sink, too";
  EXPECT_FALSE(reconciler.is_current());
  reconciler.SetOwn(Us());
  EXPECT_FALSE(reconciler.report().in_sync);
  reconciler.AddSink(sink);
  reconciler.ResyncAll();
  reconciler.Tick();
  EXPECT_EQ(sink.resyncs + sink.updates, 0);
  EXPECT_FALSE(reconciler.report().in_sync);
  EXPECT_EQ(reconciler.NextDeadline(), std::nullopt);

  source.Put(a);
  source.Sync();
  EXPECT_THAT(World(sink), ElementsAre("10.244.1.0/24"));
  EXPECT_TRUE(reconciler.report().in_sync);
}

TEST_F(ReconcilerTest, SinksAreNotTouchedBeforeOurIdentityIsKnown) {
  reconciler.AddSink(sink);
  source.Put(MakeLease("us", "10.244.0.0/24", "192.0.2.9"));
  source.Sync();
  EXPECT_EQ(sink.resyncs, 0);
  reconciler.SetOwn(Us());
  EXPECT_EQ(sink.resyncs, 1);
  EXPECT_THAT(World(sink), IsEmpty());  // not even our own
}

TEST_F(ReconcilerTest, AnEqualIdentityDoesNothing) {
  Ready();
  const int before = changes;
  reconciler.SetOwn(Us());
  EXPECT_EQ(changes, before);
}

TEST_F(ReconcilerTest, AnIdentityThatWasExpectedIsNotKnownBeforeItIsSet) {
  ReconcilerOptions options;
  options.own = Us();
  Reconciler expecting(
      clock, [] { return 0.0; }, {}, options);
  expecting.AddSink(sink);
  testing::ReportSnapshot(expecting, {a}, {});
  EXPECT_EQ(sink.resyncs, 0);
  expecting.SetOwn(Us());
  EXPECT_THAT(World(sink), ElementsAre("10.244.1.0/24"));
}

TEST_F(ReconcilerTest, ConditionBeforeTheFirstSnapshotDeletesNothing) {
  sink.entries[Prefix("10.244.7.0/24")] = testing::MakePeer("old", "10.244.7.0/24", "192.0.2.7");
  reconciler.SetOwn(Us());
  reconciler.AddSink(sink);
  source.Break(absl::UnavailableError("file gone"));
  EXPECT_EQ(sink.entries.size(), 1u);
}

// ---- leases of an earlier process

auto Recalled(std::vector<lease::Lease> leases) {
  return [leases = std::move(leases)](absl::FunctionRef<void(const lease::Lease&)> visit) {
    for (const lease::Lease& lease : leases) visit(lease);
    return absl::OkStatus();
  };
}

TEST_F(ReconcilerTest, RecalledLeasesReachTheSinksAndAreNotInSync) {
  lease::OwnNode us;
  us.node.name = "us";
  ASSERT_TRUE(reconciler.Recall(us, Recalled({a, b})).ok());
  EXPECT_EQ(reconciler.own_node(), us);
  reconciler.AddSink(sink);
  EXPECT_EQ(sink.resyncs, 0) << "our identity is not known";
  reconciler.SetOwn(Us());
  EXPECT_THAT(World(sink), ElementsAre("10.244.1.0/24", "10.244.2.0/24"));
  const ReconcilerReport report = reconciler.report();
  EXPECT_TRUE(report.ready);
  EXPECT_FALSE(report.in_sync);
  EXPECT_FALSE(report.source_synced);
  EXPECT_TRUE(reconciler.is_recalled());
}

TEST_F(ReconcilerTest, TheFirstSnapshotReplacesRecalledLeases) {
  ASSERT_TRUE(reconciler.Recall({}, Recalled({a, b})).ok());
  reconciler.AddSink(sink);
  reconciler.SetOwn(Us());
  source.Begin();
  source.Put(a);
  lease::OwnIdentity claims = Us();
  claims.v4.claims = {{Prefix("10.9.0.0/24"), "network"}};
  reconciler.SetOwn(claims);
  EXPECT_THAT(World(sink), ElementsAre("10.244.1.0/24", "10.244.2.0/24")) << "before its end";
  const int resyncs = sink.resyncs;
  const std::uint64_t generation = reconciler.generation();
  source.End();
  EXPECT_GT(reconciler.generation(), generation);
  EXPECT_THAT(World(sink), ElementsAre("10.244.1.0/24"));
  EXPECT_EQ(sink.resyncs, resyncs + 1) << "what the earlier process left is read";
  EXPECT_TRUE(reconciler.report().in_sync);
  EXPECT_FALSE(reconciler.is_recalled());
  source.Sync();
  EXPECT_EQ(sink.resyncs, resyncs + 1) << "only the first one";
  lease::OwnNode us;
  us.node = {"us", "uid-1"};
  source.SetOwnNode(us);
  EXPECT_EQ(reconciler.own_node(), us);
}

// Our Node as recalled and as reported may be equal: the listener learns that it is confirmed.
TEST_F(ReconcilerTest, TheOwnNodeIsConfirmedByTheSource) {
  lease::OwnNode us;
  us.node.name = "us";
  ASSERT_TRUE(reconciler.Recall(us, Recalled({})).ok());
  EXPECT_TRUE(reconciler.is_own_recalled());
  source.SetOwnNode(us);
  EXPECT_FALSE(reconciler.is_own_recalled());
  EXPECT_THAT(own_nodes, ElementsAre("us"));
  source.SetOwnNode(us);
  EXPECT_EQ(own_nodes.size(), 1u);
}

// The journal may be of another cluster, or of a Node that was deleted.
TEST_F(ReconcilerTest, AnotherUidOfOurNodeDropsRecalledLeasesAtOnce) {
  for (const std::string uid : {"uid-1", "uid-2", "none"}) {
    SCOPED_TRACE(uid);
    FakeSink to;
    Reconciler recalling(clock, [] { return 0.0; }, {});
    recalling.AddSink(to);
    lease::OwnNode us;
    us.node = {"us", "uid-1"};
    ASSERT_TRUE(recalling.Recall(us, Recalled({a, b})).ok());
    recalling.SetOwn(Us());
    ASSERT_EQ(to.entries.size(), 2u);
    const std::uint64_t generation = recalling.generation();
    us.node.uid = uid;
    recalling.OnSnapshotBegin();
    recalling.OnOwnNode(uid == "none" ? std::nullopt : std::optional(us));
    const std::size_t left = uid == "uid-2" ? 0 : 2;
    EXPECT_EQ(to.entries.size(), left) << "before the snapshot's end";
    us.node.uid = "uid-3";
    recalling.OnOwnNode(us);
    EXPECT_EQ(to.entries.size(), left) << "the first report decides";
    EXPECT_GE(recalling.generation(), generation);
  }
}

TEST_F(ReconcilerTest, WhatCannotBeReadToItsEndIsNotRecalled) {
  reconciler.AddSink(sink);
  reconciler.SetOwn(Us());
  EXPECT_EQ(reconciler.Recall({},
                              [&](absl::FunctionRef<void(const lease::Lease&)> visit) {
                                visit(a);
                                return absl::DataLossError("cut off");
                              }),
            absl::DataLossError("cut off"));
  EXPECT_FALSE(reconciler.is_recalled());
  EXPECT_FALSE(reconciler.is_own_recalled());
  EXPECT_EQ(reconciler.own_node(), std::nullopt);
  EXPECT_THAT(World(sink), IsEmpty());
}

// After the first snapshot nothing depends on what was recalled, whatever conflicts with it.
TEST_F(ReconcilerTest, RecalledLeasesDecideNoConflict) {
  const std::uint32_t seed = TestSeed();
  std::mt19937 random(seed);
  const auto some = [&] {
    std::map<lease::NodeKey, lease::Lease> leases;
    for (int i = 0; i < 8; ++i) {
      const std::string name(1, static_cast<char>('a' + random() % 8));
      const char* const subnets[] = {"10.244.1.0/24", "10.244.2.0/24", "10.244.2.128/25",
                                     "10.244.3.0/24", "10.244.2.0/23"};
      const char* const addresses[] = {"192.0.2.1", "192.0.2.2", "10.244.3.7", "10.244.9.1"};
      const lease::Lease lease =
          MakeLease(name, subnets[random() % 5], addresses[random() % 4], random() % 4);
      leases.insert_or_assign(lease.node, lease);
    }
    return leases;
  };
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
    FakeSink with, without;
    Reconciler recalling(clock, [] { return 0.0; }, {}), fresh(clock, [] { return 0.0; }, {});
    recalling.AddSink(with);
    fresh.AddSink(without);
    std::vector<lease::Lease> recalled;
    for (const auto& [key, lease] : some()) {
      if (random() % 2 == 0) recalled.push_back(lease);
    }
    ASSERT_TRUE(recalling.Recall({}, Recalled(recalled)).ok());
    recalling.SetOwn(Us());
    fresh.SetOwn(Us());
    const auto reported = some();
    for (Reconciler* const each : {&recalling, &fresh}) {
      each->OnSnapshotBegin();
      for (const auto& [key, lease] : reported) each->OnUpsert(lease);
      each->OnSnapshotEnd();
    }
    ASSERT_EQ(with.entries, without.entries);
  }
}

// ---- snapshots are reported node by node

TEST_F(ReconcilerTest, WithinTheFirstSnapshotNothingReachesASink) {
  sink.entries[Prefix("10.244.7.0/24")] = testing::MakePeer("old", "10.244.7.0/24", "192.0.2.7");
  reconciler.SetOwn(Us());
  reconciler.AddSink(sink);
  source.Begin();
  source.Put(a);
  source.Put(b);
  source.Delete(b.node);
  reconciler.Tick();
  EXPECT_EQ(sink.resyncs + sink.updates, 0);
  EXPECT_EQ(reconciler.NextDeadline(), std::nullopt);
  EXPECT_FALSE(reconciler.report().source_synced);
  source.End();
  EXPECT_THAT(World(sink), ElementsAre("10.244.1.0/24"));
  EXPECT_EQ(sink.resyncs, 1);
  EXPECT_TRUE(reconciler.report().in_sync);
}

TEST_F(ReconcilerTest, AFirstSnapshotThatIsCutAndBegunAgainEndsOnce) {
  reconciler.SetOwn(Us());
  reconciler.AddSink(sink);
  source.Begin();
  source.Put(a);
  source.Break(absl::UnavailableError("cut"));
  source.Delete(a.node);  // unseen
  source.Put(b);
  EXPECT_EQ(sink.resyncs, 0);
  source.Recover();
  EXPECT_EQ(sink.resyncs, 1);
  EXPECT_THAT(World(sink), ElementsAre("10.244.2.0/24"))
      << "leases that only the cut one reported are gone";
}

TEST_F(ReconcilerTest, WithinALaterSnapshotLeasesAreAddedAtOnceAndRemovedAtItsEnd) {
  source.Put(a);
  Ready();
  source.Begin();
  source.Put(b);
  EXPECT_EQ(sink.updates, 0) << "gathered";
  Step();
  EXPECT_THAT(World(sink), ElementsAre("10.244.1.0/24", "10.244.2.0/24"));
  EXPECT_EQ(sink.updates, 1);
  source.End();
  EXPECT_THAT(World(sink), ElementsAre("10.244.2.0/24"));
  EXPECT_EQ(sink.updates, 2);
}

TEST_F(ReconcilerTest, TheEndOfASnapshotDoesNotWaitForTheBatchWindow) {
  Ready();
  source.Begin();
  source.Put(a);
  source.Put(b);
  source.End();
  EXPECT_THAT(World(sink), ElementsAre("10.244.1.0/24", "10.244.2.0/24"));
  EXPECT_EQ(sink.updates, 1);
  EXPECT_TRUE(reconciler.report().in_sync);
}

TEST_F(ReconcilerTest, ADeletionReportedWithinALaterSnapshotDoesNotWaitForItsEnd) {
  source.Put(a);
  Ready();
  source.Begin();
  source.Delete(a.node);
  Step();
  EXPECT_THAT(World(sink), IsEmpty());
}

TEST_F(ReconcilerTest, ALaterSnapshotThatIsCutDeletesNothing) {
  source.Put(a);
  Ready();
  source.Begin();
  source.Put(b);
  source.Break(absl::UnavailableError("cut"));
  Step();
  EXPECT_THAT(World(sink), ElementsAre("10.244.1.0/24", "10.244.2.0/24"));
}

TEST_F(ReconcilerTest, NodesThatSwapTheirSubnetsInASnapshotAreNeverWithoutThem) {
  source.Put(a);
  source.Put(b);
  Ready();
  std::swap(a.v4->subnet, b.v4->subnet);
  source.Begin();
  source.Put(a);
  source.Put(b);
  source.End();
  EXPECT_EQ(sink.updates, 1);
  EXPECT_EQ(sink.touched, 4) << "two at first, two replaced";
  EXPECT_EQ(sink.entries.at(Prefix("10.244.1.0/24")).node, "b");
}

// ---- events

TEST_F(ReconcilerTest, EventsReachTheSinks) {
  Ready();
  source.Put(a);
  source.Put(b);
  EXPECT_THAT(World(sink), ElementsAre("10.244.1.0/24", "10.244.2.0/24"));
  source.Delete(a.node);
  EXPECT_THAT(World(sink), ElementsAre("10.244.2.0/24"));
  EXPECT_EQ(sink.resyncs, 1);
  EXPECT_EQ(sink.updates, 3);
}

TEST_F(ReconcilerTest, AnUnchangedRelistTouchesNothing) {
  source.Put(a);
  Ready();
  const int touched = sink.touched;
  source.Sync();
  EXPECT_EQ(sink.touched, touched);
  EXPECT_EQ(sink.updates, 0);
}

// A heartbeat of a Node, a relist: the daemon inspects everything after a change.
TEST_F(ReconcilerTest, AnUnchangedLeaseIsNotReported) {
  source.Put(a);
  source.Refuse({"bad", "broken"});
  Ready();
  changes = 0;
  source.Put(a);
  source.Refuse({"bad", "broken"});
  source.Delete({"stranger", ""});
  source.Sync();
  EXPECT_EQ(changes, 0);
  a.created = 7;  // flannelctl shows it
  source.Put(a);
  EXPECT_EQ(changes, 1);
  source.Delete({"bad", ""});
  EXPECT_EQ(changes, 2) << "a refusal that ends";
  const std::uint64_t generation = reconciler.generation();
  a.readiness = {true, 1};  // flannelctl shows it, too, but it is no lease's
  source.Put(a);
  EXPECT_EQ(changes, 2);
  EXPECT_GT(reconciler.generation(), generation);
}

TEST_F(ReconcilerTest, ConditionKeepsWhatWasKnown) {
  source.Put(a);
  Ready();
  EXPECT_TRUE(reconciler.is_current());
  source.Break(absl::UnavailableError("line 3, column 1: not JSON"));
  EXPECT_FALSE(reconciler.is_current());
  EXPECT_THAT(World(sink), ElementsAre("10.244.1.0/24"));
  EXPECT_EQ(reconciler.report().condition, "line 3, column 1: not JSON");
  EXPECT_TRUE(reconciler.report().in_sync);
  source.Break(absl::UnavailableError("line 3, column 1: not JSON"));
  EXPECT_EQ(reconciler.report().conditions_total, 1u);

  source.Delete(a.node);  // unseen
  source.Put(b);
  source.Recover();
  EXPECT_EQ(reconciler.report().condition, std::nullopt);
  EXPECT_THAT(World(sink), ElementsAre("10.244.2.0/24"));
  EXPECT_THAT(log, ElementsAre("line 3, column 1: not JSON", HasSubstr("is gone"),
                               "the lease source can be read again"));
}

TEST_F(ReconcilerTest, BatchWindowGathersEvents) {
  ReconcilerOptions options;
  options.batch_window = std::chrono::milliseconds(100);
  Reconciler gathering(
      clock, [] { return 0.0; }, {}, options);
  gathering.SetOwn(Us());
  gathering.AddSink(sink);
  testing::ReportSnapshot(gathering, {}, {});
  clock.AdvanceTo(*gathering.NextDeadline());
  gathering.Tick();
  gathering.OnUpsert(a);
  gathering.OnUpsert(b);
  EXPECT_THAT(World(sink), IsEmpty());
  EXPECT_FALSE(gathering.report().in_sync);
  clock.AdvanceTo(*gathering.NextDeadline());
  gathering.Tick();
  EXPECT_EQ(sink.updates, 1);
  EXPECT_THAT(World(sink), ElementsAre("10.244.1.0/24", "10.244.2.0/24"));
}

// ---- sinks

TEST_F(ReconcilerTest, ALaterSinkGetsTheWholeStateAtOnce) {
  source.Put(a);
  Ready();
  FakeSink late("late");
  reconciler.AddSink(late);
  EXPECT_EQ(late.resyncs, 1);
  EXPECT_THAT(World(late), ElementsAre("10.244.1.0/24"));
  EXPECT_EQ(sink.resyncs, 1);
  reconciler.RemoveSink(late);
  source.Put(b);
  EXPECT_THAT(World(late), ElementsAre("10.244.1.0/24"));
}

TEST_F(ReconcilerTest, ASinkGetsOnlyItsFamilies) {
  FakeSink v4("v4"), v6("v6");
  reconciler.SetOwn(Us());
  reconciler.AddSink(v4, Families::kV4);
  reconciler.AddSink(v6, Families::kV6);
  reconciler.AddSink(sink);
  a.v6 = testing::HalfLease("fd00:0:0:1::/64", "2001:db8::1");
  source.Sync();
  source.Put(a);
  EXPECT_THAT(World(v4), ElementsAre("10.244.1.0/24"));
  EXPECT_THAT(World(v6), ElementsAre("fd00:0:0:1::/64"));
  EXPECT_THAT(World(sink), ElementsAre("10.244.1.0/24", "fd00:0:0:1::/64"));
}

TEST_F(ReconcilerTest, PendingItemsAreRetriedWithBackOff) {
  sink.failing = {a.v4->subnet};
  source.Put(a);
  source.Put(b);
  Ready();
  EXPECT_THAT(World(sink), ElementsAre("10.244.2.0/24"));
  EXPECT_FALSE(reconciler.report().in_sync);
  for (const int ms : {800, 1600, 3200}) {
    EXPECT_EQ(reconciler.NextDeadline(), clock.Now() + std::chrono::milliseconds(ms));
    Step();
  }
  EXPECT_EQ(sink.retries, 3);
  sink.failing.clear();
  Step();
  EXPECT_THAT(World(sink), ElementsAre("10.244.1.0/24", "10.244.2.0/24"));
  EXPECT_TRUE(reconciler.report().in_sync);
  EXPECT_THAT(log, Contains(HasSubstr("nothing pending any more")));

  // The next failure begins the back-off again.
  sink.failing = {a.v4->subnet};
  source.Delete(a.node);
  EXPECT_EQ(reconciler.NextDeadline(), clock.Now() + std::chrono::milliseconds(800));
}

TEST_F(ReconcilerTest, AFailingSinkIsReportedOnceForEachCause) {
  Ready();
  sink.failing = {a.v4->subnet};
  source.Put(a);
  for (int times = 0; times < 30; ++times) Step();  // some 12 minutes
  EXPECT_THAT(log,
              ElementsAre("fake: 1 pending, will be tried again: 10.244.1.0/24: told to fail"));
}

TEST_F(ReconcilerTest, AnotherCauseIsReportedAgain) {
  Ready();
  sink.failing = {a.v4->subnet};
  source.Put(a);
  sink.failing.insert(b.v4->subnet);
  source.Put(b);
  EXPECT_THAT(log, ElementsAre("fake: 1 pending, will be tried again: 10.244.1.0/24: told to fail",
                               "fake: 2 pending, will be tried again: 10.244.1.0/24: told to fail; "
                               "10.244.2.0/24: told to fail"));
}

TEST_F(ReconcilerTest, OfManyPendingItemsThreeAreNamed) {
  for (int i = 1; i <= 5; ++i) {
    const std::string subnet = "10.244." + std::to_string(i) + ".0/24";
    source.Put(MakeLease("n" + std::to_string(i), subnet, "192.0.2." + std::to_string(i)));
    sink.failing.insert(Prefix(subnet));
  }
  reconciler.SetOwn(Us());
  reconciler.AddSink(sink);
  source.Sync();
  EXPECT_THAT(log, Contains("fake: 5 pending, will be tried again: 10.244.1.0/24: told to fail; "
                            "10.244.2.0/24: told to fail; 10.244.3.0/24: told to fail; "
                            "and 2 more"));
}

TEST_F(ReconcilerTest, ARemovedSinkIsNotRetried) {
  sink.failing = {a.v4->subnet};
  source.Put(a);
  Ready();
  EXPECT_EQ(reconciler.NextDeadline(), clock.Now() + std::chrono::milliseconds(800));
  reconciler.RemoveSink(sink);
  EXPECT_EQ(reconciler.NextDeadline(), clock.Now() + std::chrono::minutes(5));
  EXPECT_TRUE(reconciler.report().in_sync);
  Step();
  EXPECT_EQ(sink.retries, 0);
}

// Failed entries and missing entries delay readiness alike.
TEST_F(ReconcilerTest, AnIncompleteSinkIsNotInSync) {
  class Forgetful final : public lease::Sink {
   public:
    std::string name() const override { return "forgetful"; }
    lease::SinkReport Resync(std::span<const lease::Peer> all) override {
      return {all.size(), 0, {}};
    }
    lease::SinkReport Update(const lease::PeerChanges&) override { return {}; }
    lease::SinkReport Retry() override { return {}; }
  } forgetful;
  source.Put(a);
  Ready();
  reconciler.AddSink(forgetful);
  EXPECT_FALSE(reconciler.report().in_sync);
  reconciler.RemoveSink(forgetful);
  EXPECT_TRUE(reconciler.report().in_sync);
}

TEST_F(ReconcilerTest, AResyncOfAllComesBeforeTheEventsThatWait) {
  ReconcilerOptions options;
  options.batch_window = std::chrono::milliseconds(100);
  Reconciler gathering(
      clock, [] { return 0.0; }, {}, options);
  gathering.SetOwn(Us());
  gathering.AddSink(sink);
  testing::ReportSnapshot(gathering, {}, {});
  clock.AdvanceTo(*gathering.NextDeadline());
  gathering.Tick();
  gathering.OnUpsert(a);
  gathering.ResyncAll();
  EXPECT_THAT(World(sink), ElementsAre("10.244.1.0/24"));
  EXPECT_EQ(gathering.NextDeadline(), clock.Now() + std::chrono::minutes(5)) << "nothing waits";
  EXPECT_EQ(sink.updates, 0);
  EXPECT_TRUE(gathering.report().in_sync);
}

TEST_F(ReconcilerTest, OneFailingSinkDoesNotStopTheNext) {
  FakeSink other("other");
  Ready();
  reconciler.AddSink(other);
  sink.failing = {a.v4->subnet};
  source.Put(a);
  EXPECT_THAT(World(sink), IsEmpty());
  EXPECT_THAT(World(other), ElementsAre("10.244.1.0/24"));
}

// ---- a sink with its own thread

TEST_F(ReconcilerTest, ASinkMayReportItsStateLater) {
  Ready();
  const int before = changes;
  reconciler.OnSinkReport(sink, {2, 1, {}});
  EXPECT_FALSE(reconciler.report().in_sync);
  EXPECT_EQ(reconciler.NextDeadline(), clock.Now() + ReconcilerOptions().resync_period)
      << "nothing failed: nothing is tried again";
  reconciler.OnSinkReport(sink, {2, 1, {"10.244.1.0/24: refused"}});
  EXPECT_THAT(log, ElementsAre(HasSubstr("fake: 1 pending, will be tried again: 10.244.1.0/24")));
  EXPECT_LT(*reconciler.NextDeadline(), clock.Now() + ReconcilerOptions().resync_period);
  reconciler.OnSinkReport(sink, {2, 2, {}});
  EXPECT_TRUE(reconciler.report().in_sync);
  EXPECT_EQ(changes, before + 3);
}

TEST_F(ReconcilerTest, AReportOfARemovedOrUnusedSinkIsIgnored) {
  reconciler.AddSink(sink);
  reconciler.OnSinkReport(sink, {2, 2, {}});
  FakeSink gone("gone");
  reconciler.OnSinkReport(gone, {2, 2, {}});
  reconciler.Recheck(sink);
  EXPECT_EQ(sink.retries, 0);
  EXPECT_EQ(changes, 0);
  EXPECT_EQ(reconciler.report().sinks[0].report.desired, 0u);
}

TEST_F(ReconcilerTest, ForeignChangesAreRepairedByThePeriodicResync) {
  source.Put(a);
  Ready();
  sink.entries.clear();
  EXPECT_EQ(reconciler.NextDeadline(), clock.Now() + std::chrono::minutes(5));
  Step();
  EXPECT_THAT(World(sink), ElementsAre("10.244.1.0/24"));
  EXPECT_EQ(reconciler.NextDeadline(), clock.Now() + std::chrono::minutes(5));
}

TEST_F(ReconcilerTest, TickBeforeTheDeadlineDoesNothing) {
  Ready();
  const int before = changes;
  reconciler.Tick();
  EXPECT_EQ(sink.resyncs, 1);
  EXPECT_EQ(changes, before);
}

// ---- what people read

TEST_F(ReconcilerTest, RefusedNodesAreNamedCountedAndShown) {
  Ready();
  source.Refuse({"bad", "spec.podCIDR is 7, not a string"});
  source.Refuse({"bad", "spec.podCIDR is 7, not a string"});
  EXPECT_THAT(log, ElementsAre("node \"bad\" is refused: spec.podCIDR is 7, not a string"));
  ASSERT_EQ(reconciler.table().Refused().size(), 1u);
  EXPECT_EQ(reconciler.table().Refused()[0].name, "bad");
  EXPECT_EQ(reconciler.report().refused, 1u);
}

TEST_F(ReconcilerTest, UnjoinedNodesAreReportedOnceAndOurOwnIsNot) {
  reconciler.SetOwn(Us());
  const lease::NotJoinedNode plain{{"plain", "u"}, "annotation x is missing"};
  const auto snapshot = [&] {
    reconciler.OnSnapshotBegin();
    reconciler.OnNotJoined(plain);
    reconciler.OnNotJoined({{"us", "u"}, "annotation x is missing"});
    reconciler.OnSnapshotEnd();
  };
  snapshot();
  EXPECT_THAT(log, ElementsAre("node \"plain\" has not joined: annotation x is missing",
                               "the source is in sync: 0 leases, 1 nodes that have not joined"));
  EXPECT_EQ(reconciler.report().not_joined, 1u);
  log.clear();
  snapshot();
  reconciler.OnNotJoined(plain);
  EXPECT_THAT(log, IsEmpty());
  reconciler.OnSnapshotBegin();
  for (int i = 0; i < 1000; ++i)
    reconciler.OnNotJoined({{"n" + std::to_string(i), ""}, "annotation x is missing"});
  reconciler.OnSnapshotEnd();
  EXPECT_EQ(log.size(), 21u);
  EXPECT_THAT(log, Contains("and 980 more nodes have not joined; see: flannelctl leases"));
}

// The daemon passes our identity after each read of the host.
TEST_F(ReconcilerTest, TheSameIdentityIsNoChange) {
  source.Put(a);
  Ready();
  changes = 0;
  reconciler.SetOwn(Us());
  EXPECT_EQ(changes, 0);
  EXPECT_EQ(sink.updates, 0);
}

TEST_F(ReconcilerTest, AChangedHostIsReportedAndRemovesNoLease) {
  source.Put(a);
  Ready();
  lease::OwnIdentity own = Us();
  own.v4.claims = {{Prefix("10.244.1.9/32"), "this node's address"}};
  reconciler.SetOwn(own);
  EXPECT_THAT(World(sink), ElementsAre("10.244.1.0/24"));
  EXPECT_THAT(log, ElementsAre(HasSubstr("lease of node \"a\" (10.244.1.0/24): host-changed: used, "
                                         "because")));
}

TEST_F(ReconcilerTest, AThousandRefusedNodesDoNotFloodTheLog) {
  std::vector<lease::RefusedNode> refused;
  for (int i = 0; i < 1000; ++i) refused.push_back({"n" + std::to_string(i), "broken"});
  testing::ReportSnapshot(reconciler, {}, refused);
  EXPECT_THAT(log, Contains("and 980 more nodes are refused; see: flannelctl leases"));
  EXPECT_LT(log.size(), 25u);
  log.clear();
  testing::ReportSnapshot(reconciler, {}, refused);
  EXPECT_THAT(log, IsEmpty());
}

TEST_F(ReconcilerTest, RefusalsOfASnapshotThatWasCutAreCountedAtTheEndOfTheNext) {
  std::vector<lease::RefusedNode> refused;
  for (int i = 0; i < 30; ++i) refused.push_back({"n" + std::to_string(i), "broken"});
  reconciler.OnSnapshotBegin();
  for (const lease::RefusedNode& node : refused) reconciler.OnRefused(node);
  EXPECT_EQ(log.size(), 20u);
  testing::ReportSnapshot(reconciler, {}, refused);
  EXPECT_THAT(log, Contains("and 10 more nodes are refused; see: flannelctl leases"));
}

// Row "peer with {"VtepMAC":"..."} (old Linux): skipped with a clear log".
TEST_F(ReconcilerTest, AnUnusableLeaseIsReportedOnce) {
  Ready();
  a.v4->vni.reset();
  source.Put(a);
  source.Sync();
  ASSERT_EQ(log.size(), 1u);
  EXPECT_THAT(
      log[0],
      HasSubstr("lease of node \"a\" (10.244.1.0/24): vni-mismatch: its backend-data has no VNI"));
  EXPECT_THAT(World(sink), IsEmpty());
  const auto mismatches = reconciler.table().Counts(
      IpFamily::kV4)[static_cast<std::size_t>(lease::PeerState::kVniMismatch)];
  EXPECT_EQ(mismatches, 1u);
}

TEST_F(ReconcilerTest, ALeaseThatFailsAgainIsReportedAgain) {
  Ready();
  const lease::Lease good = a;
  a.v4->vtep_mac.reset();
  source.Put(a);
  source.Put(good);
  source.Put(a);
  EXPECT_THAT(log, ElementsAre(HasSubstr("missing-mac"), HasSubstr("kept-lease")));
  log.clear();
  source.Delete(a.node);
  source.Put(a);
  EXPECT_THAT(log, ElementsAre(HasSubstr("is gone"), HasSubstr("missing-mac")))
      << "a node that was removed and returned";
  log.clear();
  a.v4->vtep_mac = good.v4->vtep_mac;
  a.v4->vni = 7;
  source.Put(a);
  EXPECT_THAT(log, ElementsAre(HasSubstr("vni-mismatch"))) << "another fault";
}

TEST_F(ReconcilerTest, ANodeThatVanishedInASnapshotIsForgotten) {
  Ready();
  a.v4->vtep_mac.reset();
  testing::ReportSnapshot(reconciler, {a}, {});
  testing::ReportSnapshot(reconciler, {}, {});
  testing::ReportSnapshot(reconciler, {a}, {});
  EXPECT_THAT(
      log, ElementsAre(HasSubstr("missing-mac"), HasSubstr("is gone"), HasSubstr("missing-mac")));
}

TEST_F(ReconcilerTest, ALeaseThatGoesIsReported) {
  source.Put(a);
  source.Put(b);
  Ready();
  reconciler.OnDelete(a.node);
  EXPECT_THAT(log, ElementsAre(HasSubstr("the lease of node \"a\" (10.244.1.0/24) is gone")));
  reconciler.OnDelete(a.node);
  testing::ReportSnapshot(reconciler, {b}, {});
  EXPECT_EQ(log.size(), 1u) << "nothing went";
  testing::ReportSnapshot(reconciler, {}, {});
  EXPECT_THAT(log.back(), HasSubstr("the lease of node \"b\" (10.244.2.0/24) is gone"));
}

TEST_F(ReconcilerTest, OfManyLeasesThatAreDeletedOneByOneTwentyAreNamed) {
  std::vector<lease::Lease> leases;
  for (int i = 1; i <= 25; ++i) {
    const std::string number = std::to_string(i);
    leases.push_back(MakeLease("n" + number, "10.244." + number + ".0/24", "192.0.2." + number));
    source.Put(leases.back());
  }
  Ready();
  const TimePoint begin = clock.Now();
  for (const lease::Lease& each : leases) {
    source.Delete(each.node);
    clock.Advance(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(log.size(), 20u);
  EXPECT_EQ(reconciler.NextDeadline(), begin + std::chrono::seconds(10));
  Step();
  EXPECT_EQ(log.back(), "and 5 more leases are gone; see: flannelctl leases");
  EXPECT_GT(*reconciler.NextDeadline(), clock.Now() + std::chrono::minutes(1)) << "once";
}

TEST_F(ReconcilerTest, LeasesAreReportedOnlyOnceOurIdentityIsKnown) {
  a.v4->vni = 7;
  source.Put(a);
  source.Sync();
  EXPECT_THAT(log, ElementsAre("the source is in sync: 1 leases"));
  reconciler.SetOwn(Us());
  EXPECT_THAT(log, Contains(HasSubstr("vni-mismatch")));
}

TEST_F(ReconcilerTest, AThousandBadLeasesDoNotFloodTheLog) {
  std::vector<lease::Lease> leases;
  for (int i = 0; i < 1000; ++i) {
    leases.push_back(MakeLease(
        "n" + std::to_string(i),
        "10." + std::to_string(i / 250) + "." + std::to_string(i % 250) + ".0/24", "192.0.2.1"));
    leases.back().v4->vtep_mac.reset();
  }
  Ready();
  testing::ReportSnapshot(reconciler, leases, {});
  EXPECT_THAT(log, Contains("and 980 more leases that are not plainly usable; see: flannelctl "
                            "leases"));
  EXPECT_EQ(log.size(), 21u);
}

TEST_F(ReconcilerTest, InSyncOnceEverySinkIs) {
  source.Put(a);
  source.Put(b);
  Ready();
  FakeSink other("other");
  reconciler.AddSink(other);
  ASSERT_TRUE(reconciler.report().in_sync);
  const struct {
    const char* description;
    lease::SinkReport report;
    bool in_sync;
  } rows[] = {
      {"all in place", {2, 2, {}}, true},
      {"the entries of before are programmed: its work continues", {2, 2, {}, false}, false},
      {"one is not in place", {2, 1, {}}, false},
      {"one too many is in place", {2, 2, {"10.244.9.0/24: cannot be removed"}}, false},
      {"one that can have no way", {1, 1, {}, true, {"10.244.2.0/24: no way"}}, true},
  };
  for (const auto& row : rows) {
    for (const FakeSink* at : {&sink, &other}) {
      reconciler.OnSinkReport(*at, row.report);
      EXPECT_EQ(reconciler.report().in_sync, row.in_sync) << row.description;
      const auto sinks = reconciler.report().sinks;
      const bool first = at == &sink;
      EXPECT_EQ(sinks[first ? 0 : 1].report.applied, row.report.applied) << row.description;
      EXPECT_EQ(sinks[first ? 1 : 0].report.applied, 2u) << row.description;
      reconciler.OnSinkReport(*at, {2, 2, {}});
      EXPECT_TRUE(reconciler.report().in_sync) << row.description;
    }
  }
}

TEST_F(ReconcilerTest, RefusalsOfASinkAreReportedWhenTheyDiffer) {
  source.Put(a);
  Ready();
  const lease::SinkReport refuses{0, 0, {}, true, {"10.244.1.0/24: no way"}};
  reconciler.OnSinkReport(sink, refuses);
  EXPECT_THAT(log, ElementsAre("fake: 10.244.1.0/24: no way"));
  reconciler.OnSinkReport(sink, refuses);
  reconciler.OnSinkReport(sink, {1, 1, {}});
  EXPECT_EQ(log.size(), 1u) << "neither the same again nor its end";
  EXPECT_EQ(reconciler.report().sinks[0].refusal_changes, 1u);
  clock.Advance(std::chrono::minutes(5));
  reconciler.OnSinkReport(sink, refuses);
  EXPECT_EQ(log.size(), 2u);
}

// A slice's own pause, not a failure's back-off: other work of the thread runs in between.
TEST_F(ReconcilerTest, ASinkWithMuchToDoIsCalledAgainAtOnceUntilItIsDone) {
  class Slicing final : public lease::Sink {
   public:
    std::string name() const override { return "slices"; }
    lease::SinkReport Resync(std::span<const lease::Peer>) override { return Report(); }
    lease::SinkReport Update(const lease::PeerChanges&) override { return Report(); }
    lease::SinkReport Retry() override {
      --left;
      return Report();
    }
    lease::SinkReport Report() const {
      lease::SinkReport report;
      report.desired = 3;
      report.applied = static_cast<std::size_t>(3 - left);
      report.more = left > 0;
      report.settled = left == 0;
      return report;
    }
    int left = 3;
  };
  Slicing slices;
  Ready();
  reconciler.AddSink(slices);
  for (int slice = 0; slice < 3; ++slice) {
    EXPECT_FALSE(reconciler.report().in_sync);
    EXPECT_EQ(reconciler.NextDeadline(), clock.Now());
    reconciler.Tick();
  }
  EXPECT_EQ(slices.left, 0);
  EXPECT_TRUE(reconciler.report().in_sync);
  EXPECT_NE(reconciler.NextDeadline(), clock.Now());
  EXPECT_THAT(log, IsEmpty()) << "nothing failed";
}

TEST_F(ReconcilerTest, ForeignChangesInASinkAreReportedWhenTheyDiffer) {
  Ready();
  lease::SinkReport report;
  report.notes = {"another program was here"};
  for (int times = 0; times < 2; ++times) reconciler.OnSinkReport(sink, report);
  EXPECT_THAT(log, ElementsAre("fake: another program was here"));
  clock.Advance(LogLimit::kPeriod);
  reconciler.OnSinkReport(sink, report);
  EXPECT_THAT(log, ::testing::SizeIs(1)) << "it lasts";
  EXPECT_EQ(reconciler.report().sinks[0].note_changes, 1u);
  EXPECT_TRUE(reconciler.report().in_sync) << "it fails nothing";
  reconciler.OnSinkReport(sink, {});
  EXPECT_THAT(log, ::testing::SizeIs(1));
}

TEST_F(ReconcilerTest, WhatASinkPutBackIsReportedAndWhatTheLimitSuppressesIsCounted) {
  Ready();
  const auto restored = [&](std::size_t count, const char* one) {
    lease::SinkReport report;
    report.restored = count;
    report.restored_one = one;
    reconciler.OnSinkReport(sink, report);
  };
  restored(1, "route A");
  EXPECT_THAT(log, ElementsAre("fake: restored route A, which another program or the system had "
                               "removed"));
  restored(0, "");
  restored(2, "route B");
  restored(3, "route C");
  EXPECT_EQ(log.size(), 1u);
  clock.Advance(LogLimit::kPeriod);
  restored(0, "");
  EXPECT_THAT(log.back(), HasSubstr("restored route B and 4 more, "));
  clock.Advance(LogLimit::kPeriod);
  restored(0, "");
  EXPECT_EQ(log.size(), 2u);
}

TEST_F(ReconcilerTest, OneSinkIsRechecked) {
  FakeSink other("other"), late("late");
  Ready();
  reconciler.AddSink(other);
  reconciler.Recheck(other);
  reconciler.Recheck(late);  // which was not added
  EXPECT_EQ(sink.retries, 0);
  EXPECT_EQ(other.retries, 1);
  EXPECT_EQ(late.retries, 0);
}

// ---- ready: one refused entry does not delay readiness

TEST_F(ReconcilerTest, ReadyWhileOneEntryIsRefusedAndOthersAreAccepted) {
  const auto report = [](std::size_t desired, std::size_t applied, std::size_t failed,
                         std::size_t stuck, std::size_t others) {
    lease::SinkReport made{desired, applied,
                           std::vector<std::string>(failed + stuck + others, "refused")};
    made.failed = failed;
    made.stuck = stuck;
    return made;
  };
  lease::SinkReport unanswered = report(2, 2, 0, 0, 0);
  unanswered.settled = false;
  source.Put(a);
  source.Put(b);
  Ready();
  const struct {
    const char* description;
    lease::SinkReport report;
    bool ready;
  } rows[] = {
      {"all in place", report(2, 2, 0, 0, 0), true},
      {"one of two is refused", report(2, 1, 1, 0, 0), true},
      {"all but one are refused", report(9, 1, 8, 0, 0), true},
      {"the only one is refused", report(1, 0, 1, 0, 0), true},
      {"an old one cannot be removed", report(2, 2, 0, 1, 0), true},
      {"all of several are refused", report(2, 0, 2, 0, 0), false},
      {"one is not tried yet", report(3, 1, 1, 0, 0), false},
      {"one is not tried yet, an old one is stuck", report(2, 1, 0, 1, 0), false},
      {"the sink as a whole: nothing can be read", report(2, 0, 0, 0, 1), false},
      {"the sink as a whole, without an entry", report(0, 0, 0, 0, 1), false},
      {"the sink as a whole, next to a refused one", report(2, 1, 1, 0, 1), false},
      {"an answer is outstanding", unanswered, false},
  };
  for (const auto& row : rows) {
    reconciler.OnSinkReport(sink, row.report);
    EXPECT_EQ(reconciler.report().ready, row.ready) << row.description;
    reconciler.OnSinkReport(sink, report(2, 2, 0, 0, 0));
    ASSERT_TRUE(reconciler.report().ready);
  }
}

TEST_F(ReconcilerTest, NotReadyBeforeEverySinkHasTriedAll) {
  EXPECT_FALSE(reconciler.report().ready) << "without a sink, too";
  sink.failing = {a.v4->subnet};
  reconciler.SetOwn(Us());
  reconciler.AddSink(sink);
  EXPECT_FALSE(reconciler.report().ready) << "nothing is known yet";
  source.Put(a);
  source.Put(b);
  source.Sync();
  EXPECT_TRUE(reconciler.report().ready);
  EXPECT_FALSE(reconciler.report().in_sync);
  EXPECT_THAT(World(sink), ElementsAre("10.244.2.0/24"));
  FakeSink other("other");
  other.settled = false;
  reconciler.AddSink(other);
  EXPECT_FALSE(reconciler.report().ready);
}

// ---- the same condition is logged once, and then at most every five minutes

TEST_F(ReconcilerTest, AConditionThatFlapsDoesNotFillTheLog) {
  source.Put(a);
  Ready();
  for (int second = 0; second < 600; ++second, clock.Advance(std::chrono::seconds(1))) {
    const std::string tries = std::to_string(second);
    reconciler.OnSinkReport(sink, {1, 0, {"10.244.1.0/24: tried " + tries + " times"}});
    reconciler.OnSinkReport(sink, {1, 1, {}});
    reconciler.OnCondition(absl::UnavailableError("no answer, tried " + tries + " times"));
    reconciler.OnCondition(absl::OkStatus());
  }
  EXPECT_EQ(log.size(), 8u) << "beginning and end of both, twice";
  EXPECT_EQ(reconciler.report().conditions_total, 600u);
}

// A line that the limit delayed is written later, not dropped.
TEST_F(ReconcilerTest, AConditionThatFlapsAndThenLastsIsLogged) {
  source.Put(a);
  Ready();
  sink.failing = {a.v4->subnet};
  const absl::Status down = absl::UnavailableError("no answer");
  lease::SinkReport broken{1, 0, {"10.244.1.0/24: refused"}};
  broken.notes = {"another program was here 2 times"};
  broken.refused = {"peer b has no route"};
  const std::vector<std::string> lines = {
      "fake: 1 pending, will be tried again: 10.244.1.0/24: refused", "no answer",
      "fake: another program was here 2 times", "fake: peer b has no route"};
  for (int times = 0; times < 2; ++times) {
    if (times > 0) {
      reconciler.OnSinkReport(sink, {1, 1, {}});
      reconciler.OnCondition(absl::OkStatus());
      log.clear();
      clock.Advance(std::chrono::seconds(1));
    }
    reconciler.OnSinkReport(sink, broken);
    reconciler.OnCondition(down);
    if (times == 0) EXPECT_THAT(log, UnorderedElementsAreArray(lines));
  }
  EXPECT_THAT(log, IsEmpty()) << "too soon";
  for (int second = 0; second < 360; second += 10) {
    clock.Advance(std::chrono::seconds(10));
    reconciler.OnSinkReport(sink, broken);
    if (reconciler.NextDeadline() <= clock.Now()) reconciler.Tick();
    reconciler.OnSinkReport(sink, broken);
    reconciler.OnCondition(down);
  }
  for (const std::string& line : lines) EXPECT_THAT(log, Contains(line).Times(1)) << line;
}

TEST_F(ReconcilerTest, AFailureInTheFirstOfSeveralSlicesIsLoggedAtTheirEnd) {
  Ready();
  lease::SinkReport slice{3, 1, {"10.244.1.0/24: refused"}};
  slice.more = true;
  reconciler.OnSinkReport(sink, slice);
  EXPECT_THAT(log, IsEmpty()) << "more work is left";
  slice.more = false;
  reconciler.OnSinkReport(sink, slice);
  EXPECT_THAT(log, ElementsAre("fake: 1 pending, will be tried again: 10.244.1.0/24: refused"));
}

TEST_F(ReconcilerTest, NotesThatCountAreNotLoggedAtEachCount) {
  Ready();
  lease::SinkReport report;
  for (int times = 0; times < 100; ++times) {
    report.notes = {"put back " + std::to_string(times) + " times"};
    reconciler.OnSinkReport(sink, report);
  }
  EXPECT_THAT(log, ElementsAre("fake: put back 0 times"));
}

TEST_F(ReconcilerTest, ASinkOfOneFamilyNeverSeesTheOther) {
  lease::OwnIdentity both = Us();
  both.v6 = {Prefix("fd00:0::/64"), Prefix("fd00::/16")};
  reconciler.SetOwn(both);
  lease::Lease dual = a;
  dual.v6 = testing::HalfLease("fd00:1::/64", "2001:db8::1");
  FakeSink v4("v4"), v6("v6");
  source.Put(dual);
  source.Sync();
  reconciler.AddSink(sink);
  reconciler.AddSink(v4, Families::kV4);
  reconciler.AddSink(v6, Families::kV6);
  lease::Lease second = b;
  second.v6 = testing::HalfLease("fd00:2::/64", "2001:db8::2");
  EXPECT_THAT(World(v4), ElementsAre("10.244.1.0/24")) << "resynced";
  EXPECT_THAT(World(v6), ElementsAre("fd00:1::/64"));
  source.Put(second);
  EXPECT_THAT(World(v4), ElementsAre("10.244.1.0/24", "10.244.2.0/24")) << "updated";
  EXPECT_THAT(World(v6), ElementsAre("fd00:1::/64", "fd00:2::/64"));
  EXPECT_EQ(World(sink).size(), 4u);
  reconciler.ResyncAll();
  EXPECT_EQ(World(v4).size(), 2u);
  EXPECT_EQ(World(v6).size(), 2u);
}

TEST_F(ReconcilerTest, ALeaseIsNotJudgedBeforeOurIdentityIsKnown) {
  source.Sync();
  lease::Lease half = b;
  half.v4->vtep_mac.reset();
  log.clear();
  source.Put(half);
  EXPECT_THAT(log, IsEmpty());
  reconciler.SetOwn(Us());
  EXPECT_THAT(log, Contains(HasSubstr("missing-mac")));
}

TEST_F(ReconcilerTest, ChangesOfARetryAreReported) {
  sink.failing = {Prefix("10.244.1.0/24")};
  source.Put(a);
  Ready();
  const int before = changes;
  sink.failing.clear();
  Step();
  EXPECT_TRUE(reconciler.report().in_sync);
  EXPECT_GT(changes, before) << "readiness is requested after a change";
}

TEST_F(ReconcilerTest, NotInSyncWhileASinksWorkGoesOn) {
  sink.settled = false;
  source.Put(a);
  Ready();
  EXPECT_EQ(sink.entries.size(), 1u);
  EXPECT_FALSE(reconciler.report().in_sync);
  reconciler.OnSinkReport(sink, {1, 1, {}});
  EXPECT_TRUE(reconciler.report().in_sync);
  source.Put(b);
  EXPECT_FALSE(reconciler.report().in_sync);
}

// Errors need an operator, warnings attention; the rest is information.
TEST_F(ReconcilerTest, LogLevelsFollowWhoMustAct) {
  std::vector<std::pair<Severity, std::string>> told;
  ReconcilerHooks hooks;
  hooks.on_notice = [&](Severity severity, const std::string& line) {
    told.emplace_back(severity, line);
  };
  Reconciler reporting(
      clock, [] { return 0.0; }, hooks);
  reporting.SetOwn(Us());
  reporting.AddSink(sink);
  lease::Lease shared = b;
  shared.v4->public_ip = a.v4->public_ip;
  lease::Lease half = MakeLease("h", "10.244.3.0/24", "192.0.2.3");
  half.v4->vtep_mac.reset();
  testing::ReportSnapshot(reporting, {a, shared, half}, {{"bad", "broken"}});
  reporting.OnCondition(absl::UnavailableError("file gone"));
  reporting.OnCondition(absl::OkStatus());
  const auto level_of = [&](std::string_view part) -> int {
    for (const auto& [level, line] : told) {
      if (line.find(part) != std::string::npos) return static_cast<int>(level);
    }
    return -1;
  };
  EXPECT_EQ(level_of("in sync"), static_cast<int>(Severity::kInfo));
  EXPECT_EQ(level_of("duplicate-public-ip"), static_cast<int>(Severity::kInfo)) << "it is used";
  EXPECT_EQ(level_of("missing-mac"), static_cast<int>(Severity::kWarning)) << "it is not";
  EXPECT_EQ(level_of("is refused"), static_cast<int>(Severity::kWarning));
  EXPECT_EQ(level_of("file gone"), static_cast<int>(Severity::kError));
  EXPECT_EQ(level_of("can be read again"), static_cast<int>(Severity::kInfo));
}

TEST_F(ReconcilerTest, AHealthySinkIsNotReported) {
  Ready();
  const int before = changes;
  reconciler.OnCondition(absl::OkStatus());
  EXPECT_THAT(log, IsEmpty());
  EXPECT_EQ(changes, before);
}

TEST_F(ReconcilerTest, OurOwnNodeIsPassedOnWhenItChanges) {
  lease::OwnNode own;
  own.node.name = "us";
  source.SetOwnNode(own);
  source.SetOwnNode(own);
  own.problems = {"spec.podCIDR is 7, not a string"};
  source.SetOwnNode(own);
  source.SetOwnNode(std::nullopt);
  EXPECT_THAT(own_nodes, ElementsAre("us", "us", "none"));
  EXPECT_THAT(log, ElementsAre("our own node: spec.podCIDR is 7, not a string"));
}

TEST_F(ReconcilerTest, TheDaemonMaySetTheSinksUpFromTheOwnNodeHook) {
  ReconcilerHooks hooks;
  Reconciler* late = nullptr;
  hooks.on_own_node = [&](const auto&) {
    late->SetOwn(Us());
    late->AddSink(sink);
  };
  Reconciler built(
      clock, [] { return 0.0; }, hooks);
  late = &built;
  built.OnOwnNode(lease::OwnNode{});
  testing::ReportSnapshot(built, {a}, {});
  EXPECT_THAT(World(sink), ElementsAre("10.244.1.0/24"));
}

TEST_F(ReconcilerTest, ReportCountsAndNames) {
  source.Put(a);
  Ready();
  const ReconcilerReport report = reconciler.report();
  EXPECT_TRUE(report.source_synced);
  EXPECT_EQ(report.leases, 1u);
  ASSERT_EQ(report.sinks.size(), 1u);
  EXPECT_EQ(report.sinks[0].name, "fake");
  EXPECT_TRUE(report.sinks[0].resynced);
  EXPECT_EQ(report.sinks[0].report.applied, 1u);
  EXPECT_GT(changes, 0);
}

}  // namespace
}  // namespace weft::control
