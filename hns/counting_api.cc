// SPDX-License-Identifier: Apache-2.0
#include "hns/counting_api.h"

namespace weft::hns {

CallCounts CountingApi::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

Reply CountingApi::Carry(const ApiCall& call, absl::FunctionRef<Reply()> make) {
  {
    const std::lock_guard lock(mutex_);
    ++counts_.total;
    if (call.modifying) ++counts_.modifying;
    ++counts_.by_function[std::string(call.function)];
  }
  return make();
}

}  // namespace weft::hns
