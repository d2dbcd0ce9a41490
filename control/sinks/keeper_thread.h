// SPDX-License-Identifier: Apache-2.0
// A keeper of something in HNS, on a thread of its own (RoundThread), with what it is told from the
// control thread and HNS's notifications.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "control/sinks/hns_subscription.h"
#include "control/sinks/round_thread.h"
#include "hns/api/api.h"
#include "hns/api/function_name.h"
#include "hns/api/hresult.h"
#include "hns/api/timed_api.h"
#include "hns/object_ledger.h"

namespace weft::control {

// How HNS stands, as of the last round.
template <typename Outcome>
struct KeeperState {
  bool known = false;    // a round has ended
  bool settled = false;  // ... with all that was told
  Outcome outcome;
  std::uint64_t calls = 0, modifying_calls = 0;  // since the beginning
  bool notified = false;  // HNS tells us of its restarts; else looking every minute finds them
};

// `Keeper` is hns::OverlayKeeper or one like it; the outcome's state is less than all others while
// HNS does not answer. This object lives on the control thread. Its end changes nothing in HNS.
template <typename Keeper, typename Outcome>
class KeeperThread {
 public:
  using Spec = std::function<void(Keeper&)>;
  // A keeper that knows all that was told so far. Called on the control thread: at once, and
  // whenever a thread was left behind.
  using Make =
      std::function<std::unique_ptr<Keeper>(hns::Api&, const std::shared_ptr<hns::ObjectLedger>&)>;

  // `ledger`: of what is made; null: no ledger. `on_change`: State may differ; on the HNS thread,
  // while none of this object's methods waits for it.
  KeeperThread(std::shared_ptr<hns::Api> api, std::shared_ptr<hns::ObjectLedger> ledger, Make make,
               std::function<void()> on_change, RoundThread::Limits limits)
      : api_(std::move(api)),
        ledger_(hns::OrNone(std::move(ledger))),
        make_(std::move(make)),
        on_change_(std::move(on_change)),
        limits_(limits),
        thread_([this](std::function<void()> wake) { return MakeSession(std::move(wake)); },
                limits) {}
  ~KeeperThread() {
    const std::lock_guard lock(shared_->mutex);
    shared_->current = nullptr;
  }

  // For the next round, which is at once.
  void Tell(Spec spec) {
    {
      const std::lock_guard lock(shared_->mutex);
      shared_->specs.push_back(std::move(spec));
      shared_->waiting = true;
    }
    thread_.Wake();
  }
  // As Tell, for what changes no spec: who waits until all that was told is done waits not for it.
  void Ask(Spec question) {
    {
      const std::lock_guard lock(shared_->mutex);
      shared_->questions.push_back(std::move(question));
    }
    thread_.Wake();
  }
  void Wake() { thread_.Wake(); }
  KeeperState<Outcome> State() const {
    const std::lock_guard lock(shared_->mutex);
    KeeperState<Outcome> state = shared_->state;
    state.settled = !shared_->waiting;
    return state;
  }
  // By the owner about every second; see RoundThread.
  std::string Look(RoundThread::Clock::time_point now) { return thread_.Look(now); }

 private:
  using Clock = RoundThread::Clock;
  class Session;
  // Between the control thread and the session that counts. One that was left behind has lost it.
  struct Shared {
    std::mutex mutex;
    const Session* current = nullptr;
    std::vector<Spec> specs;      // for its next round
    std::vector<Spec> questions;  // too; whoever answers
    bool waiting = true;
    KeeperState<Outcome> state;
    std::uint64_t calls_before = 0, modifying_before = 0;  // of sessions that are over
  };

  RoundThread::Session MakeSession(std::function<void()> wake) {
    const auto session = std::make_shared<Session>(api_, ledger_, shared_, make_, limits_,
                                                   on_change_, std::move(wake));
    {
      const std::lock_guard lock(shared_->mutex);
      shared_->current = session.get();
      shared_->specs.clear();
      shared_->calls_before = shared_->state.calls;
      shared_->modifying_before = shared_->state.modifying_calls;
    }
    return {[session] { return session->Round(); }, [session] { return session->call(); }};
  }

  const std::shared_ptr<hns::Api> api_;
  const std::shared_ptr<hns::ObjectLedger> ledger_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  const Make make_;
  const std::function<void()> on_change_;
  const RoundThread::Limits limits_;
  RoundThread thread_;  // last: it begins at once
};

// One thread's keeper, handles and subscription.
template <typename Keeper, typename Outcome>
class KeeperThread<Keeper, Outcome>::Session {
 public:
  Session(std::shared_ptr<hns::Api> api, std::shared_ptr<hns::ObjectLedger> ledger,
          std::shared_ptr<Shared> shared, const Make& make, const RoundThread::Limits& limits,
          std::function<void()> on_change, std::function<void()> wake)
      : api_(std::move(api)),
        shared_(std::move(shared)),
        on_change_(std::move(on_change)),
        wake_(std::move(wake)),
        keeper_(make(timed_, std::make_shared<GatedLedger>(std::move(ledger), *this))),
        limits_(limits) {}

  std::optional<Clock::time_point> Round() {
    if (TakeGone()) {
      keeper_->OnServiceGone();
      dead_ = true;
    }
    std::vector<Spec> specs, questions;
    {
      const std::lock_guard lock(shared_->mutex);
      if (shared_->current != this) return std::nullopt;
      specs.swap(shared_->specs);
      questions.swap(shared_->questions);
    }
    for (const Spec& spec : specs) spec(*keeper_);
    for (const Spec& question : questions) question(*keeper_);
    if (TakeNews()) {
      told_ = true;
      look_at_ = std::min(look_at_, inspected_at_ + limits_.news_pause);
    }
    if (Clock::now() >= look_at_) {
      if (!std::exchange(told_, false)) dead_ = true;  // perhaps; nobody would tell
      keeper_->Recheck();
      inspected_at_ = Clock::now();
      look_at_ = inspected_at_ + limits_.look;
    }
    // First: what happens from here on is told, what happened before is read.
    if (std::exchange(dead_, false)) subscription_.Doubt();
    subscription_.Keep(Clock::now());
    Outcome outcome = keeper_->Round(Clock::now());
    Clock::time_point due = std::min(look_at_, outcome.next.value_or(look_at_));
    due = std::min(due, subscription_.next().value_or(due));
    Publish(std::move(outcome));
    return due;
  }

  std::optional<RoundThread::Call> call() const {
    const std::optional<hns::TimedApi::Running> running = timed_.running();
    if (!running) return std::nullopt;
    return RoundThread::Call{running->what, running->since};
  }

 private:
  // On a thread of HNS, which tells of networks that come and go, of endpoints that are attached
  // and detached, and of its own end; of no change of a policy: those are left to limits_.look.
  void OnNotification(hns::Notification type, std::string_view data) {
    {
      const std::lock_guard lock(mutex_);
      if (type == hns::Notification::kServiceDisconnect) {
        gone_ = true;
      } else if (Concerns(type, data)) {
        news_ = true;
      } else {
        return;
      }
    }
    wake_();
  }

  // Any network: a base network that goes, or one of our name that comes. Endpoints: those of ours
  // only, since each pod's start and end is told.
  bool Concerns(hns::Notification type, std::string_view data) const {
    using hns::Notification;
    if (type == Notification::kNetworkCreate || type == Notification::kNetworkDelete) return true;
    if (type != Notification::kNetworkEndpointAttached &&
        type != Notification::kNetworkEndpointDetached)
      return false;
    return !endpoint_.empty() && absl::StrContains(absl::AsciiStrToLower(data), endpoint_);
  }

  bool TakeNews() {
    const std::lock_guard lock(mutex_);
    return std::exchange(news_, false);
  }

  bool TakeGone() {
    const std::lock_guard lock(mutex_);
    return std::exchange(gone_, false);
  }

  void Publish(Outcome outcome) {
    if constexpr (requires { outcome.endpoint_id->ToString(); }) {
      const std::lock_guard lock(mutex_);
      endpoint_ = outcome.endpoint_id ? outcome.endpoint_id->ToString() : "";
    }
    {
      const std::lock_guard lock(shared_->mutex);
      if (shared_->current != this) return;
      KeeperState<Outcome>& state = shared_->state;
      state.known = true;
      state.outcome = std::move(outcome);
      state.calls = shared_->calls_before + calls_;
      state.modifying_calls = shared_->modifying_before + modifying_calls_;
      state.notified = subscription_.stands();
      shared_->waiting = !shared_->specs.empty();
    }
    on_change_();
  }

  bool IsCurrent() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->current == this;
  }

  // A call that returns to a session that was left behind is its last: it knows nothing of what its
  // successor did meanwhile. What it holds is let go of.
  class Gate final : public hns::InterceptedApi {
   public:
    Gate(hns::Api& api, const Session& session) : InterceptedApi(api), session_(session) {}

   private:
    hns::Reply Carry(const hns::ApiCall& call, absl::FunctionRef<hns::Reply()> make) override {
      const bool lets_go =
          call.function.starts_with("HcnClose") || call.function == hns::kUnsubscribeName;
      if (lets_go || session_.IsCurrent()) return make();
      hns::Reply reply;
      reply.code = hns::hresult::kManagerStopped;
      return reply;
    }
    const Session& session_;
  };

  // Likewise what it enters: the same names are its successor's.
  class GatedLedger final : public hns::ObjectLedger {
   public:
    GatedLedger(std::shared_ptr<hns::ObjectLedger> ledger, const Session& session)
        : ledger_(std::move(ledger)), session_(session) {}
    void Intend(const hns::LedgerObject& object) override {
      if (session_.IsCurrent()) ledger_->Intend(object);
    }
    void Forget(const hns::LedgerObject& object) override {
      if (session_.IsCurrent()) ledger_->Forget(object);
    }
    void Confirm(const hns::LedgerObject& object, const hns::Guid& id) override {
      if (session_.IsCurrent()) ledger_->Confirm(object, id);
    }
    void Forget(hns::Kind kind, const std::string& name) override {
      if (session_.IsCurrent()) ledger_->Forget(kind, name);
    }
    std::vector<hns::KnownObject> Objects(hns::Kind kind) override {
      return ledger_->Objects(kind);
    }

   private:
    const std::shared_ptr<hns::ObjectLedger> ledger_;
    const Session& session_;
  };

  const std::shared_ptr<hns::Api> api_;
  const std::shared_ptr<Shared> shared_;
  std::uint64_t calls_ = 0, modifying_calls_ = 0;
  bool dead_ = false;  // the subscription, with the service that a call found gone
  Gate gate_{*api_, *this};
  hns::TimedApi timed_{
      gate_, [this](const hns::ApiCall& call, hns::Hresult code, Clock::duration) {
        ++calls_;
        modifying_calls_ += call.modifying ? 1 : 0;
        dead_ = dead_ || (hns::IsServiceGone(code) && call.function != hns::kUnsubscribeName);
      }};
  const std::function<void()> on_change_;
  const std::function<void()> wake_;
  const std::unique_ptr<Keeper> keeper_;
  const RoundThread::Limits limits_;
  Clock::time_point inspected_at_ = Clock::now();
  Clock::time_point look_at_ = inspected_at_ + limits_.look;
  bool told_ = false;  // of something, since the last look

  std::mutex mutex_;
  bool gone_ = false, news_ = false;  // guarded
  std::string endpoint_;              // guarded: the keeper's own, its id in lower case

  // Last: it is told until its end.
  HnsSubscription subscription_{timed_, [this](hns::Notification type, std::string_view data) {
                                  OnNotification(type, data);
                                }};
};

}  // namespace weft::control
