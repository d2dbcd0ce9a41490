// SPDX-License-Identifier: Apache-2.0
// Runs a keeper of an HNS object on a thread of its own (RoundThread), and passes it the spec from
// the control thread and HNS's notifications.
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
#include "absl/strings/str_cat.h"
#include "control/sinks/hns_subscription.h"
#include "control/sinks/round_thread.h"
#include "hns/api/api.h"
#include "hns/api/hresult.h"
#include "hns/object_ledger.h"

namespace weft::control {

// The state of HNS after the last round.
template <typename Outcome>
struct KeeperState {
  bool known = false;    // a round has ended
  bool settled = false;  // ... with every posted spec
  Outcome outcome;
  std::uint64_t calls = 0, modifying_calls = 0;  // since the start
  bool notified = false;  // HNS reports its restarts to us; otherwise only the poll finds them
};

// `Keeper` is hns::OverlayKeeper or one like it; the outcome's state has its least value while HNS
// does not answer. This object belongs to the control thread. The destructor changes nothing in
// HNS.
template <typename Keeper, typename Outcome>
class KeeperThread {
 public:
  using Spec = std::function<void(Keeper&)>;
  // Makes a keeper with every spec posted so far. Called on the control thread: at once, and after
  // a thread was left behind.
  using Make =
      std::function<std::unique_ptr<Keeper>(hns::Api&, const std::shared_ptr<hns::ObjectLedger>&)>;

  // `ledger`: of the HNS objects that are made; null: no ledger. `on_change`: State may differ;
  // called on the HNS thread, which none of this object's methods waits for then.
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

  // Applies `spec` in the next round, which starts at once. State is not settled until then.
  void Post(Spec spec) {
    {
      const std::lock_guard lock(shared_->mutex);
      shared_->specs.push_back(std::move(spec));
      shared_->waiting = true;
    }
    thread_.Wake();
  }
  // As Post, for a request that changes no spec: State stays settled.
  void Request(Spec request) {
    {
      const std::lock_guard lock(shared_->mutex);
      shared_->requests.push_back(std::move(request));
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
  // The owner calls this about every second; see RoundThread.
  std::string Supervise(RoundThread::Clock::time_point now) { return thread_.Supervise(now); }

 private:
  using Clock = RoundThread::Clock;
  class Session;
  // Shared by the control thread and the current session. A session that was left behind has no
  // access any more.
  struct Shared {
    std::mutex mutex;
    const Session* current = nullptr;
    std::vector<Spec> specs;     // for the next round
    std::vector<Spec> requests;  // for the next round, also of a later session
    bool waiting = true;
    KeeperState<Outcome> state;
    std::uint64_t calls_before = 0, modifying_before = 0;  // of former sessions
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
  RoundThread thread_;  // last: it starts at once
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
        keeper_(make(gate_, std::make_shared<GatedLedger>(std::move(ledger), *this))),
        limits_(limits) {}

  std::optional<Clock::time_point> Round() {
    if (DrainServiceGone()) {
      keeper_->OnServiceGone();
      resubscribe_ = true;
    }
    std::vector<Spec> specs, requests;
    {
      const std::lock_guard lock(shared_->mutex);
      if (shared_->current != this) return std::nullopt;
      specs.swap(shared_->specs);
      requests.swap(shared_->requests);
    }
    for (const Spec& spec : specs) spec(*keeper_);
    for (const Spec& request : requests) request(*keeper_);
    if (DrainChanged()) {
      notified_ = true;
      poll_at_ = std::min(poll_at_, inspected_at_ + limits_.poll_pause);
    }
    if (Clock::now() >= poll_at_) {
      if (!std::exchange(notified_, false)) resubscribe_ = true;  // it may have ended silently
      keeper_->Recheck();
      inspected_at_ = Clock::now();
      poll_at_ = inspected_at_ + limits_.poll;
    }
    // Subscribe before the round reads: changes from here on are notified, earlier ones are read.
    if (std::exchange(resubscribe_, false)) subscription_.Invalidate();
    subscription_.Keep(Clock::now());
    Outcome outcome = keeper_->Round(Clock::now());
    Clock::time_point due = std::min(poll_at_, outcome.next.value_or(poll_at_));
    due = std::min(due, subscription_.retry_at().value_or(due));
    Publish(std::move(outcome));
    return due;
  }

  // The call into HNS that is in progress: it can take a minute, or never return.
  std::optional<RoundThread::Call> call() const {
    const std::lock_guard lock(mutex_);
    return call_;
  }

 private:
  // On a thread of HNS. HNS notifies of networks that are created and deleted, of endpoints that
  // are attached and detached, and of its own end, but of no policy change: the poll finds those.
  void OnNotification(hns::Notification type, std::string_view data) {
    {
      const std::lock_guard lock(mutex_);
      if (type == hns::Notification::kServiceDisconnect) {
        service_gone_ = true;
      } else if (Concerns(type, data)) {
        changed_ = true;
      } else {
        return;
      }
    }
    wake_();
  }

  // Any network matters: a base network that is deleted, or one with our name that is created. Of
  // endpoints only our own does: the start and end of each pod is notified too.
  bool Concerns(hns::Notification type, std::string_view data) const {
    using hns::Notification;
    if (type == Notification::kNetworkCreate || type == Notification::kNetworkDelete) return true;
    if (type != Notification::kNetworkEndpointAttached &&
        type != Notification::kNetworkEndpointDetached)
      return false;
    return !endpoint_.empty() && absl::StrContains(absl::AsciiStrToLower(data), endpoint_);
  }

  bool DrainChanged() {
    const std::lock_guard lock(mutex_);
    return std::exchange(changed_, false);
  }

  bool DrainServiceGone() {
    const std::lock_guard lock(mutex_);
    return std::exchange(service_gone_, false);
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
      state.notified = subscription_.active();
      shared_->waiting = !shared_->specs.empty();
    }
    on_change_();
  }

  bool IsCurrent() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->current == this;
  }

  // Counts and shows this session's calls. Refuses further ones of a session that was left behind,
  // because its successor has changed HNS meanwhile. Closing handles and unsubscribing stay
  // possible.
  class Gate final : public hns::Api {
   public:
    Gate(hns::Api& api, Session& session) : api_(api), session_(session) {}

    hns::Reply Make(const hns::ApiCall& call) override {
      session_.Begin(call);
      const bool refused = !call.is_releasing() && !session_.IsCurrent();
      const hns::Reply reply =
          refused ? hns::Reply{hns::hresult::kManagerStopped} : api_.Make(call);
      session_.End(call, reply.code);
      return reply;
    }

   private:
    hns::Api& api_;
    Session& session_;
  };

  void Begin(const hns::ApiCall& call) {
    const std::string object = call.object();
    const std::lock_guard lock(mutex_);
    call_ = RoundThread::Call{absl::StrCat(call.function(), object.empty() ? "" : " ", object),
                              Clock::now()};
  }
  void End(const hns::ApiCall& call, hns::Hresult code) {
    {
      const std::lock_guard lock(mutex_);
      call_.reset();
    }
    ++calls_;
    modifying_calls_ += call.is_modifying() ? 1 : 0;
    resubscribe_ = resubscribe_ ||
                   (hns::IsServiceGone(code) && call.operation != hns::Operation::kUnsubscribe);
  }

  // Likewise for the ledger: the successor uses the same names.
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
  bool resubscribe_ = false;  // the subscription may have ended with the service

  mutable std::mutex mutex_;
  std::optional<RoundThread::Call> call_;        // guarded
  bool service_gone_ = false, changed_ = false;  // guarded
  std::string endpoint_;  // guarded: id of the keeper's own endpoint, in lower case

  Gate gate_{*api_, *this};
  const std::function<void()> on_change_;
  const std::function<void()> wake_;
  const std::unique_ptr<Keeper> keeper_;
  const RoundThread::Limits limits_;
  Clock::time_point inspected_at_ = Clock::now();
  Clock::time_point poll_at_ = inspected_at_ + limits_.poll;
  bool notified_ = false;  // HNS has notified us since the last poll

  // Last: notifications may arrive until it is destroyed.
  HnsSubscription subscription_{
      gate_, [this](hns::Notification type, std::string_view data) { OnNotification(type, data); }};
};

}  // namespace weft::control
