// SPDX-License-Identifier: Apache-2.0
// After a restart HNS may serve a process no more that called it before: each of its calls fails
// with 0x800706BF (WSL#9634). Opening the Api again, on Windows with its DLLs loaded again, takes
// the place of another process. That this helps there is unproven on real Windows.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>

#include "hns/intercepted_api.h"

namespace weft::hns {

// Any thread. It opens again once two calls in a row that need no handle have failed so, and
// nothing is in use: no call is under way, no handle or subscription is open.
class RenewedApi final : public InterceptedApi {
 public:
  using Opener = std::function<std::unique_ptr<Api>()>;  // never null
  explicit RenewedApi(Opener open);

 private:
  RenewedApi(std::unique_ptr<Api> first, Opener open);
  Reply Carry(const ApiCall& call, absl::FunctionRef<Reply()> make) override;

  std::unique_ptr<Api> api_;
  const Opener open_;
  std::mutex mutex_;        // guards what follows, and api_ while nothing is in use
  std::size_t in_use_ = 0;  // calls, handles, subscriptions
  int unserved_ = 0;        // calls in a row
};

}  // namespace weft::hns
