// SPDX-License-Identifier: Apache-2.0
// Reports how long each call takes, and which one is in progress: a call into HNS can take a
// minute, or never return.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "hns/api/intercepted_api.h"

namespace weft::hns {

// Calls come from one thread at a time; any thread may read running().
class TimedApi final : public InterceptedApi {
 public:
  using Clock = std::chrono::steady_clock;
  struct Running {
    std::string what;  // "HcnOpenNetwork 55fedb88-..."
    Clock::time_point since;
  };
  // Called on the caller's thread after each call.
  using OnDone = std::function<void(const ApiCall& call, Hresult code, Clock::duration took)>;

  explicit TimedApi(Api& api, OnDone done = nullptr,
                    std::function<Clock::time_point()> now = Clock::now);

  std::optional<Running> running() const;

 private:
  Reply Carry(const ApiCall& call, absl::FunctionRef<Reply()> make) override;

  const OnDone done_;
  const std::function<Clock::time_point()> now_;
  mutable std::mutex mutex_;
  std::optional<Running> running_;  // guarded
};

}  // namespace weft::hns
