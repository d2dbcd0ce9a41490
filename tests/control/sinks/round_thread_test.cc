// SPDX-License-Identifier: Apache-2.0
#include "control/sinks/round_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <source_location>
#include <thread>

#include "tests/support/wait.h"

namespace weft::control {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;
using Clock = RoundThread::Clock;

// A service whose calls return when the test releases them. Shared with threads that may outlive
// it.
struct Service {
  // One call: counts, then waits for the gate.
  void Call() {
    std::unique_lock lock(mutex);
    ++calls;
    ++under_way;
    changed.notify_all();
    changed.wait(lock, [this] { return open; });
    --under_way;
    ++returned;
    changed.notify_all();
  }
  void Open() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
  void Close() {
    const std::lock_guard lock(mutex);
    open = false;
  }
  ::testing::AssertionResult Until(const std::function<bool()>& holds,
                                   std::source_location where = std::source_location::current()) {
    std::unique_lock lock(mutex);
    return testing::Await({60s, where}, changed, lock, holds);
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool open = true;
  int calls = 0, under_way = 0, returned = 0;
};

class RoundThreadTest : public ::testing::Test {
 protected:
  // Each session makes one call a round.
  RoundThread::Make Make(std::optional<Clock::duration> period = {}) {
    return [this, service = service_, period](std::function<void()>) {
      ++sessions_;
      const auto since = std::make_shared<std::optional<Clock::time_point>>();
      const auto guard = std::make_shared<std::mutex>();
      RoundThread::Session session;
      session.round = [service, period, since, guard] {
        const auto set = [&](std::optional<Clock::time_point> to) {
          const std::lock_guard lock(*guard);
          *since = to;
        };
        set(Clock::now());
        service->Call();
        set({});
        return period ? std::optional(Clock::now() + *period) : std::nullopt;
      };
      session.call = [since, guard]() -> std::optional<RoundThread::Call> {
        const std::lock_guard lock(*guard);
        if (!*since) return std::nullopt;
        return RoundThread::Call{"HcnModifyNetwork", **since};
      };
      return session;
    };
  }
  ::testing::AssertionResult Calls(int count,
                                   std::source_location where = std::source_location::current()) {
    return service_->Until([&] { return service_->calls >= count; }, where);
  }
  ::testing::AssertionResult Returned(
      int count, std::source_location where = std::source_location::current()) {
    return service_->Until([&] { return service_->returned >= count; }, where);
  }

  const std::shared_ptr<Service> service_ = std::make_shared<Service>();
  int sessions_ = 0;
};

TEST_F(RoundThreadTest, StartsAtOnceAndRunsAgainWhenWoken) {
  RoundThread thread(Make());
  ASSERT_TRUE(Returned(1));
  thread.Wake();
  ASSERT_TRUE(Returned(2));
  EXPECT_EQ(thread.Supervise(Clock::now()), "");
  EXPECT_EQ(sessions_, 1);
}

TEST_F(RoundThreadTest, RunsAgainByItselfWhenDue) {
  RoundThread thread(Make(0ms));
  EXPECT_TRUE(Returned(3));
}

TEST_F(RoundThreadTest, AWakeDuringARoundIsNotLost) {
  service_->Close();
  RoundThread thread(Make());
  ASSERT_TRUE(Calls(1));
  thread.Wake();
  service_->Open();
  EXPECT_TRUE(Returned(2));
}

TEST_F(RoundThreadTest, ASlowCallIsReportedAndWaitedFor) {
  service_->Close();
  RoundThread thread(Make());
  ASSERT_TRUE(Calls(1));
  EXPECT_EQ(thread.Supervise(Clock::now() + 4s), "");
  EXPECT_EQ(thread.Supervise(Clock::now() + 60s), "HcnModifyNetwork has been under way for 60 s");
  EXPECT_EQ(sessions_, 1);
  service_->Open();
  ASSERT_TRUE(Returned(1));
}

TEST_F(RoundThreadTest, PastItsDeadlineTheThreadIsAbandonedAndAnotherStarts) {
  service_->Close();
  RoundThread thread(Make());
  ASSERT_TRUE(Calls(1));
  EXPECT_THAT(thread.Supervise(Clock::now() + 3min),
              AllOf(HasSubstr("HcnModifyNetwork did not return"), HasSubstr("left behind")));
  ASSERT_TRUE(Calls(2)) << "of the second session";
  EXPECT_EQ(sessions_, 2);
  EXPECT_EQ(thread.left_behind(), 1u);
  EXPECT_THAT(thread.Supervise(Clock::now()),
              AllOf(HasSubstr("1 threads hang in HNS"), HasSubstr("not help, reboot this node")));

  service_->Open();
  ASSERT_TRUE(Returned(2));
  while (thread.left_behind() > 0) std::this_thread::yield();
  EXPECT_EQ(thread.Supervise(Clock::now()), "");
}

TEST_F(RoundThreadTest, TwoMayHangThenTheThirdIsWaitedFor) {
  service_->Close();
  RoundThread thread(Make());
  for (int call = 1; call <= 3; ++call) {
    ASSERT_TRUE(Calls(call));
    (void)thread.Supervise(Clock::now() + 3min);
  }
  EXPECT_THAT(thread.Supervise(Clock::now() + 4min),
              AllOf(HasSubstr("nothing is changed until it returns"),
                    HasSubstr("not help, reboot this node")));
  EXPECT_EQ(sessions_, 3);
  EXPECT_EQ(thread.left_behind(), 2u);
  service_->Open();
  ASSERT_TRUE(Returned(3));
}

TEST_F(RoundThreadTest, EndsAfterTheRoundInProgress) {
  {
    RoundThread thread(Make());
    ASSERT_TRUE(Returned(1));
  }
  const std::lock_guard lock(service_->mutex);
  EXPECT_EQ(service_->calls, 1);
}

}  // namespace
}  // namespace weft::control
