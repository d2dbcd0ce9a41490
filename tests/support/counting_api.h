// SPDX-License-Identifier: Apache-2.0
// Counts calls: the load of weft on HNS is measured in calls.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "hns/api/api.h"

namespace weft::hns {

struct CallCounts {
  std::uint64_t total = 0;
  std::uint64_t modifying = 0;  // ApiCall::is_modifying
  std::map<std::string, std::uint64_t, std::less<>> by_function;
};

// Any thread.
class CountingApi final : public Api {
 public:
  // `api` outlives it.
  explicit CountingApi(Api& api) : api_(api) {}

  Reply Make(const ApiCall& call) override {
    {
      const std::lock_guard lock(mutex_);
      ++counts_.total;
      if (call.is_modifying()) ++counts_.modifying;
      ++counts_.by_function[std::string(call.function())];
    }
    return api_.Make(call);
  }
  // Calls begun so far, those that failed too.
  CallCounts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  Api& api_;
  mutable std::mutex mutex_;
  CallCounts counts_;  // guarded
};

}  // namespace weft::hns
