// SPDX-License-Identifier: Apache-2.0
#include "hns/emulator/service.h"

#include <optional>
#include <utility>

#include "hns/emulator/features.h"
#include "hns/emulator/world_json.h"

namespace weft::hns::emulator {

Reply Service::Run(CallInfo call, bool changes, const Work& work) {
  std::unique_lock lock(mutex_);
  const auto fault = faults_.Next(call.function);
  call.number = faults_.total();
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
    const absl::Status status = Exclusively([&](Core& core) {
      reply = Execute(changes, call, core, work);
      cost = CostOf(changes, core);
    });
    if (!status.ok()) reply = Refuse(hresult::kUnspecified, std::string(status.message()));
  }
  if (cost > Milliseconds(0)) clock_.Sleep(cost);
  if (fault && fault->hangs) Hang(releases);  // released already where it hung before
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

Reply Service::Execute(bool changes, const CallInfo& call, Core& core, const Work& work) {
  if (!settings_.elevated) return Refuse(hresult::kAccessDenied);
  // What is left of a handle is given back without the service.
  const bool closes = call.function.starts_with("HcnClose");
  if (!world_.running && world_.back_at > Milliseconds(0) && core.now >= world_.back_at) {
    world_.running = true;
    world_.back_at = Milliseconds(0);
    ++version_;
  }
  if (!world_.running && !closes) return Refuse(settings_.stopped_code);
  if (call.function.starts_with("Hcn") && !Supports(settings_.version, Feature::kV2Functions)) {
    return Refuse(hresult::kModuleNotFound);
  }
  Reply reply = work(core);
  // A refused batch may have been applied in part.
  const bool in_part = !settings_.atomic_batches || settings_.batch_applied != 0;
  if (changes && (reply.ok() || in_part)) ++version_;
  return reply;
}

Milliseconds Service::CostOf(bool changes, const Core& core) const {
  Microseconds cost = settings_.policy_cost * core.policies;
  if (changes && settings_.object_cost > Microseconds(0)) {
    std::size_t objects = world_.endpoints.size() + world_.load_balancers.size();
    for (const auto& [id, network] : world_.networks) objects += network.policies.size();
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

absl::Status Service::Change(const std::function<void(Core&)>& work) {
  return Exclusively([&](Core& core) {
    work(core);
    ++version_;
  });
}

void Service::Stop(const std::function<void(Core&)>& work) {
  Change([&](Core& core) {
    handles_.KillAll();
    ++world_.lives;
    world_.running = false;
    work(core);
    core.events.clear();  // nobody listens any more
  }).IgnoreError();
  notifications_.Disconnect(Locked([](Service& s) { return s.settings_.disconnect_told; }));
}

absl::Status Service::Exclusively(const std::function<void(Core&)>& work) {
  News news;
  absl::Status status;
  {
    const std::lock_guard lock(mutex_);
    status = LetIn(news);
    if (status.ok()) {
      const std::uint64_t version = version_;
      Core core{world_, settings_, host_, clock_.Now(), news.events};
      work(core);
      if (keeper_ != nullptr) {
        std::optional<std::string> changed;
        if (version_ != version) changed = WorldText(world_, settings_);
        status = keeper_->End(changed);
      }
    }
  }
  if (news.disconnected) notifications_.Disconnect(news.disconnect_told);
  notifications_.TellAll(news.events);
  return status;
}

absl::Status Service::LetIn(News& news) {
  if (keeper_ == nullptr) return absl::OkStatus();
  auto newer = keeper_->Begin();
  if (!newer.ok()) return newer.status();
  if (!*newer) return absl::OkStatus();
  World world;
  Settings settings;
  absl::Status status = ReadWorld(**newer, world, settings);
  if (status.ok()) {
    Adopt(std::move(world), std::move(settings), news);
  } else {
    keeper_->End(std::nullopt).IgnoreError();
  }
  return status;
}

void Service::Adopt(World world, Settings settings, News& news) {
  Core core{world, settings, host_, clock_.Now(), news.events};
  if (world.lives != world_.lives) {
    handles_.KillAll();
    news.disconnected = true;
    news.disconnect_told = settings.disconnect_told;
  } else {
    for (const auto& [id, network] : world.networks) {
      if (!world_.networks.contains(id)) {
        Tell(core, Notification::kNetworkCreate, id, network.flags);
      }
    }
    for (const auto& [id, network] : world_.networks) {
      if (!world.networks.contains(id)) {
        Tell(core, Notification::kNetworkDelete, id, network.flags);
      }
    }
  }
  world_ = std::move(world);
  settings_ = std::move(settings);
  ++version_;
}

absl::Status Service::KeepIn(WorldKeeper* keeper) {
  Locked([&](Service&) {
    keeper_ = keeper;
    return true;
  });
  // Whatever stands there comes in; where nothing does, this world goes out.
  return Change([](Core&) {});
}

std::string Service::Save() {
  Exclusively([](Core&) {}).IgnoreError();
  return Locked([](Service& s) { return WorldText(s.world_, s.settings_); });
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

void Service::Forget(Handle handle, const CallInfo& call) {
  if (handle == Handle::kNone) return;
  if (call.function == kSubscribeName) {
    notifications_.Unsubscribe(handle);
    return;
  }
  const std::lock_guard lock(mutex_);
  for (const Kind kind : {Kind::kNetwork, Kind::kEndpoint, Kind::kNamespace, Kind::kLoadBalancer}) {
    if (call.function == FunctionName(Operation::kCreate, kind) ||
        call.function == FunctionName(Operation::kOpen, kind)) {
      handles_.Close(kind, handle);
    }
  }
}

}  // namespace weft::hns::emulator
