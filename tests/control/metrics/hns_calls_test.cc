// SPDX-License-Identifier: Apache-2.0
#include "control/metrics/hns_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/emulator/hns/emulator.h"
#include "hns/api/hresult.h"
#include "tests/hns/watched_api.h"
#include "tests/support/ethernet_node.h"

namespace weft::metrics {
namespace {

using hns::Kind;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

class HnsCallsTest : public ::testing::Test {
 protected:
  // Every call takes 30 ms, and is answered with `code`, or by an emulator.
  HnsCallsTest() {
    watched_->before = [this](const auto&) {
      now_ += milliseconds(30);
      return code_;
    };
  }
  std::string Text() const {
    Exposition exposition;
    calls_.AddTo(exposition);
    return exposition.Text();
  }
  void Enumerate(std::optional<hns::Hresult> code) {
    code_ = code;
    calls_.Enumerate(Kind::kNetwork, "");
    code_.reset();
  }

  hns::emulator::SystemClock clock_;
  weft::testing::EthernetNode node_{clock_, {}, "eth0"};
  hns::emulator::Emulator& emulator_ = node_.hns();
  const std::shared_ptr<hns::WatchedApi> watched_ = std::make_shared<hns::WatchedApi>(emulator_);
  std::chrono::steady_clock::time_point now_{std::chrono::hours(1)};
  std::optional<hns::Hresult> code_;
  HnsCalls calls_{watched_, [this] { return now_; }};
};

TEST_F(HnsCallsTest, ByFunctionAndResult) {
  Enumerate(std::nullopt);
  Enumerate(std::nullopt);
  Enumerate(hns::hresult::kInvalidPolicy);
  Enumerate(hns::hresult::kManagerStopped);
  const std::string text = Text();
  constexpr char kName[] = "weft_hns_call_duration_seconds";
  const std::string op = "{op=\"HcnEnumerateNetworks\",result=";
  EXPECT_THAT(text, HasSubstr(kName + ("_count" + op) + "\"ok\"} 2\n"));
  EXPECT_THAT(text, HasSubstr(kName + ("_sum" + op) + "\"ok\"} 0.06\n"));
  EXPECT_THAT(text, HasSubstr(kName + ("_bucket" + op) + "\"ok\",le=\"0.01\"} 0\n"));
  EXPECT_THAT(text, HasSubstr(kName + ("_bucket" + op) + "\"ok\",le=\"0.05\"} 2\n"));
  EXPECT_THAT(text, HasSubstr(kName + ("_count" + op) + "\"error\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(kName + ("_count" + op) + "\"gone\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("weft_hns_calls_in_progress 0\n"));
}

TEST_F(HnsCallsTest, ACallInProgressIsShown) {
  std::string during;
  watched_->before = [&](const auto&) {
    during = Text();
    return std::nullopt;
  };
  calls_.Enumerate(Kind::kNetwork, "");
  EXPECT_THAT(during, HasSubstr("weft_hns_calls_in_progress 1\n"));
}

// Many calls fail while HNS restarts, and a service that never answered did not restart.
TEST_F(HnsCallsTest, ARestartIsCountedOnce) {
  const auto gone = hns::hresult::kManagerStopped;
  const std::pair<std::optional<hns::Hresult>, int> rows[] = {
      {gone, 0}, {std::nullopt, 0}, {std::nullopt, 0}, {gone, 1},
      {gone, 1}, {std::nullopt, 1}, {gone, 2}};
  for (const auto& [code, restarts] : rows) {
    Enumerate(code);
    EXPECT_THAT(Text(), HasSubstr("weft_hns_restarts_total " + std::to_string(restarts) + "\n"));
  }
}

// It concerns an object of the former service.
TEST_F(HnsCallsTest, WhatIsReleasedTellsNothingOfARestart) {
  const auto close = [this](std::optional<hns::Hresult> code) {
    watched_->answer = [](const auto&, hns::Reply& reply) { reply = {}; };
    code_ = code;
    calls_.Close(Kind::kNetwork, hns::Handle{1});
    code_.reset();
    watched_->answer = nullptr;
  };
  Enumerate(std::nullopt);
  close(hns::hresult::kManagerStopped);
  EXPECT_THAT(Text(), HasSubstr("weft_hns_restarts_total 0\n"));
  Enumerate(hns::hresult::kManagerStopped);
  close(std::nullopt);
  Enumerate(hns::hresult::kManagerStopped);
  EXPECT_THAT(Text(), HasSubstr("weft_hns_restarts_total 1\n"));
}

TEST_F(HnsCallsTest, ANotifiedRestartCountsAndMayArriveLate) {
  hns::OnNotification notify;
  struct Subscribed final : hns::Api {
    explicit Subscribed(hns::OnNotification& to) : to_(to) {}
    hns::Reply Make(const hns::ApiCall& call) override {
      to_ = call.notify;
      return {};
    }
    hns::OnNotification& to_;
  };
  auto calls = std::make_unique<HnsCalls>(std::make_shared<Subscribed>(notify));
  int passed_on = 0;
  calls->Subscribe([&](hns::Notification, std::string_view) { ++passed_on; });
  const auto text = [&] {
    Exposition exposition;
    calls->AddTo(exposition);
    return exposition.Text();
  };
  notify(hns::Notification::kNetworkCreate, "{}");
  EXPECT_THAT(text(), HasSubstr("weft_hns_restarts_total 0\n"));
  notify(hns::Notification::kServiceDisconnect, "");
  EXPECT_THAT(text(), HasSubstr("weft_hns_restarts_total 1\n"));
  calls.reset();
  notify(hns::Notification::kServiceDisconnect, "");
  EXPECT_EQ(passed_on, 3);
}

TEST_F(HnsCallsTest, WhenANetworkWasCreated) {
  Enumerate(std::nullopt);
  EXPECT_FALSE(calls_.network_created());
  const auto begin = now_;
  code_ = hns::hresult::kInvalidPolicy;
  calls_.Create(Kind::kNetwork, hns::Handle::kNone, {}, "{}");
  EXPECT_FALSE(calls_.network_created());
  watched_->answer = [](const auto&, hns::Reply& reply) { reply = {}; };
  code_.reset();
  calls_.Create(Kind::kEndpoint, hns::Handle{1}, {}, "{}");
  EXPECT_FALSE(calls_.network_created());
  now_ = begin + std::chrono::seconds(9);
  calls_.Create(Kind::kNetwork, hns::Handle::kNone, {}, "{}");
  EXPECT_EQ(calls_.network_created(), begin + std::chrono::seconds(9));
}

}  // namespace
}  // namespace weft::metrics
