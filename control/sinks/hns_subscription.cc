// SPDX-License-Identifier: Apache-2.0
#include "control/sinks/hns_subscription.h"

#include <utility>

namespace weft::control {

HnsSubscription::HnsSubscription(hns::Api& api, hns::OnNotification notify)
    : api_(api), notify_(std::move(notify)) {}

HnsSubscription::~HnsSubscription() { End(); }

void HnsSubscription::Keep(hns::TimePoint now) {
  if (active() || (retry_at_ && now < *retry_at_)) return;
  End();
  const hns::Reply reply = api_.Subscribe(notify_);
  retry_at_.reset();
  if (hns::IsServiceGone(reply.code)) return;
  if (!reply.ok()) {
    retry_at_ = now + delay_.Next();
    return;
  }
  handle_ = reply.handle;
  stale_ = false;
  delay_.Reset();
}

// Also for one that ended with the service: our side of it is freed.
void HnsSubscription::End() {
  if (handle_ == hns::Handle::kNone) return;
  api_.Unsubscribe(std::exchange(handle_, hns::Handle::kNone));
}

}  // namespace weft::control
