// SPDX-License-Identifier: Apache-2.0
// Counts the calls into HNS of the whole process, and HNS's restarts.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "control/metrics/exposition.h"
#include "control/metrics/histogram.h"
#include "hns/api/api.h"

namespace weft::metrics {

// Any thread. Counts stay when a keeper or its thread is replaced.
class HnsCalls final : public hns::Api {
 public:
  using Clock = std::chrono::steady_clock;
  explicit HnsCalls(std::shared_ptr<hns::Api> api,
                    std::function<Clock::time_point()> now = Clock::now)
      : api_(std::move(api)), now_(std::move(now)) {}

  hns::Reply Make(const hns::ApiCall& call) override;

  void AddTo(Exposition& exposition) const;
  // When the call that last created a network began.
  std::optional<Clock::time_point> network_created() const;

 private:
  // Shared with notifications, which may outlive this object.
  struct Counts {
    void Gone();
    mutable std::mutex mutex;
    // By function, a string literal, and result: the number of series is bounded.
    std::map<std::pair<std::string_view, std::string_view>, Histogram> calls;
    std::uint64_t in_progress = 0, restarts = 0;
    bool answers = false;
    std::optional<Clock::time_point> network_created;
  };

  const std::shared_ptr<hns::Api> api_;
  const std::function<Clock::time_point()> now_;
  const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace weft::metrics
