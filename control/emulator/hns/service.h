// SPDX-License-Identifier: Apache-2.0
// Passes calls to the objects: counts, delays, refuses or executes them, and sends notifications.
// Any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "control/emulator/hns/emulator.h"
#include "control/emulator/hns/faults.h"
#include "control/emulator/hns/model/core.h"
#include "hns/api/api.h"

namespace weft::hns::emulator {

// Open handles. Numbers are never reused, so that a use after close is always detected.
class Handles {
 public:
  enum class State : std::uint8_t {
    kOpen,
    kDead,    // the service has restarted since
    kMisuse,  // closed already, unknown, or of another kind; counted
  };

  Handle Open(Kind kind, const Guid& id);
  State Find(Kind kind, Handle handle, Guid& id);
  State Close(Kind kind, Handle handle);
  // The handles remain and must still be closed.
  void KillAll();

  std::size_t open() const { return entries_.size(); }
  std::uint64_t misuses() const { return misuses_; }

 private:
  struct Entry {
    Kind kind;
    Guid id;
    bool dead = false;
  };
  std::map<Handle, Entry> entries_;
  std::uint64_t given_ = 0;
  std::uint64_t misuses_ = 0;
};

// Subscriptions to the service's notifications. Any thread.
class Notifications {
 public:
  Handle Subscribe(OnNotification notify);
  // Waits for a notification in progress. False: the subscription does not exist any more.
  bool Unsubscribe(Handle handle);
  void NotifyAll(std::span<const Event> events);
  // Ends all subscriptions; if `notified`, with a kServiceDisconnect.
  void Disconnect(bool notified);

 private:
  std::mutex mutex_;  // held while notifying, so that Unsubscribe waits for it
  std::map<Handle, OnNotification> subscriptions_;
  std::uint64_t given_ = 0;
};

class Service {
 public:
  using Work = std::function<Reply(Core&)>;

  Service(Clock& clock, host::EmulatedHost& host, Settings settings)
      : clock_(clock), host_(host), settings_(std::move(settings)) {}

  // Runs one call of a client. `work` runs with the lock held.
  Reply Run(const ApiCall& call, const Work& work);
  // Runs a control: it is not counted, has no fault or delay, and works while the service is
  // stopped.
  void Change(const std::function<void(Core&)>& work);
  // Ends handles and subscriptions, then runs `work`.
  void Stop(const std::function<void(Core&)>& work);

  std::string StateText();

  // Lets hanging calls continue.
  void Release();

  // The id of the object behind `handle`. Resolve and handles() are for use in `work`.
  Reply Resolve(Kind kind, Handle handle, Guid& id);
  Handles& handles() { return handles_; }
  Settings& settings() { return settings_; }

  // Reads or changes the service from outside a call.
  auto Locked(auto use) {
    const std::lock_guard lock(mutex_);
    return use(*this);
  }
  Faults& faults() { return faults_; }
  std::size_t hanging() const { return hanging_; }
  std::uint64_t lives() const { return state_.lives; }
  std::uint64_t version() const { return version_; }
  void SetHooks(std::function<void(const ApiCall&)> before,
                std::function<void(const ApiCall&, const Reply&)> after) {
    before_ = std::move(before);
    after_ = std::move(after);
  }
  Notifications& notifications() { return notifications_; }

 private:
  // Runs `work` with the lock, then sends its notifications without it.
  void Exclusively(const std::function<void(Core&)>& work);
  Reply Execute(const ApiCall& call, Core& core, const Work& work);
  Milliseconds CostOf(bool changes, const Core& core) const;
  void Hang(std::uint64_t since);
  void Forget(Handle handle, const ApiCall& call);

  Clock& clock_;
  HostSide host_;
  std::mutex mutex_;  // never held during a sleep or a notification
  Settings settings_;
  HnsState state_;
  Handles handles_;
  Faults faults_;
  std::condition_variable released_;
  std::uint64_t releases_ = 0;  // number of Release calls
  std::size_t hanging_ = 0;
  std::function<void(const ApiCall&)> before_;
  std::function<void(const ApiCall&, const Reply&)> after_;
  std::uint64_t version_ = 0;
  Notifications notifications_;
};

}  // namespace weft::hns::emulator
