// SPDX-License-Identifier: Apache-2.0
// Several threads on one emulator, and several emulators on one world file.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "hns/emulator/document.h"
#include "hns/emulator/emulator.h"
#include "hns/emulator/simple_host.h"
#include "hns/emulator/world_file.h"

namespace weft::hns::emulator {
namespace {

constexpr const char* kV2 = R"({"SchemaVersion":{"Major":2,"Minor":0}})";

// Who sleeps, sleeps until everybody is let go.
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

TEST(EmulatorThreadsTest, SlowCallHoldsUpNobodyElse) {
  Gate clock;
  SimpleHost host;
  Emulator hns(clock, host);
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

// Each of these ends a call that hangs; what came before or after is not held up.
TEST(EmulatorThreadsTest, ACallHangsUntilTheFaultsAreClearedOrTheMachineBoots) {
  SystemClock clock;
  SimpleHost host;
  Emulator hns(clock, host);
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

TEST(EmulatorThreadsTest, CallsRestartsAndSubscriptionsMeet) {
  SystemClock clock;
  SimpleHost host;
  Emulator hns(clock, host);
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

TEST(EmulatorThreadsTest, NothingIsLostBetweenThoseWhoShareAFile) {
  const auto path = std::filesystem::temp_directory_path() / "weft_hns_threads_world.json";
  const auto clean = [&] {
    for (const char* end : {"", ".lock", ".new"}) std::filesystem::remove(path.string() + end);
  };
  clean();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      SystemClock clock;
      SimpleHost host;
      Emulator hns(clock, host);
      WorldFile file(path.string());
      ASSERT_TRUE(hns.KeepIn(&file).ok());
      for (int n = 0; n < 20; ++n) {
        const Reply made = hns.Create(Kind::kNetwork, Handle::kNone, Guid(), Name(thread, n));
        EXPECT_EQ(made.code, hresult::kOk) << made.error_record;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  SystemClock clock;
  SimpleHost host;
  Emulator hns(clock, host);
  WorldFile file(path.string());
  ASSERT_TRUE(hns.KeepIn(&file).ok());
  EXPECT_EQ(Json::parse(hns.Enumerate(Kind::kNetwork, kV2).text).size(), 60u);
  clean();
}

}  // namespace
}  // namespace weft::hns::emulator
