// SPDX-License-Identifier: Apache-2.0
#include "control/sinks/keeper_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <source_location>
#include <string>
#include <vector>

#include "tests/support/wait.h"

namespace weft::control {
namespace {

using hns::Notification;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

// Shared by the test and the keepers' threads; it outlives both.
struct Scene {
  std::mutex mutex;
  std::condition_variable changed;
  hns::OnNotification notify;
  int subscriptions = 0, unsubscriptions = 0, in_query = 0, rechecks = 0, asked = 0;
  int refused = 0;  // queries to come that find the service gone
  bool queries_return = true;
  std::optional<hns::Guid> endpoint;
  std::vector<int> rounds;  // of each keeper
  std::vector<std::string> entered;
  std::vector<bool> ended;

  template <typename Holds>
  ::testing::AssertionResult Until(const Holds& holds,
                                   std::source_location where = std::source_location::current()) {
    std::unique_lock lock(mutex);
    return testing::Await({10s, where}, changed, lock, holds);
  }
  template <typename Change>
  void Set(Change change) {
    const std::lock_guard lock(mutex);
    change();
    changed.notify_all();
  }
};

// Succeeds with nothing; a query may hang, and a subscription has ended with the service.
class Api final : public hns::Api {
 public:
  explicit Api(std::shared_ptr<Scene> scene) : scene_(std::move(scene)) {}
  hns::Reply Make(const hns::ApiCall& call) override {
    std::unique_lock lock(scene_->mutex);
    if (call.operation == hns::Operation::kQuery) {
      ++scene_->in_query;
      scene_->changed.notify_all();
      scene_->changed.wait(lock, [this] { return scene_->queries_return; });
      --scene_->in_query;
      if (scene_->refused > 0) {
        --scene_->refused;
        return {hns::hresult::kNoMoreEndpoints};
      }
    }
    if (call.operation == hns::Operation::kUnsubscribe) {
      ++scene_->unsubscriptions;
      return {hns::hresult::kNoMoreEndpoints};
    }
    if (call.operation != hns::Operation::kSubscribe) return {};
    ++scene_->subscriptions;
    scene_->notify = call.notify;
    hns::Reply reply;
    reply.handle = hns::Handle{1};
    return reply;
  }

 private:
  const std::shared_ptr<Scene> scene_;
};

class Ledger final : public hns::ObjectLedger {
 public:
  explicit Ledger(std::shared_ptr<Scene> scene) : scene_(std::move(scene)) {}
  void Intend(const hns::LedgerObject& object) override { Enter("before", object.name); }
  void Forget(const hns::LedgerObject& object) override { Enter("not created", object.name); }
  void Confirm(const hns::LedgerObject& object, const hns::Guid&) override {
    Enter("stands", object.name);
  }
  void Forget(hns::Kind, const std::string& name) override { Enter("gone", name); }
  std::vector<hns::KnownObject> Objects(hns::Kind) override { return {{"entered", {}}}; }

 private:
  void Enter(const std::string& what, const std::string& name) {
    scene_->Set([&] { scene_->entered.push_back(what + " " + name); });
  }
  const std::shared_ptr<Scene> scene_;
};

struct Outcome {
  std::optional<hns::TimePoint> next;
  std::optional<hns::Guid> endpoint_id;
  std::size_t keeper = 0;
};

class Keeper {
 public:
  Keeper(hns::Api& api, std::shared_ptr<hns::ObjectLedger> ledger, std::shared_ptr<Scene> scene)
      : api_(api), ledger_(std::move(ledger)), scene_(std::move(scene)) {
    const std::lock_guard lock(scene_->mutex);
    number_ = scene_->rounds.size();
    scene_->rounds.push_back(0);
    scene_->ended.push_back(false);
  }
  ~Keeper() {
    scene_->Set([this] { scene_->ended[number_] = true; });
  }
  void Query() { api_.Query(hns::Kind::kNetwork, hns::Handle::kNone, ""); }
  // As a create and what follows it; how many are entered.
  std::size_t Enter(const std::string& name) {
    const hns::LedgerObject object{hns::Kind::kNetwork, name, ""};
    ledger_->Intend(object);
    ledger_->Forget(object);
    ledger_->Confirm(object, hns::Guid());
    ledger_->Forget(hns::Kind::kNetwork, name);
    return ledger_->Objects(hns::Kind::kNetwork).size();
  }
  void OnServiceGone() { Query(); }
  void Recheck() {
    scene_->Set([this] { ++scene_->rechecks; });
  }
  Outcome Round(hns::TimePoint) {
    api_.Enumerate(hns::Kind::kNetwork, "");
    const std::lock_guard lock(scene_->mutex);
    ++scene_->rounds[number_];
    return {{}, scene_->endpoint, number_};
  }

 private:
  hns::Api& api_;
  const std::shared_ptr<hns::ObjectLedger> ledger_;
  const std::shared_ptr<Scene> scene_;
  std::size_t number_ = 0;
};

class KeeperThreadTest : public ::testing::Test {
 protected:
  using Thread = KeeperThread<Keeper, Outcome>;
  std::unique_ptr<Thread> Start() {
    auto thread = std::make_unique<Thread>(
        std::make_shared<Api>(scene_), std::make_shared<Ledger>(scene_),
        [scene = scene_](hns::Api& api, const std::shared_ptr<hns::ObjectLedger>& ledger) {
          return std::make_unique<Keeper>(api, ledger, scene);
        },
        [scene = scene_] { scene->Set([] {}); },
        RoundThread::Limits{
            .slow = 5s, .deadline = 120s, .most_left = 2, .poll = 1h, .poll_pause = 0ms});
    EXPECT_TRUE(scene_->Until([&] { return thread->State().known; }));
    return thread;
  }
  // Two requests, each in its own round: the first one's round has ended then.
  void AwaitRound(Thread& thread) {
    for (int n = 0; n < 2; ++n) {
      const int before = scene_->asked;
      thread.Request([scene = scene_](Keeper&) { scene->Set([&] { ++scene->asked; }); });
      ASSERT_TRUE(scene_->Until([&] { return scene_->asked > before; }));
    }
  }
  void Notify(Notification type, std::string_view data) {
    hns::OnNotification notify;
    scene_->Set([&] { notify = scene_->notify; });
    notify(type, data);
  }

  std::shared_ptr<Scene> scene_ = std::make_shared<Scene>();
};

TEST_F(KeeperThreadTest, NetworksAndTheKeepersOwnEndpointAreInspected) {
  const auto own = *hns::Guid::Parse("55fedb88-0000-0000-0000-00000000000a");
  const char* const of_own = R"({"ID":"55FEDB88-0000-0000-0000-00000000000A","Flags":0})";
  const char* const of_pod = R"({"ID":"55FEDB88-0000-0000-0000-00000000000B","Flags":0})";
  const struct {
    const char* description;
    std::optional<hns::Guid> endpoint;
    Notification type;
    const char* data;
    int rechecks;
  } rows[] = {
      {"a network was created", own, Notification::kNetworkCreate, "{}", 1},
      {"a network was deleted", own, Notification::kNetworkDelete, "{}", 1},
      {"a network is about to go", own, Notification::kNetworkPreDelete, "{}", 0},
      {"a namespace of the same name was created", own, Notification::kNamespaceCreate, of_own, 0},
      {"its endpoint is attached", own, Notification::kNetworkEndpointAttached, of_own, 1},
      {"its endpoint is detached", own, Notification::kNetworkEndpointDetached, of_own, 1},
      {"a pod's is attached", own, Notification::kNetworkEndpointAttached, of_pod, 0},
      {"a pod's is detached", own, Notification::kNetworkEndpointDetached, of_pod, 0},
      {"it has none", {}, Notification::kNetworkEndpointAttached, of_pod, 0},
  };
  for (const auto& row : rows) {
    scene_ = std::make_shared<Scene>();
    scene_->endpoint = row.endpoint;
    const auto thread = Start();
    Notify(row.type, row.data);
    AwaitRound(*thread);
    EXPECT_EQ(scene_->rechecks, row.rechecks) << row.description;
    EXPECT_EQ(scene_->subscriptions, 1) << row.description;
  }
}

TEST_F(KeeperThreadTest, AServiceThatWasGoneForACallIsSubscribedToAgainOnce) {
  const auto thread = Start();
  scene_->Set([&] { scene_->refused = 1; });
  thread->Post([](Keeper& keeper) {
    for (int n = 0; n < 2; ++n) keeper.Query();
  });
  for (int n = 0; n < 2; ++n) AwaitRound(*thread);
  EXPECT_EQ(scene_->unsubscriptions, 1);
  EXPECT_EQ(scene_->subscriptions, 2);
}

TEST_F(KeeperThreadTest, ACallThatHangsIsNamed) {
  const auto thread = Start();
  scene_->Set([&] { scene_->queries_return = false; });
  thread->Post([](Keeper& keeper) { keeper.Query(); });
  ASSERT_TRUE(scene_->Until([&] { return scene_->in_query == 1; }));
  EXPECT_THAT(thread->Supervise(RoundThread::Clock::now() + 60s),
              StartsWith("HcnQueryNetworkProperties has been under way for "));
  scene_->Set([&] { scene_->queries_return = true; });
  AwaitRound(*thread);
  EXPECT_EQ(thread->Supervise(RoundThread::Clock::now()), "");
}

// The service stopped, and its handles are being closed: that thread runs no further round.
TEST_F(KeeperThreadTest, AnAbandonedKeeperStartsNoRound) {
  const auto thread = Start();
  scene_->Set([&] { scene_->queries_return = false; });
  Notify(Notification::kServiceDisconnect, "");
  ASSERT_TRUE(scene_->Until([&] { return scene_->in_query == 1; }));
  EXPECT_THAT(thread->Supervise(RoundThread::Clock::now() + 121s), HasSubstr("left behind"));
  ASSERT_TRUE(scene_->Until([&] { return scene_->rounds.size() == 2 && scene_->rounds[1] == 1; }));
  scene_->Set([&] { scene_->queries_return = true; });
  ASSERT_TRUE(scene_->Until([&] { return scene_->ended[0]; }));
  EXPECT_THAT(scene_->rounds, ElementsAre(1, 1));
}

TEST_F(KeeperThreadTest, FactsOfAnAbandonedKeeperAreNotPublished) {
  const auto thread = Start();
  scene_->Set([&] { scene_->queries_return = false; });
  thread->Post([](Keeper& keeper) { keeper.Query(); });
  ASSERT_TRUE(scene_->Until([&] { return scene_->in_query == 1; }));
  EXPECT_THAT(thread->Supervise(RoundThread::Clock::now() + 121s), HasSubstr("left behind"));
  ASSERT_TRUE(scene_->Until([&] { return thread->State().outcome.keeper == 1; }));
  scene_->Set([&] { scene_->queries_return = true; });
  ASSERT_TRUE(scene_->Until([&] { return scene_->ended[0]; }));
  EXPECT_EQ(scene_->rounds[0], 2) << "it ended its round";
  EXPECT_EQ(scene_->unsubscriptions, 1) << "and its subscription";
  EXPECT_EQ(thread->State().outcome.keeper, 1u);
}

// Its successor has made things of the same names meanwhile.
TEST_F(KeeperThreadTest, AnAbandonedKeeperEntersNothing) {
  const auto thread = Start();
  scene_->Set([&] { scene_->queries_return = false; });
  thread->Post([](Keeper& keeper) {
    EXPECT_EQ(keeper.Enter("a"), 1u);
    keeper.Query();
    EXPECT_EQ(keeper.Enter("b"), 1u) << "it may read";
  });
  ASSERT_TRUE(scene_->Until([&] { return scene_->in_query == 1; }));
  EXPECT_THAT(thread->Supervise(RoundThread::Clock::now() + 121s), HasSubstr("left behind"));
  ASSERT_TRUE(scene_->Until([&] { return scene_->rounds.size() == 2 && scene_->rounds[1] == 1; }));
  scene_->Set([&] { scene_->queries_return = true; });
  ASSERT_TRUE(scene_->Until([&] { return scene_->ended[0]; }));
  EXPECT_THAT(scene_->entered, ElementsAre("before a", "not created a", "stands a", "gone a"));
}

}  // namespace
}  // namespace weft::control
