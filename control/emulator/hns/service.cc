// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/service.h"

#include <utility>

#include "control/emulator/hns/model/features.h"
#include "control/emulator/hns/model/hns_state_json.h"

namespace weft::hns::emulator {

Handle Handles::Open(Kind kind, const Guid& id) {
  const auto handle = static_cast<Handle>(++given_);
  entries_.emplace(handle, Entry{kind, id});
  return handle;
}

Handles::State Handles::Find(Kind kind, Handle handle, Guid& id) {
  const auto found = entries_.find(handle);
  if (found == entries_.end() || found->second.kind != kind) {
    ++misuses_;
    return State::kMisuse;
  }
  id = found->second.id;
  return found->second.dead ? State::kDead : State::kOpen;
}

Handles::State Handles::Close(Kind kind, Handle handle) {
  Guid id;
  const State state = Find(kind, handle, id);
  if (state != State::kMisuse) entries_.erase(handle);
  return state;
}

void Handles::KillAll() {
  for (auto& [handle, entry] : entries_) entry.dead = true;
}

Handle Notifications::Subscribe(OnNotification notify) {
  const std::lock_guard lock(mutex_);
  const auto handle = static_cast<Handle>(++given_);
  subscriptions_.emplace(handle, std::move(notify));
  return handle;
}

bool Notifications::Unsubscribe(Handle handle) {
  const std::lock_guard lock(mutex_);
  return subscriptions_.erase(handle) != 0;
}

void Notifications::NotifyAll(std::span<const Event> events) {
  const std::lock_guard lock(mutex_);
  for (const Event& event : events)
    for (const auto& [handle, notify] : subscriptions_) notify(event.type, event.data);
}

void Notifications::Disconnect(bool notified) {
  const std::lock_guard lock(mutex_);
  for (const auto& [handle, notify] : std::exchange(subscriptions_, {}))
    if (notified) notify(Notification::kServiceDisconnect, "");
}

Reply Service::Run(const ApiCall& call, const Work& work) {
  std::unique_lock lock(mutex_);
  const auto fault = faults_.Next(call);
  const auto before = before_;
  const auto after = after_;
  const std::string language = settings_.language;
  const Milliseconds slow = settings_.latency + (fault ? fault->delay : Milliseconds(0));
  const std::uint64_t releases = releases_;
  lock.unlock();

  if (before) before(call);
  if (slow > Milliseconds(0)) clock_.Sleep(slow);
  if (fault && fault->hangs && !fault->done) Hang(releases);

  const bool refused = fault && Failed(fault->code);
  Reply reply;
  Milliseconds cost{0};
  if (!refused || fault->done) {
    Exclusively([&](Core& core) {
      reply = Execute(call, core, work);
      cost = CostOf(call.is_modifying(), core);
    });
  }
  if (cost > Milliseconds(0)) clock_.Sleep(cost);
  if (fault && fault->hangs) Hang(releases);  // returns at once if it hung above
  if (refused) {
    Forget(reply.handle, call);  // no caller receives it
    reply = Refuse(fault->code);
    reply.error_record = fault->error_record;
  }
  if (!reply.ok() && reply.error_record.empty())
    reply.error_record = ErrorRecord(language, reply.code, std::exchange(reply.text, ""));
  if (after) after(call, reply);
  return reply;
}

Reply Service::Execute(const ApiCall& call, Core& core, const Work& work) {
  if (!settings_.elevated) return Refuse(hresult::kAccessDenied);
  // A handle can be closed without the service.
  const bool closes = call.operation == Operation::kClose;
  if (state_.back_at > Milliseconds(0) && core.now >= state_.back_at) {
    state_.running = true;
    state_.back_at = Milliseconds(0);
    ++version_;
  }
  if (!state_.running && !closes) return Refuse(settings_.stopped_code);
  if (call.operation != Operation::kCall && !Supports(settings_.version, Feature::kV2Functions))
    return Refuse(hresult::kModuleNotFound);
  Reply reply = work(core);
  // A refused batch may have been applied in part.
  const bool in_part = !settings_.atomic_batches || settings_.batch_applied != 0;
  if (call.is_modifying() && (reply.ok() || in_part)) ++version_;
  return reply;
}

Milliseconds Service::CostOf(bool changes, const Core& core) const {
  Microseconds cost = settings_.policy_cost * core.policies;
  if (changes) {
    std::size_t objects = state_.endpoints.size() + state_.load_balancers.size();
    for (const auto& [id, network] : state_.networks) objects += network.policies.size();
    cost += settings_.object_cost * objects;
  }
  return std::chrono::ceil<Milliseconds>(cost);
}

void Service::Hang(std::uint64_t since) {
  std::unique_lock lock(mutex_);
  ++hanging_;
  released_.wait(lock, [&] { return releases_ != since; });
  --hanging_;
}

void Service::Release() {
  const std::lock_guard lock(mutex_);
  ++releases_;
  released_.notify_all();
}

void Service::Change(const std::function<void(Core&)>& work) {
  Exclusively([&](Core& core) {
    work(core);
    ++version_;
  });
}

void Service::Stop(const std::function<void(Core&)>& work) {
  Change([&](Core& core) {
    handles_.KillAll();
    ++state_.lives;
    state_.running = false;
    work(core);
    core.events.clear();  // no subscription is left
  });
  notifications_.Disconnect(Locked([](Service& s) { return s.settings_.disconnect_notified; }));
}

void Service::Exclusively(const std::function<void(Core&)>& work) {
  std::vector<Event> events;
  {
    const std::lock_guard lock(mutex_);
    Core core{state_, settings_, host_, clock_.Now(), events};
    work(core);
  }
  notifications_.NotifyAll(events);
}

std::string Service::StateText() {
  return Locked([](Service& s) { return HnsStateText(s.state_, s.settings_); });
}

Reply Service::Resolve(Kind kind, Handle handle, Guid& id) {
  switch (handles_.Find(kind, handle, id)) {
    case Handles::State::kOpen:
      return {};
    case Handles::State::kDead:
      return Refuse(settings_.dead_handle_code);
    case Handles::State::kMisuse:
      break;
  }
  return Refuse(hresult::kInvalidHandle);
}

void Service::Forget(Handle handle, const ApiCall& call) {
  if (handle == Handle::kNone) return;
  if (call.operation == Operation::kSubscribe) {
    notifications_.Unsubscribe(handle);
    return;
  }
  const std::lock_guard lock(mutex_);
  if (call.operation == Operation::kCreate || call.operation == Operation::kOpen)
    handles_.Close(call.kind, handle);
}

}  // namespace weft::hns::emulator
