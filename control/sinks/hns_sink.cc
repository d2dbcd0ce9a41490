// SPDX-License-Identifier: Apache-2.0
#include "control/sinks/hns_sink.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hns/retry_delay.h"
#include "hns/timed_api.h"

namespace weft::control {
namespace {

using Clock = RoundThread::Clock;

// What nobody tells us of is found this late.
constexpr auto kLookPeriod = std::chrono::seconds(60);

}  // namespace

// Between the control thread and the session that counts. One that was left behind has lost it.
struct HnsSink::Shared {
  std::mutex mutex;
  const Session* current = nullptr;
  std::vector<std::function<void(hns::OverlayKeeper&)>> wishes;  // for its next round
  bool waiting = true;  // wishes were told that no round has ended with
  HnsState state;
  std::uint64_t calls_before = 0, modifying_before = 0;  // of sessions that are over
};

// One thread's keeper, handles and subscription.
class HnsSink::Session {
 public:
  Session(std::shared_ptr<hns::Api> api, std::shared_ptr<Shared> shared,
          const hns::OverlayWish& wish, std::function<void()> on_change, std::function<void()> wake)
      : api_(std::move(api)),
        shared_(std::move(shared)),
        on_change_(std::move(on_change)),
        wake_(std::move(wake)),
        keeper_(timed_, wish) {}
  ~Session() {
    if (subscription_ != hns::Handle::kNone) timed_.Unsubscribe(subscription_);
  }

  std::optional<Clock::time_point> Round() {
    if (TakeGone()) {
      keeper_.OnServiceGone();
      subscription_ = hns::Handle::kNone;  // it died with the service
    }
    std::vector<std::function<void(hns::OverlayKeeper&)>> wishes;
    {
      const std::lock_guard lock(shared_->mutex);
      if (shared_->current != this) return std::nullopt;
      wishes.swap(shared_->wishes);
    }
    for (const auto& wish : wishes) wish(keeper_);
    if (Clock::now() >= look_at_) {
      keeper_.Recheck();
      look_at_ = Clock::now() + kLookPeriod;
    }
    hns::OverlayOutcome outcome = keeper_.Round(Clock::now());
    Clock::time_point due = std::min(look_at_, outcome.next.value_or(look_at_));
    // A service that does not answer takes no subscriptions either.
    if (outcome.state != hns::OverlayState::kHns) {
      Subscribe();
      if (subscription_ == hns::Handle::kNone) due = std::min(due, subscribe_at_);
    }
    Publish(std::move(outcome));
    return due;
  }

  std::optional<RoundThread::Call> call() const {
    const std::optional<hns::TimedApi::Running> running = timed_.running();
    if (!running) return std::nullopt;
    return RoundThread::Call{running->what, running->since};
  }

 private:
  void Subscribe() {
    if (subscription_ != hns::Handle::kNone || Clock::now() < subscribe_at_) return;
    const hns::Reply reply = timed_.Subscribe(
        [this](hns::Notification type, std::string_view data) { OnNotification(type, data); });
    if (reply.ok()) {
      subscription_ = reply.handle;
      subscribe_delay_.Reset();
    } else {
      subscribe_at_ = Clock::now() + subscribe_delay_.Next();
    }
  }

  // On a thread of HNS.
  void OnNotification(hns::Notification type, std::string_view data) {
    using hns::Notification;
    if (type == Notification::kServiceDisconnect) {
      const std::lock_guard lock(mutex_);
      gone_ = true;
    } else if (type != Notification::kNetworkDelete || !IsOfOurs(data)) {
      return;
    } else {
      const std::lock_guard lock(shared_->mutex);
      if (shared_->current != this) return;
      shared_->wishes.emplace_back([](hns::OverlayKeeper& keeper) { keeper.Recheck(); });
    }
    wake_();
  }

  bool IsOfOurs(std::string_view data) {
    const std::lock_guard lock(mutex_);
    return !network_.empty() && absl::StrContains(absl::AsciiStrToLower(data), network_);
  }

  bool TakeGone() {
    const std::lock_guard lock(mutex_);
    return std::exchange(gone_, false);
  }

  void Publish(hns::OverlayOutcome outcome) {
    {
      const std::lock_guard lock(mutex_);
      network_ = outcome.network_id ? outcome.network_id->ToString() : "";
    }
    {
      const std::lock_guard lock(shared_->mutex);
      if (shared_->current != this) return;
      HnsState& state = shared_->state;
      state.known = true;
      state.outcome = std::move(outcome);
      state.calls = shared_->calls_before + calls_;
      state.modifying_calls = shared_->modifying_before + modifying_calls_;
      state.notified = subscription_ != hns::Handle::kNone;
      shared_->waiting = !shared_->wishes.empty();
    }
    on_change_();
  }

  const std::shared_ptr<hns::Api> api_;
  std::uint64_t calls_ = 0, modifying_calls_ = 0;
  hns::TimedApi timed_{*api_, [this](const hns::ApiCall& call, hns::Hresult, Clock::duration) {
                         ++calls_;
                         modifying_calls_ += call.modifying ? 1 : 0;
                       }};
  const std::shared_ptr<Shared> shared_;
  const std::function<void()> on_change_;
  const std::function<void()> wake_;
  hns::OverlayKeeper keeper_;
  Clock::time_point look_at_ = Clock::now() + kLookPeriod;
  hns::Handle subscription_ = hns::Handle::kNone;
  Clock::time_point subscribe_at_{};
  hns::RetryDelay subscribe_delay_{std::chrono::seconds(1), std::chrono::seconds(80)};

  std::mutex mutex_;
  bool gone_ = false;    // guarded
  std::string network_;  // guarded: its id, lower case
};

HnsSink::HnsSink(std::shared_ptr<hns::Api> api, const hns::OverlayWish& wish,
                 std::function<void()> on_change, RoundThread::Limits limits)
    : api_(std::move(api)),
      shared_(std::make_shared<Shared>()),
      wish_(wish),
      on_change_(std::move(on_change)),
      thread_([this](std::function<void()> wake) { return MakeSession(std::move(wake)); }, limits) {
}

HnsSink::~HnsSink() {
  const std::lock_guard lock(shared_->mutex);
  shared_->current = nullptr;
}

RoundThread::Session HnsSink::MakeSession(std::function<void()> wake) {
  const auto session = std::make_shared<Session>(api_, shared_, wish_, on_change_, std::move(wake));
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->current = session.get();
    shared_->wishes.clear();
    if (all_known_ || !routes_.empty()) {
      shared_->wishes.emplace_back(
          [routes = routes_, all = all_known_](hns::OverlayKeeper& keeper) {
            keeper.SetRoutes(routes, all);
          });
    }
    shared_->calls_before = shared_->state.calls;
    shared_->modifying_before = shared_->state.modifying_calls;
  }
  return {[session] { return session->Round(); }, [session] { return session->call(); }};
}

void HnsSink::Tell(std::function<void(hns::OverlayKeeper&)> wish) {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->wishes.push_back(std::move(wish));
    shared_->waiting = true;
  }
  thread_.Wake();
}

void HnsSink::SetWish(const hns::OverlayWish& wish) {
  if (wish == wish_) return;
  wish_ = wish;
  Tell([wish](hns::OverlayKeeper& keeper) { keeper.SetWish(wish); });
}

HnsState HnsSink::State() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->state;
}

lease::SinkReport HnsSink::Report() const {
  const std::lock_guard lock(shared_->mutex);
  const HnsState& state = shared_->state;
  lease::SinkReport report;
  report.desired = routes_.size();
  report.applied = std::min(state.outcome.applied, routes_.size());
  report.settled = state.known && !shared_->waiting;
  report.pending = state.outcome.pending;
  if (state.known && state.outcome.state < hns::OverlayState::kRoutes)
    report.pending.insert(report.pending.begin(), state.outcome.sentence);
  return report;
}

std::string HnsSink::name() const { return absl::StrCat("HNS network ", wish_.name); }

hns::RemoteSubnetRoute HnsSink::RouteTo(const lease::Peer& peer) const {
  return {peer.subnet, wish_.isolation_id, peer.public_ip, peer.vtep_mac};
}

lease::SinkReport HnsSink::Resync(std::span<const lease::Peer> all) {
  routes_.clear();
  for (const lease::Peer& peer : all) {
    if (peer.subnet.family() == IpFamily::kV4) routes_.emplace(peer.subnet, RouteTo(peer));
  }
  all_known_ = true;
  Tell([routes = routes_](hns::OverlayKeeper& keeper) {
    keeper.SetRoutes(routes, /*may_remove=*/true);
    keeper.Recheck();
  });
  return Report();
}

lease::SinkReport HnsSink::Update(const lease::PeerChanges& changes) {
  std::vector<hns::RemoteSubnetRoute> put;
  for (const lease::Peer& peer : changes.upserts) {
    if (peer.subnet.family() != IpFamily::kV4) continue;
    put.push_back(RouteTo(peer));
    routes_.insert_or_assign(peer.subnet, put.back());
  }
  for (const IpPrefix& subnet : changes.removals) routes_.erase(subnet);
  Tell([put = std::move(put), removals = changes.removals](hns::OverlayKeeper& keeper) {
    for (const hns::RemoteSubnetRoute& route : put) keeper.PutRoute(route);
    for (const IpPrefix& subnet : removals) keeper.EraseRoute(subnet);
  });
  return Report();
}

lease::SinkReport HnsSink::Retry() {
  thread_.Wake();
  return Report();
}

}  // namespace weft::control
