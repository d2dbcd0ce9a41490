// SPDX-License-Identifier: Apache-2.0
// Counts what was in sync in HNS, was lost or changed there, and was written again.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::hns {

// Shared by a keeper and its successors. Any thread.
struct Repairs {
  std::atomic<std::uint64_t> networks{0}, host_routes{0}, routes{0}, endpoints{0};
};

}  // namespace weft::hns
