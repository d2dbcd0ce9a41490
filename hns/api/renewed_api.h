// SPDX-License-Identifier: Apache-2.0
// After a restart HNS may refuse every call of a process that called it before, with 0x800706BF
// (WSL#9634). RenewedApi then opens the Api again, which on Windows loads its DLLs again, instead
// of restarting the process. Unproven on real Windows.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "hns/api/api.h"

namespace weft::hns {

// Any thread. Opens again once two calls in a row that need no handle have failed in this way and
// nothing is in use: no call is in progress, no handle or subscription is open.
class RenewedApi final : public Api {
 public:
  using Opener = std::function<std::unique_ptr<Api>()>;  // never null
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  // How long after a subscription's end it does not open again: HNS's callback thread may still be
  // inside the DLL.
  static constexpr std::chrono::seconds kRest{2};
  explicit RenewedApi(Opener open, Clock now = &std::chrono::steady_clock::now)
      : open_(std::move(open)), now_(std::move(now)), api_(open_()) {}

  Reply Make(const ApiCall& call) override;

 private:
  const Opener open_;
  const Clock now_;
  std::unique_ptr<Api> api_;
  std::mutex mutex_;        // guards the members below, and api_ while nothing is in use
  std::size_t in_use_ = 0;  // calls, handles, subscriptions
  int unserved_ = 0;        // refused calls in a row
  std::optional<std::chrono::steady_clock::time_point> unsubscribed_;
};

}  // namespace weft::hns
