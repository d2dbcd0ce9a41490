// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/notifications.h"

#include <utility>

namespace weft::hns::emulator {

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
  for (const Event& event : events) {
    for (const auto& [handle, notify] : subscriptions_) notify(event.type, event.data);
  }
}

void Notifications::Disconnect(bool notified) {
  const std::lock_guard lock(mutex_);
  for (const auto& [handle, notify] : std::exchange(subscriptions_, {})) {
    if (notified) notify(Notification::kServiceDisconnect, "");
  }
}

}  // namespace weft::hns::emulator
