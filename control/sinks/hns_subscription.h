// SPDX-License-Identifier: Apache-2.0
// HNS's notifications, registered for over and over: a registration dies with the service, and may
// die without a word.
#pragma once

#include <optional>

#include "hns/api/api.h"
#include "hns/retry_delay.h"

namespace weft::control {

// One thread; `notify` is called on those of HNS. `api` outlives it.
class HnsSubscription {
 public:
  HnsSubscription(hns::Api& api, hns::OnNotification notify);
  ~HnsSubscription();
  HnsSubscription(const HnsSubscription&) = delete;
  HnsSubscription& operator=(const HnsSubscription&) = delete;

  // Registers, where nothing stands that is not doubted and it is not too early after a refusal.
  // What is doubted is ended first, so in between nothing is told: look afterwards. A service that
  // is gone refuses until whoever works with it finds it again: each Keep asks then.
  void Keep(hns::TimePoint now);
  // It may have died; the next Keep registers again.
  void Doubt() { doubted_ = true; }

  bool stands() const { return handle_ != hns::Handle::kNone && !doubted_; }
  // When Keep is to be called because it was refused.
  std::optional<hns::TimePoint> next() const { return again_; }

 private:
  void End();

  hns::Api& api_;
  const hns::OnNotification notify_;
  hns::Handle handle_ = hns::Handle::kNone;
  bool doubted_ = false;
  std::optional<hns::TimePoint> again_;
  hns::RetryDelay delay_{std::chrono::seconds(1), std::chrono::seconds(80)};
};

}  // namespace weft::control
