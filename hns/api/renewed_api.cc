// SPDX-License-Identifier: Apache-2.0
#include "hns/api/renewed_api.h"

#include <utility>

#include "hns/api/function_name.h"

namespace weft::hns {

RenewedApi::RenewedApi(Opener open, Clock now) : RenewedApi(open(), open, std::move(now)) {}

RenewedApi::RenewedApi(std::unique_ptr<Api> first, Opener open, Clock now)
    : InterceptedApi(*first),
      api_(std::move(first)),
      open_(std::move(open)),
      now_(std::move(now)) {}

Reply RenewedApi::Carry(const ApiCall& call, absl::FunctionRef<Reply()> make) {
  const auto is = [&](std::string_view verb) { return call.function.starts_with(verb); };
  const bool closes = is("HcnClose") || call.function == kUnsubscribeName;
  {
    const std::lock_guard lock(mutex_);
    const bool resting = unsubscribed_ && now_() - *unsubscribed_ < kRest;
    if (unserved_ >= 2 && in_use_ == 0 && !resting) {
      api_.reset();  // first: a DLL is loaded again only once it has no users
      api_ = open_();
      Use(*api_);
      unserved_ = 0;
    }
    ++in_use_;
  }
  Reply reply = make();
  const std::lock_guard lock(mutex_);
  if (reply.handle == Handle::kNone) --in_use_;
  if (closes && in_use_ > 0) --in_use_;
  if (call.function == kUnsubscribeName) unsubscribed_ = now_();
  // HNS also refuses handles from before a restart, to any process: calls with handles do not
  // count.
  if (!closes && !is("HcnModify") && !is("HcnQuery"))
    unserved_ = reply.code == hresult::kRpcCallFailedDne ? unserved_ + 1 : 0;
  return reply;
}

}  // namespace weft::hns
