// SPDX-License-Identifier: Apache-2.0
#include "control/sinks/hns_subscription.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "control/emulator/hns/emulator.h"
#include "tests/support/emulator_clock.h"
#include "tests/support/ethernet_node.h"

namespace weft::control {
namespace {

using namespace std::chrono_literals;

class HnsSubscriptionTest : public ::testing::Test {
 protected:
  // Creates and deletes a network, which causes four notifications.
  int Notified() {
    notified_ = 0;
    const hns::Reply made =
        hns_.Create(hns::Kind::kNetwork, hns::Handle::kNone, id_, R"({"Name":"n","Type":"NAT"})");
    EXPECT_TRUE(made.ok());
    hns_.Close(hns::Kind::kNetwork, made.handle);
    hns_.Delete(hns::Kind::kNetwork, id_);
    return notified_;
  }
  std::uint64_t Calls(const char* function) {
    const auto calls = hns_.calls();
    const auto found = calls.find(function);
    return found == calls.end() ? 0 : found->second;
  }
  void DieUntold() {
    hns::emulator::Settings settings = hns_.settings();
    settings.disconnect_notified = false;
    hns_.Set(settings);
    hns_.RestartService();
  }

  const hns::Guid id_ = *hns::Guid::Parse("00000000-0000-0000-0000-000000000001");
  testing::EmulatorClock clock_;
  weft::testing::EthernetNode node_{clock_};
  hns::emulator::Emulator& hns_ = node_.hns();
  int notified_ = 0;
  hns::TimePoint now_{1h};
  HnsSubscription subscription_{hns_, [this](hns::Notification, std::string_view) { ++notified_; }};
};

TEST_F(HnsSubscriptionTest, ExistsOnceItIsKept) {
  EXPECT_FALSE(subscription_.active());
  EXPECT_EQ(Notified(), 0);
  for (int n = 0; n < 3; ++n) subscription_.Keep(now_);
  EXPECT_TRUE(subscription_.active());
  EXPECT_EQ(Calls("HcnRegisterServiceCallback"), 1u);
  EXPECT_EQ(Notified(), 4);
}

TEST_F(HnsSubscriptionTest, InDoubtItIsRenewedAndReportedOnce) {
  subscription_.Keep(now_);
  subscription_.Invalidate();
  EXPECT_FALSE(subscription_.active());
  subscription_.Keep(now_);
  EXPECT_TRUE(subscription_.active());
  EXPECT_EQ(Calls("HcnUnregisterServiceCallback"), 1u);
  EXPECT_EQ(Notified(), 4);
}

TEST_F(HnsSubscriptionTest, AfterAnUnreportedRestart) {
  subscription_.Keep(now_);
  DieUntold();
  EXPECT_EQ(Notified(), 0);
  EXPECT_TRUE(subscription_.active()) << "it cannot know";
  subscription_.Invalidate();
  subscription_.Keep(now_);
  EXPECT_EQ(Notified(), 4);
}

TEST_F(HnsSubscriptionTest, WhenRefusedItIsRetriedWithBackOff) {
  hns_.Add({.function = "HcnRegisterServiceCallback",
            .count = hns::emulator::Fault::kAlways,
            .code = hns::hresult::kUnspecified});
  std::vector<int> seconds;
  for (int n = 0; n < 9; ++n) {
    subscription_.Keep(now_);
    EXPECT_FALSE(subscription_.active());
    ASSERT_TRUE(subscription_.retry_at());
    const auto wait = *subscription_.retry_at() - now_;
    seconds.push_back(static_cast<int>(wait / 1s));
    const std::uint64_t calls = hns_.total_calls();
    subscription_.Keep(now_ + wait - 1ms);
    EXPECT_EQ(hns_.total_calls(), calls) << "too early";
    now_ += wait;
  }
  EXPECT_THAT(seconds, ::testing::ElementsAre(1, 2, 4, 8, 16, 32, 64, 80, 80));
  hns_.ClearFaults();
  subscription_.Keep(now_);
  EXPECT_TRUE(subscription_.active());
  EXPECT_FALSE(subscription_.retry_at());
  hns_.Add({.function = "HcnRegisterServiceCallback", .code = hns::hresult::kUnspecified});
  subscription_.Invalidate();
  subscription_.Keep(now_);
  EXPECT_EQ(subscription_.retry_at(), now_ + 1s) << "a new refusal";
}

TEST_F(HnsSubscriptionTest, AStoppedServiceIsTriedEachTime) {
  hns_.Stop();
  for (int n = 0; n < 3; ++n) subscription_.Keep(now_);
  EXPECT_EQ(Calls("HcnRegisterServiceCallback"), 3u);
  EXPECT_FALSE(subscription_.retry_at());
  EXPECT_EQ(Calls("HcnUnregisterServiceCallback"), 0u) << "there is none to end";
  hns_.Start();
  subscription_.Keep(now_);
  EXPECT_TRUE(subscription_.active());
}

TEST_F(HnsSubscriptionTest, ItsEndEndsIt) {
  {
    HnsSubscription other(hns_, [this](hns::Notification, std::string_view) { ++notified_; });
    other.Keep(now_);
    EXPECT_EQ(Notified(), 4);
  }
  EXPECT_EQ(Notified(), 0);
}

}  // namespace
}  // namespace weft::control
