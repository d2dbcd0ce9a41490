// SPDX-License-Identifier: Apache-2.0
#include "hns/emulator/emulator.h"

#include <mutex>
#include <utility>
#include <vector>

#include "hns/emulator/core.h"
#include "hns/emulator/features.h"
#include "hns/emulator/handles.h"
#include "hns/emulator/life.h"
#include "hns/emulator/notifications.h"
#include "hns/emulator/objects.h"
#include "hns/emulator/query.h"
#include "hns/emulator/v1_calls.h"
#include "hns/emulator/world_json.h"

namespace weft::hns::emulator {

class Emulator::Impl {
 public:
  Impl(Clock& clock, HostSide& host, Settings settings)
      : clock_(clock), host_(host), settings_(std::move(settings)) {}

  // One call: counted, slowed, refused or carried out, told. `work` runs with the lock held.
  template <typename Work>
  Reply Run(CallInfo call, bool changes, Work work) {
    std::unique_lock lock(mutex_);
    const auto fault = faults_.Next(call.function);
    call.number = faults_.total();
    const auto before = before_;
    const auto after = after_;
    const std::string language = settings_.language;
    const Milliseconds slow = settings_.latency + (fault ? fault->delay : Milliseconds(0));
    lock.unlock();

    if (before) before(call);
    if (slow > Milliseconds(0)) clock_.Sleep(slow);

    const bool refused = fault && Failed(fault->code);
    Reply reply;
    if (!refused || fault->done) {
      lock.lock();
      std::vector<Event> events;
      reply = Execute(changes, events, call, work);
      lock.unlock();
      notifications_.TellAll(events);
    }
    if (refused) {
      Forget(reply.handle, call);  // nobody learns it
      reply = Refuse(fault->code);
      reply.error_record = fault->error_record;
    }
    if (!reply.ok() && reply.error_record.empty()) {
      reply.error_record = ErrorRecord(language, reply.code, std::exchange(reply.text, ""));
    }
    if (after) after(call, reply);
    return reply;
  }

  // Levers: no call, no fault, no delay.
  template <typename Work>
  void Change(Work work) {
    std::vector<Event> events;
    {
      const std::lock_guard lock(mutex_);
      Core core = MakeCore(events);
      work(core);
      ++version_;
    }
    notifications_.TellAll(events);
  }

  Core MakeCore(std::vector<Event>& events) {
    return Core{world_, settings_, host_, clock_.Now(), events};
  }

  // The object's id behind `handle`.
  Reply Resolve(Kind kind, Handle handle, Guid& id) {
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

  Clock& clock_;
  HostSide& host_;
  mutable std::mutex mutex_;  // never held while something sleeps or is told
  Settings settings_;
  World world_;
  Handles handles_;
  Faults faults_;
  std::function<void(const CallInfo&)> before_;
  std::function<void(const CallInfo&, const Reply&)> after_;
  std::uint64_t version_ = 0;
  Notifications notifications_;

 private:
  template <typename Work>
  Reply Execute(bool changes, std::vector<Event>& events, const CallInfo& call, Work& work) {
    if (!settings_.elevated) return Refuse(hresult::kAccessDenied);
    // What is left of a handle is given back without the service.
    const bool closes = call.function.starts_with("HcnClose");
    if (!world_.running && !closes) return Refuse(hresult::kNoMoreEndpoints);
    if (call.function.starts_with("Hcn") && !Supports(settings_.version, Feature::kV2Functions)) {
      return Refuse(hresult::kModuleNotFound);
    }
    Core core = MakeCore(events);
    Reply reply = work(core);
    if (changes && (reply.ok() || !events.empty() || !settings_.atomic_batches ||
                    settings_.batch_applied != 0)) {
      ++version_;
    }
    return reply;
  }

  void Forget(Handle handle, const CallInfo& call) {
    if (handle == Handle::kNone) return;
    if (call.function == kSubscribeName) {
      notifications_.Unsubscribe(handle);
      return;
    }
    const std::lock_guard lock(mutex_);
    for (const Kind kind :
         {Kind::kNetwork, Kind::kEndpoint, Kind::kNamespace, Kind::kLoadBalancer}) {
      if (call.function == FunctionName(Operation::kCreate, kind) ||
          call.function == FunctionName(Operation::kOpen, kind)) {
        handles_.Close(kind, handle);
      }
    }
  }
};

namespace {

CallInfo Info(Operation operation, Kind kind, std::string id, std::string document) {
  return {0, std::string(FunctionName(operation, kind)), std::move(id), std::move(document)};
}

}  // namespace

Emulator::Emulator(Clock& clock, HostSide& host, Settings settings)
    : impl_(std::make_unique<Impl>(clock, host, std::move(settings))) {}
Emulator::~Emulator() = default;

Reply Emulator::Enumerate(Kind kind, const std::string& query) {
  return impl_->Run(Info(Operation::kEnumerate, kind, "", query), false,
                    [&](Core& core) { return EnumerateObjects(core, kind, query); });
}

Reply Emulator::Create(Kind kind, Handle parent, const Guid& id, const std::string& settings) {
  return impl_->Run(Info(Operation::kCreate, kind, id.ToString(), settings), true, [&](Core& core) {
    Guid network;
    Reply reply;
    if (kind == Kind::kEndpoint) reply = impl_->Resolve(Kind::kNetwork, parent, network);
    if (reply.ok()) reply = CreateObject(core, kind, network, id, settings);
    if (!reply.ok()) return reply;
    reply.handle = impl_->handles_.Open(kind, *Guid::Parse(reply.text));
    reply.text.clear();
    return reply;
  });
}

Reply Emulator::Open(Kind kind, const Guid& id) {
  return impl_->Run(Info(Operation::kOpen, kind, id.ToString(), ""), false, [&](Core& core) {
    Reply reply = FindObject(core, kind, id);
    if (reply.ok()) reply.handle = impl_->handles_.Open(kind, id);
    return reply;
  });
}

Reply Emulator::Modify(Kind kind, Handle handle, const std::string& settings) {
  return impl_->Run(Info(Operation::kModify, kind, "", settings), true, [&](Core& core) {
    Guid id;
    const Reply reply = impl_->Resolve(kind, handle, id);
    return reply.ok() ? ModifyObject(core, kind, id, settings) : reply;
  });
}

Reply Emulator::Query(Kind kind, Handle handle, const std::string& query) {
  return impl_->Run(Info(Operation::kQuery, kind, "", query), false, [&](Core& core) {
    Guid id;
    const Reply reply = impl_->Resolve(kind, handle, id);
    return reply.ok() ? ShowObject(core, kind, id, query) : reply;
  });
}

Reply Emulator::Delete(Kind kind, const Guid& id) {
  return impl_->Run(Info(Operation::kDelete, kind, id.ToString(), ""), true,
                    [&](Core& core) { return DeleteObject(core, kind, id); });
}

Hresult Emulator::Close(Kind kind, Handle handle) {
  return impl_
      ->Run(Info(Operation::kClose, kind, "", ""), false,
            [&](Core&) -> Reply {
              const auto state = impl_->handles_.Close(kind, handle);
              return state == Handles::State::kMisuse ? Refuse(hresult::kInvalidHandle) : Reply();
            })
      .code;
}

Reply Emulator::Call(const std::string& method, const std::string& path,
                     const std::string& request) {
  return impl_->Run({0, CallName(method, path), "", request}, method != "GET",
                    [&](Core& core) { return CallV1(core, method, path, request); });
}

Reply Emulator::Subscribe(OnNotification notify) {
  return impl_->Run({0, std::string(kSubscribeName), "", ""}, false, [&](Core&) {
    Reply reply;
    reply.handle = impl_->notifications_.Subscribe(std::move(notify));
    return reply;
  });
}

Hresult Emulator::Unsubscribe(Handle handle) {
  // Not under the emulator's lock: it waits for who is being told.
  const bool was = impl_->notifications_.Unsubscribe(handle);
  return impl_
      ->Run({0, std::string(kUnsubscribeName), "", ""}, false,
            [&](Core&) { return was ? Reply() : Refuse(hresult::kInvalidHandle); })
      .code;
}

Settings Emulator::settings() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->settings_;
}
void Emulator::Set(const Settings& settings) {
  impl_->Change([&](Core&) { impl_->settings_ = settings; });
}

void Emulator::Add(Fault fault) {
  const std::lock_guard lock(impl_->mutex_);
  impl_->faults_.Add(std::move(fault));
}
void Emulator::ClearFaults() {
  const std::lock_guard lock(impl_->mutex_);
  impl_->faults_.Clear();
}
void Emulator::OnEachCall(std::function<void(const CallInfo&)> before,
                          std::function<void(const CallInfo&, const Reply&)> after) {
  const std::lock_guard lock(impl_->mutex_);
  impl_->before_ = std::move(before);
  impl_->after_ = std::move(after);
}
std::map<std::string, std::uint64_t> Emulator::calls() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->faults_.calls();
}
std::uint64_t Emulator::total_calls() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->faults_.total();
}

void Emulator::StopService() {
  {
    const std::lock_guard lock(impl_->mutex_);
    impl_->world_.running = false;
    impl_->handles_.KillAll();
    ++impl_->version_;
  }
  impl_->notifications_.Disconnect();
}
void Emulator::StartService(const Restart& restart) {
  std::vector<Event> unheard;  // nobody has subscribed yet
  const std::lock_guard lock(impl_->mutex_);
  Core core = impl_->MakeCore(unheard);
  LoseByRestart(core, restart);
  impl_->world_.running = true;
  ++impl_->version_;
}
void Emulator::RestartService(const Restart& restart) {
  StopService();
  StartService(restart);
}
void Emulator::Reboot() {
  StopService();
  std::vector<Event> unheard;
  const std::lock_guard lock(impl_->mutex_);
  Core core = impl_->MakeCore(unheard);
  LoseByReboot(core);
  impl_->world_.running = true;
  ++impl_->version_;
}

void Emulator::TakeName(const std::string& name) {
  impl_->Change([&](Core& core) { core.world.taken_names[name] = World::kForever; });
}
void Emulator::ReleaseName(const std::string& name) {
  impl_->Change([&](Core& core) { core.world.taken_names.erase(name); });
}

std::size_t Emulator::open_handles() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->handles_.open();
}
std::uint64_t Emulator::handle_misuses() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->handles_.misuses();
}

std::string Emulator::SaveWorld() const {
  const std::lock_guard lock(impl_->mutex_);
  return WorldText(impl_->world_, impl_->settings_);
}
absl::Status Emulator::LoadWorld(std::string_view json) {
  World world;
  Settings settings;
  if (absl::Status status = ReadWorld(json, world, settings); !status.ok()) return status;
  impl_->Change([&](Core&) {
    impl_->world_ = std::move(world);
    impl_->settings_ = std::move(settings);
  });
  return absl::OkStatus();
}
std::uint64_t Emulator::version() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->version_;
}

}  // namespace weft::hns::emulator
