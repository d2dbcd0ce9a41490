// SPDX-License-Identifier: Apache-2.0
#include "control/sinks/hns_subscription.h"

#include <utility>

namespace weft::control {

HnsSubscription::HnsSubscription(hns::Api& api, hns::OnNotification notify)
    : api_(api), notify_(std::move(notify)) {}

HnsSubscription::~HnsSubscription() { End(); }

void HnsSubscription::Keep(hns::TimePoint now) {
  if (stands() || (again_ && now < *again_)) return;
  End();
  const hns::Reply reply = api_.Subscribe(notify_);
  again_.reset();
  if (hns::IsServiceGone(reply.code)) return;
  if (!reply.ok()) {
    again_ = now + delay_.Next();
    return;
  }
  handle_ = reply.handle;
  doubted_ = false;
  delay_.Reset();
}

// Also one that died: what is left of it on our side calls nobody any more.
void HnsSubscription::End() {
  if (handle_ == hns::Handle::kNone) return;
  api_.Unsubscribe(std::exchange(handle_, hns::Handle::kNone));
}

}  // namespace weft::control
