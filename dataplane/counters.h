// SPDX-License-Identifier: Apache-2.0
// Counters of the data plane, by verdict. Any number of workers write them, and any thread reads
// them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "dataplane/drop_samples.h"
#include "dataplane/packet.h"
#include "dataplane/verdict.h"

namespace weft::dataplane {

struct DirectionCounts {
  // By verdict; a superframe or aggregate counts as the wire packets it stands for.
  std::array<std::uint64_t, kVerdictCount> packets{};
  std::uint64_t bytes = 0;  // inner IP bytes forwarded
  friend bool operator==(const DirectionCounts&, const DirectionCounts&) = default;
};

struct CounterValues {
  DirectionCounts to_wire;
  DirectionCounts to_pods;
  std::uint64_t icmp_errors_sent = 0;
  std::uint64_t strict_would_drop = 0;
  friend bool operator==(const CounterValues&, const CounterValues&) = default;
};

class Counters {
 public:
  struct Direction {
    explicit Direction(bool from_wire = false) : samples(from_wire) {}
    std::array<std::atomic<std::uint64_t>, kVerdictCount> packets{};
    std::atomic<std::uint64_t> bytes{0};
    DropSamples samples;

    // Counts every packet of `batch` by its verdict, and offers the dropped ones as samples. Bytes
    // before a packet's inner_offset do not count as inner bytes.
    void Count(const Batch& batch);
  };
  Direction to_wire;
  Direction to_pods{/*from_wire=*/true};
  std::atomic<std::uint64_t> icmp_errors_sent{0};
  // Received packets that PeerCheck::kLease accepted and kStrict would have dropped.
  std::atomic<std::uint64_t> strict_would_drop{0};

  CounterValues Read() const;  // any thread
};

// For counters with one writer: adds without a locked instruction.
inline void Add(std::atomic<std::uint64_t>& counter, std::uint64_t n) {
  counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

// For counters that several workers write.
inline void AddShared(std::atomic<std::uint64_t>& counter, std::uint64_t n) {
  counter.fetch_add(n, std::memory_order_relaxed);
}

}  // namespace weft::dataplane
