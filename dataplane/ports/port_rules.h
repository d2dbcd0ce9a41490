// SPDX-License-Identifier: Apache-2.0
// What every port decides in the same way about a packet handed to Send.
#pragma once

#include <cstddef>

#include "dataplane/packet.h"
#include "dataplane/packet_port.h"

namespace weft::dataplane {

// Receive stops once a batch holds this many bytes: it stays in a core's second-level cache while
// the forwarder works on it.
inline constexpr std::size_t kBatchBytes = 256 * 1024;

constexpr bool IsWire(PortKind kind) {
  return kind == PortKind::kWirePacket || kind == PortKind::kWireDatagram;
}

// Send's verdict of what can never be sent.
constexpr Verdict ErrorVerdict(PortKind kind) {
  return IsWire(kind) ? Verdict::kWireError : Verdict::kPodError;
}

// Whether a port with `features` may be given `packet` at all. A superframe's checksum is partial
// by nature, so partial_checksum matters to plain packets only. Length zero is refused: no port
// delivers such a packet.
constexpr bool Takes(const PortFeatures& features, const Packet& packet) {
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
