// SPDX-License-Identifier: Apache-2.0
// Rules that all ports share for Receive and Send.
#pragma once

#include <cstddef>

#include "dataplane/packet.h"
#include "dataplane/packet_port.h"

namespace weft::dataplane {

// Receive stops once a batch has this many bytes, so that it stays in a core's L2 cache while the
// forwarder processes it.
inline constexpr std::size_t kBatchBytes = 256 * 1024;

// Whether a port with `features` accepts `packet`. A superframe's checksum is always partial, so
// partial_checksum matters to plain packets only. Refuses length zero, which no port delivers.
constexpr bool Accepts(const PortFeatures& features, const Packet& packet) {
  if (packet.length == 0) return false;
  switch (packet.segmentation) {
    case Segmentation::kNone:
      return packet.checksum == ChecksumState::kOnWire || features.partial_checksum;
    case Segmentation::kTcp:
      return features.tcp_segmentation && packet.segment_size != 0;
    case Segmentation::kUdp:
      return features.udp_segmentation && packet.segment_size != 0;
    case Segmentation::kDatagrams:
      return features.datagram_aggregation && packet.segment_size != 0;
  }
  return false;
}

}  // namespace weft::dataplane
