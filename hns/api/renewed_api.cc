// SPDX-License-Identifier: Apache-2.0
#include "hns/api/renewed_api.h"

namespace weft::hns {

Reply RenewedApi::Make(const ApiCall& call) {
  {
    const std::lock_guard lock(mutex_);
    const bool resting = unsubscribed_ && now_() - *unsubscribed_ < kRest;
    if (unserved_ >= 2 && in_use_ == 0 && !resting) {
      api_.reset();  // first: a DLL is loaded again only once it has no users
      api_ = open_();
      unserved_ = 0;
    }
    ++in_use_;
  }
  Reply reply = api_->Make(call);
  const std::lock_guard lock(mutex_);
  if (reply.handle == Handle::kNone) --in_use_;
  if (call.is_releasing() && in_use_ > 0) --in_use_;
  if (call.operation == Operation::kUnsubscribe) unsubscribed_ = now_();
  // HNS also refuses handles from before a restart, to any process: calls with handles do not
  // count.
  if (!call.is_releasing() && call.operation != Operation::kModify &&
      call.operation != Operation::kQuery)
    unserved_ = reply.code == hresult::kRpcCallFailedDne ? unserved_ + 1 : 0;
  return reply;
}

}  // namespace weft::hns
