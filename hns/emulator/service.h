// SPDX-License-Identifier: Apache-2.0
// How a call comes to the world: counted, slowed, refused or carried out, told. Any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "hns/emulator/core.h"
#include "hns/emulator/emulator.h"
#include "hns/emulator/faults.h"
#include "hns/emulator/handles.h"
#include "hns/emulator/notifications.h"

namespace weft::hns::emulator {

class Service {
 public:
  using Work = std::function<Reply(Core&)>;

  Service(Clock& clock, HostSide& host, Settings settings)
      : clock_(clock), host_(host), settings_(std::move(settings)) {}

  // One call of a client. `work` runs with the lock held.
  Reply Run(CallInfo call, bool changes, const Work& work);
  // A lever: no call, no fault, no delay, and the service need not run.
  absl::Status Change(const std::function<void(Core&)>& work);
  // Handles and subscriptions die before `work`.
  void Stop(const std::function<void(Core&)>& work);

  absl::Status KeepIn(WorldKeeper* keeper);
  std::string Save();

  // Calls that hang go on.
  void Release();

  // The object's id behind `handle`. For work, and so are the handles.
  Reply Resolve(Kind kind, Handle handle, Guid& id);
  Handles& handles() { return handles_; }
  Settings& settings() { return settings_; }

  // For those who look from outside.
  template <typename Look>
  auto Locked(Look look) {
    const std::lock_guard lock(mutex_);
    return look(*this);
  }
  Faults& faults() { return faults_; }
  std::size_t hanging() const { return hanging_; }
  std::uint64_t lives() const { return world_.lives; }
  std::uint64_t version() const { return version_; }
  void SetHooks(std::function<void(const CallInfo&)> before,
                std::function<void(const CallInfo&, const Reply&)> after) {
    before_ = std::move(before);
    after_ = std::move(after);
  }
  Notifications& notifications() { return notifications_; }

 private:
  // What is to be told once the lock is free.
  struct News {
    std::vector<Event> events;
    bool disconnected = false, disconnect_told = true;
  };
  // Takes the lock, lets in what others did, lets out what `work` did, and tells.
  absl::Status Exclusively(const std::function<void(Core&)>& work);
  absl::Status LetIn(News& news);
  void Adopt(World world, Settings settings, News& news);
  Reply Execute(bool changes, const CallInfo& call, Core& core, const Work& work);
  Milliseconds CostOf(bool changes, const Core& core) const;
  void Hang(std::uint64_t since);
  void Forget(Handle handle, const CallInfo& call);

  Clock& clock_;
  HostSide& host_;
  std::mutex mutex_;  // never held while something sleeps or is told
  Settings settings_;
  World world_;
  Handles handles_;
  Faults faults_;
  std::condition_variable released_;
  std::uint64_t releases_ = 0;  // so far
  std::size_t hanging_ = 0;
  std::function<void(const CallInfo&)> before_;
  std::function<void(const CallInfo&, const Reply&)> after_;
  std::uint64_t version_ = 0;
  WorldKeeper* keeper_ = nullptr;
  Notifications notifications_;
};

}  // namespace weft::hns::emulator
