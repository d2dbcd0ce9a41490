// SPDX-License-Identifier: Apache-2.0
// E_INVALIDARG to a create that names an adapter: the name may be a virtual one's, or something
// else is in the way, such as another network that is about to go. HNS is left to choose, and may
// take any NIC, only once that has lasted.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "hns/api/hresult.h"
#include "hns/retry_delay.h"

namespace weft::hns {

class AdapterDoubt {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(30);

  // What a create was answered, whether refused or not.
  void Hear(const absl::Status& answer, TimePoint now) {
    if (!IsAboutAdapter(answer))
      since_.reset();
    else if (!since_ && HresultOf(answer) == hresult::kInvalidArgument)
      since_ = now;
  }
  bool MayLetHnsChoose(TimePoint now) const { return !since_ || now - *since_ >= kPatience; }

 private:
  std::optional<TimePoint> since_;
};

}  // namespace weft::hns
