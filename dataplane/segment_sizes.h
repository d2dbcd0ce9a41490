// SPDX-License-Identifier: Apache-2.0
// Maximum segment sizes of TCP flows towards pods, learnt from packets in the other direction.
// Needed where the kernel delivers a superframe without its segment size
// (dataplane/virtual_underlay.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/packet.h"
#include "vxlan/bytes.h"

namespace weft::dataplane {

// One thread. A table of fixed size, in which a newer flow replaces an older one. Allocates once.
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
  struct Flow {
    std::uint64_t key = 0;
    std::uint16_t mss = 0;
  };
  static constexpr int kTableBits = 12;

  std::vector<Flow> flows_;
};

}  // namespace weft::dataplane
