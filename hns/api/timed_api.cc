// SPDX-License-Identifier: Apache-2.0
#include "hns/api/timed_api.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace weft::hns {

TimedApi::TimedApi(Api& api, OnDone done, std::function<Clock::time_point()> now)
    : InterceptedApi(api), done_(std::move(done)), now_(std::move(now)) {}

std::optional<TimedApi::Running> TimedApi::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

Reply TimedApi::Carry(const ApiCall& call, absl::FunctionRef<Reply()> make) {
  const Clock::time_point begin = now_();
  {
    const std::lock_guard lock(mutex_);
    running_ =
        Running{absl::StrCat(call.function, call.object.empty() ? "" : " ", call.object), begin};
  }
  Reply reply = make();
  {
    const std::lock_guard lock(mutex_);
    running_.reset();
  }
  if (done_) done_(call, reply.code, now_() - begin);
  return reply;
}

}  // namespace weft::hns
