// SPDX-License-Identifier: Apache-2.0
// For each drop reason of one direction a late packet, as an example for people.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "dataplane/packet.h"
#include "dataplane/verdict.h"
#include "vxlan/ip_address.h"
#include "vxlan/mac_address.h"

namespace weft::dataplane {

// What could not be read of the packet is empty.
struct DropSample {
  Timestamp at{};
  std::optional<IpAddress> outer;  // the other node's address in the outer header
  std::optional<std::uint32_t> vni;
  std::optional<MacAddress> source_mac, destination_mac;
  std::optional<IpAddress> source, destination;  // of the inner packet
};

// Workers offer packets; any thread reads. A packet that is not taken costs one load.
class DropSamples {
 public:
  static constexpr Timestamp kPause = std::chrono::seconds(1);  // of one reason, at least

  explicit DropSamples(bool from_wire) : from_wire_(from_wire) {}

  // `packet` was dropped for `verdict`, and its bytes are those with which it was.
  void Offer(const Packet& packet, Verdict verdict, Timestamp now);
  std::optional<DropSample> Read(Verdict verdict) const;

 private:
  const bool from_wire_;
  std::array<std::atomic<std::int64_t>, kVerdictCount> due_{};  // Timestamp counts
  mutable std::mutex mutex_;
  std::array<std::optional<DropSample>, kVerdictCount> samples_;  // guarded
};

}  // namespace weft::dataplane
