// SPDX-License-Identifier: Apache-2.0
// Maximum segment sizes of TCP flows towards pods, learnt from packets in the other direction.
// Needed where the kernel delivers a superframe without its segment size
// (dataplane/virtual_underlay.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/packet.h"
#include "vxlan/bytes.h"

namespace weft::dataplane {

// Any number of workers: they share it, because one may get a flow's SYN and another the answers. A
// table of fixed size, in which a newer flow replaces an older one. Allocates once.
class SegmentSizes {
 public:
  SegmentSizes();

  // Learns from `packet`, a bare inner packet to the wire: the MSS of a SYN (RFC 9293
  // section 3.7.1) and the MTU of an ICMP error about a TCP segment.
  void Learn(const Packet& packet);

  // Maximum payload bytes of a segment of `packet`, a bare inner TCP packet from the wire whose
  // payload begins at `header`; `limit` if no smaller size is known.
  std::uint32_t Cap(const Packet& packet, std::uint32_t header, std::uint32_t limit) const;

 private:
  static constexpr int kTableBits = 12;
  static constexpr std::uint64_t kMss = 0xffff;

  void Set(std::uint64_t key, std::uint16_t mss);
  std::uint16_t Find(std::uint64_t key) const;  // 0: none is known

  // Each the upper 48 bits of a flow's key, then its MSS.
  std::vector<std::atomic<std::uint64_t>> flows_;
};

}  // namespace weft::dataplane
