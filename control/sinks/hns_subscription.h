// SPDX-License-Identifier: Apache-2.0
// A subscription to HNS's notifications that is renewed when necessary: it ends with the service,
// possibly without a notification.
#pragma once

#include <optional>

#include "hns/api/api.h"
#include "hns/retry_delay.h"

namespace weft::control {

// One thread; `notify` is called on HNS's threads. `api` outlives it.
class HnsSubscription {
 public:
  HnsSubscription(hns::Api& api, hns::OnNotification notify);
  ~HnsSubscription();
  HnsSubscription(const HnsSubscription&) = delete;
  HnsSubscription& operator=(const HnsSubscription&) = delete;

  // Subscribes, unless the subscription is active or retry_at() has not come. A stale subscription
  // is ended first, and what happens in between is not reported: read the state afterwards. While
  // the service is gone, each Keep tries again.
  void Keep(hns::TimePoint now);
  // The subscription may have ended; the next Keep subscribes again.
  void Invalidate() { stale_ = true; }

  bool active() const { return handle_ != hns::Handle::kNone && !stale_; }
  // When to call Keep again after a refusal.
  std::optional<hns::TimePoint> retry_at() const { return retry_at_; }

 private:
  void End();

  hns::Api& api_;
  const hns::OnNotification notify_;
  hns::Handle handle_ = hns::Handle::kNone;
  bool stale_ = false;
  std::optional<hns::TimePoint> retry_at_;
  hns::RetryDelay delay_{std::chrono::seconds(1), std::chrono::seconds(80)};
};

}  // namespace weft::control
