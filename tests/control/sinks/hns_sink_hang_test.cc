// SPDX-License-Identifier: Apache-2.0
// A call into HNS that does not return for minutes, and then does.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/control/sinks/hns_sink_rig.h"

namespace weft::control {
namespace {

using testing::HnsSinkRig;
using testing::MakePeer;
using namespace std::chrono_literals;

TEST(HnsSinkHangTest, AnAbandonedCallChangesNothingWhenItReturns) {
  HnsSinkRig rig({.slow = 5s, .deadline = 120s, .most_left = 2, .poll_pause = 1ms});
  HnsSink& sink = rig.Start();
  ASSERT_TRUE(rig.IsInSync());
  rig.emulator().Add({.function = "HcnModifyNetwork", .hangs = true});
  sink.Resync(std::vector{MakePeer("a", "10.244.1.0/24", "192.0.2.1")});
  ASSERT_TRUE(testing::Await(60s, [&] { return rig.emulator().hanging_calls() == 1; }));
  sink.Supervise(std::chrono::steady_clock::now() + 121s);
  sink.Resync(std::vector{MakePeer("b", "10.244.2.0/24", "192.0.2.2")});
  ASSERT_TRUE(rig.Holds());
  const auto modified = [&] { return rig.emulator().calls().at("HcnModifyNetwork"); };
  const auto before = modified();

  rig.emulator().ClearFaults();
  ASSERT_TRUE(testing::Await(
      60s, [&] { return sink.Supervise(std::chrono::steady_clock::now()).empty(); }));
  EXPECT_EQ(modified(), before) << "calls of a thread that was left behind";
  EXPECT_TRUE(rig.Routes().contains("10.244.2.0/24")) << "the successor's route";
}

}  // namespace
}  // namespace weft::control
