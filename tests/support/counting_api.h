// SPDX-License-Identifier: Apache-2.0
// Counts calls: the load of weft on HNS is measured in calls.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "hns/api/intercepted_api.h"

namespace weft::hns {

struct CallCounts {
  std::uint64_t total = 0;
  std::uint64_t modifying = 0;  // ApiCall::modifying
  std::map<std::string, std::uint64_t, std::less<>> by_function;
};

// Any thread.
class CountingApi final : public InterceptedApi {
 public:
  using InterceptedApi::InterceptedApi;
  // Calls begun so far, those that failed too.
  CallCounts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  Reply Carry(const ApiCall& call, absl::FunctionRef<Reply()> make) override {
    {
      const std::lock_guard lock(mutex_);
      ++counts_.total;
      if (call.modifying) ++counts_.modifying;
      ++counts_.by_function[std::string(call.function)];
    }
    return make();
  }

  mutable std::mutex mutex_;
  CallCounts counts_;  // guarded
};

}  // namespace weft::hns
