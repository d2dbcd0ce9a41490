// SPDX-License-Identifier: Apache-2.0
// Several threads on one emulator.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "control/emulator/hns/emulator.h"
#include "control/emulator/hns/model/document.h"
#include "tests/support/ethernet_node.h"

namespace weft::hns::emulator {
namespace {

constexpr const char* kV2 = R"({"SchemaVersion":{"Major":2,"Minor":0}})";

// A sleeping thread sleeps until all are released.
class Gate final : public Clock {
 public:
  Milliseconds Now() override { return Milliseconds(1); }
  void Sleep(Milliseconds) override {
    std::unique_lock lock(mutex_);
    ++asleep_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void WaitForSleeper() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asleep_ > 0; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int asleep_ = 0;
  bool open_ = false;
};

TEST(EmulatorThreadsTest, ASlowCallDelaysNoOther) {
  Gate clock;
  weft::testing::EthernetNode node(clock);
  Emulator& hns = node.hns();
  hns.Add({.function = "HcnEnumerateNetworks", .delay = Milliseconds(60000)});
  std::thread slow([&] { hns.Enumerate(Kind::kNetwork, kV2); });
  clock.WaitForSleeper();
  EXPECT_EQ(hns.Enumerate(Kind::kEndpoint, kV2).code, hresult::kOk);
  EXPECT_EQ(hns.Call("GET", "/networks/", "").code, hresult::kOk);
  clock.Open();
  slow.join();
}

std::string Name(int thread, int n) {
  return R"({"Type":"Internal","Name":")" + std::to_string(thread) + "." + std::to_string(n) +
         R"("})";
}

// Each of these ends a hung call; earlier and later calls are not delayed.
TEST(EmulatorThreadsTest, ACallHangsUntilTheFaultsAreClearedOrTheMachineBoots) {
  SystemClock clock;
  weft::testing::EthernetNode node(clock);
  Emulator& hns = node.hns();
  for (const bool boots : {false, true}) {
    for (const bool done : {false, true}) {
      hns.Add({.function = "HcnCreateNetwork", .done = done, .hangs = true});
      const std::string name = Name(boots, done);
      Reply reply;
      std::thread caller([&] { reply = hns.Create(Kind::kNetwork, Handle::kNone, Guid(), name); });
      while (hns.hanging_calls() == 0) std::this_thread::yield();
      const std::string networks = hns.Call("GET", "/networks/", "").text;
      EXPECT_EQ(networks.find(Json::parse(name)["Name"]) != std::string::npos, done);
      boots ? hns.Reboot() : hns.ClearFaults();
      caller.join();
      EXPECT_EQ(reply.code, hresult::kOk);
      EXPECT_EQ(hns.hanging_calls(), 0u);
      hns.ClearFaults();
    }
  }
}

TEST(EmulatorThreadsTest, CallsRestartsAndSubscriptionsRunConcurrently) {
  SystemClock clock;
  weft::testing::EthernetNode node(clock);
  Emulator& hns = node.hns();
  std::atomic<int> told = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (int n = 0; n < 50; ++n) {
        const Reply subscribed = hns.Subscribe([&](Notification, std::string_view) { ++told; });
        const Reply made = hns.Create(Kind::kNetwork, Handle::kNone, Guid(), Name(thread, n));
        EXPECT_EQ(made.code, hresult::kOk);
        hns.Query(Kind::kNetwork, made.handle, kV2);
        hns.Close(Kind::kNetwork, made.handle);
        hns.Unsubscribe(subscribed.handle);
        if (thread == 0 && n % 10 == 0) hns.RestartService();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(Json::parse(hns.Enumerate(Kind::kNetwork, kV2).text).size(), 150u);
  EXPECT_EQ(hns.open_handles(), 0u);
  EXPECT_EQ(hns.handle_misuses(), 0u);
  EXPECT_GT(told.load(), 0);
}

}  // namespace
}  // namespace weft::hns::emulator
