// SPDX-License-Identifier: Apache-2.0
#include "dataplane/counters.h"

#include "dataplane/offload.h"

namespace weft::dataplane {
namespace {

DirectionCounts ReadDirection(const Counters::Direction& direction) {
  DirectionCounts counts;
  for (std::size_t i = 0; i < kVerdictCount; ++i)
    counts.packets[i] = direction.packets[i].load(std::memory_order_relaxed);
  counts.bytes = direction.bytes.load(std::memory_order_relaxed);
  return counts;
}

}  // namespace

void Counters::Direction::Count(const Batch& batch) {
  std::uint64_t forwarded = 0;
  std::uint64_t forwarded_bytes = 0;
  for (const Packet& packet : batch) {
    const std::uint32_t wire_packets = WirePackets(packet);
    if (packet.verdict == Verdict::kForward) [[likely]] {
      forwarded += wire_packets;
      forwarded_bytes += InnerBytes(packet);
    } else {
      AddShared(packets[static_cast<std::size_t>(packet.verdict)], wire_packets - packet.left);
      samples.Offer(packet, packet.verdict, batch.now);
      forwarded += packet.left;
      forwarded_bytes += std::uint64_t{packet.left} * (packet.segment_size - packet.inner_offset);
    }
  }
  if (forwarded == 0) return;
  AddShared(packets[static_cast<std::size_t>(Verdict::kForward)], forwarded);
  AddShared(bytes, forwarded_bytes);
}

CounterValues Counters::Read() const {
  return {ReadDirection(to_wire), ReadDirection(to_pods),
          icmp_errors_sent.load(std::memory_order_relaxed),
          strict_would_drop.load(std::memory_order_relaxed)};
}

}  // namespace weft::dataplane
