// SPDX-License-Identifier: Apache-2.0
// Subscriptions to the service's notifications. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>

#include "control/emulator/hns/model/core.h"

namespace weft::hns::emulator {

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

}  // namespace weft::hns::emulator
