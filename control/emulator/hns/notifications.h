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
  // Waits for one that is under way. False: there is no such subscription any more.
  bool Unsubscribe(Handle handle);
  void TellAll(std::span<const Event> events);
  // All of them die; `told`: and hear so.
  void Disconnect(bool told);

 private:
  std::mutex mutex_;  // held while telling: who unsubscribes waits for it
  std::map<Handle, OnNotification> subscriptions_;
  std::uint64_t given_ = 0;
};

}  // namespace weft::hns::emulator
