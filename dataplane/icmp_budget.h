// SPDX-License-Identifier: Apache-2.0
// Rate limit of ICMP errors: a token bucket, as RFC 4443 section 2.4 f and RFC 1812 section 4.3.2.8
// require.
#pragma once

#include <algorithm>
#include <chrono>

#include "dataplane/packet.h"

namespace weft::dataplane {

// One thread: several workers have a budget each.
class IcmpBudget {
 public:
  // Linux's defaults (icmp_msgs_burst, icmp_msgs_per_sec): 50 at once, 1000 a second.
  static constexpr int kBurst = 50;
  static constexpr Timestamp kInterval = std::chrono::milliseconds(1);

  // Consumes a token; false: there is none at `now`. Time that runs backwards adds none.
  bool TryConsume(Timestamp now) {
    full_at_ = std::max(full_at_, now);
    if (full_at_ - now > (kBurst - 1) * kInterval) return false;
    full_at_ += kInterval;
    return true;
  }

 private:
  Timestamp full_at_ = Timestamp::min();  // when the bucket will be full again
};

}  // namespace weft::dataplane
