// SPDX-License-Identifier: Apache-2.0
// How long the segments of a TCP flow towards a pod may be, where the kernel delivers them uncut
// and does not say (dataplane/virtual_underlay.h): learnt from what the pod's side sends back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/packet.h"
#include "vxlan/bytes.h"

namespace weft::dataplane {

// One thread. A table of fixed size, in which a newer flow takes an older one's place. Allocates
// once.
class SegmentSizes {
 public:
  SegmentSizes();

  // `packet` is a bare inner one on its way to the wire. The MSS of a SYN (RFC 9293 section 3.7.1)
  // and the MTU of an ICMP error that a TCP segment got behind the pod are kept.
  void Learn(const Packet& packet);

  // Payload bytes that a segment of `packet`, a TCP packet from the wire whose payload begins at
  // `header`, may have; `limit` if no less is known. `packet` is a bare inner one.
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
