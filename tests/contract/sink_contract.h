// SPDX-License-Identifier: Apache-2.0
// The contract of every sink (control/lease/sink.h): include, derive a SinkRig, instantiate.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "control/lease/sink.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"

namespace weft::testing {

// One sink and the system it programs, which the test inspects and disturbs.
class SinkRig {
 public:
  virtual ~SinkRig() = default;
  virtual lease::Sink& sink() = 0;
  // The programmed subnets, whoever programmed them, and how each is reached.
  virtual std::map<std::string, std::string> InPlace() = 0;
  // What InPlace returns for this peer.
  virtual std::string WayTo(const lease::Peer& peer) = 0;
  // An entry of a former process of ours.
  virtual void PlantOurs(const lease::Peer& peer) = 0;
  // A foreign program removes it; the sink is not notified.
  virtual void Lose(const IpPrefix& subnet) = 0;
  // Changes made to the system so far; nothing for a sink that cannot count them.
  virtual std::optional<std::size_t> Touched() { return std::nullopt; }
  // From now on nothing can be changed for this subnet, or again. Only where a sink can fail.
  virtual void Fail(const IpPrefix& /*subnet*/) {}
  virtual void Heal() {}
};

struct SinkCase {
  std::string name;
  std::function<std::unique_ptr<SinkRig>()> make;
};
inline void PrintTo(const SinkCase& sink, std::ostream* out) { *out << sink.name; }

class SinkContract : public ::testing::TestWithParam<SinkCase> {
 protected:
  std::unique_ptr<SinkRig> rig = GetParam().make();
  const lease::Peer a = MakePeer("a", "10.244.1.0/24", "192.0.2.1");
  const lease::Peer b = MakePeer("b", "10.244.2.0/24", "192.0.2.2");
  const lease::Peer c = MakePeer("c", "10.244.3.0/24", "192.0.2.3");
  const lease::Peer a_moved = MakePeer("a", "10.244.1.0/24", "192.0.2.77", "02:00:00:00:00:77");
  lease::Sink& sink() { return rig->sink(); }

  void ExpectInPlace(const std::vector<lease::Peer>& peers) {
    std::map<std::string, std::string> ways;
    for (const lease::Peer& peer : peers) ways[peer.subnet.ToString()] = rig->WayTo(peer);
    EXPECT_EQ(rig->InPlace(), ways);
  }
  static void ExpectAll(const lease::SinkReport& report, std::size_t count) {
    EXPECT_EQ(report.desired, count);
    EXPECT_EQ(report.applied, count);
    EXPECT_THAT(report.pending, ::testing::IsEmpty());
  }
};

TEST_P(SinkContract, HasAName) { EXPECT_FALSE(sink().name().empty()); }

TEST_P(SinkContract, ResyncMakesTheActualStateTheDesiredState) {
  ExpectAll(sink().Resync(std::vector{a, b}), 2);
  ExpectInPlace({a, b});
  ExpectAll(sink().Resync(std::vector{b, c}), 2);
  ExpectInPlace({b, c});
}

TEST_P(SinkContract, ResyncRemovesEntriesOfAFormerProcess) {
  rig->PlantOurs(c);
  ExpectAll(sink().Resync(std::vector{a}), 1);
  ExpectInPlace({a});
}

TEST_P(SinkContract, ResyncWithNothingDesiredRemovesAll) {
  rig->PlantOurs(c);
  ExpectAll(sink().Resync({}), 0);
  ExpectInPlace({});
}

TEST_P(SinkContract, ResyncDoesNotTouchCorrectEntries) {
  rig->PlantOurs(a);
  const auto before = rig->Touched();
  ExpectAll(sink().Resync(std::vector{a}), 1);
  ExpectAll(sink().Resync(std::vector{a}), 1);
  EXPECT_EQ(rig->Touched(), before);
}

TEST_P(SinkContract, ResyncRepairsForeignChanges) {
  sink().Resync(std::vector{a, b});
  rig->Lose(a.subnet);
  ExpectInPlace({b});
  ExpectAll(sink().Resync(std::vector{a, b}), 2);
  ExpectInPlace({a, b});
}

TEST_P(SinkContract, UpdateAddsReplacesAndRemoves) {
  sink().Resync(std::vector{a, b});
  ExpectAll(sink().Update({{a_moved, c}, {b.subnet}}), 2);
  ExpectInPlace({a_moved, c});
}

TEST_P(SinkContract, ResyncReplacesWrongEntries) {
  sink().Resync(std::vector{a_moved, b});
  ExpectInPlace({a_moved, b});
  ExpectAll(sink().Resync(std::vector{a, b}), 2);
  ExpectInPlace({a, b});
}

// As after a restart: a peer moved while no process ran.
TEST_P(SinkContract, ResyncReplacesWrongEntriesOfAFormerProcess) {
  rig->PlantOurs(a_moved);
  ExpectAll(sink().Resync(std::vector{a}), 1);
  ExpectInPlace({a});
}

TEST_P(SinkContract, UpdateIsIdempotent) {
  sink().Resync(std::vector{a});
  sink().Update({{b}, {}});
  const auto before = rig->Touched();
  ExpectAll(sink().Update({{b}, {c.subnet}}), 2);
  EXPECT_EQ(rig->Touched(), before);
  ExpectInPlace({a, b});
}

// In addition, for sinks whose changes can be refused.
class FallibleSinkContract : public SinkContract {};

TEST_P(FallibleSinkContract, OneFailedItemStaysPendingAndTheRestIsApplied) {
  rig->Fail(b.subnet);
  const lease::SinkReport report = sink().Resync(std::vector{a, b, c});
  EXPECT_EQ(report.desired, 3u);
  EXPECT_EQ(report.applied, 2u);
  EXPECT_THAT(report.pending, ::testing::ElementsAre(::testing::HasSubstr("10.244.2.0/24")));
  ExpectInPlace({a, c});

  rig->Heal();
  ExpectAll(sink().Retry(), 3);
  ExpectInPlace({a, b, c});
}

TEST_P(FallibleSinkContract, AFailedRemovalStaysPendingAndIsRetried) {
  sink().Resync(std::vector{a, b});
  rig->Fail(b.subnet);
  const lease::SinkReport report = sink().Update({{c}, {b.subnet}});
  EXPECT_EQ(report.desired, 2u);
  EXPECT_EQ(report.applied, 2u);
  EXPECT_THAT(report.pending, ::testing::ElementsAre(::testing::HasSubstr("10.244.2.0/24")));
  rig->Heal();
  ExpectAll(sink().Retry(), 2);
  ExpectInPlace({a, c});
}

TEST_P(FallibleSinkContract, APendingItemThatIsNoLongerDesiredIsForgotten) {
  rig->Fail(b.subnet);
  sink().Resync(std::vector{a, b});
  ExpectAll(sink().Update({{}, {b.subnet}}), 1);
}

inline std::string SinkCaseName(const ::testing::TestParamInfo<SinkCase>& info) {
  return info.param.name;
}

}  // namespace weft::testing
