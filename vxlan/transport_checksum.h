// SPDX-License-Identifier: Apache-2.0
// Checksums of TCP, UDP, ICMP and ICMPv6 inside one whole IP packet.
#pragma once

#include <cstdint>

#include "vxlan/bytes.h"

namespace weft {

enum class TransportChecksum : std::uint8_t {
  kRight,
  kWrong,
  kNone,        // UDP without a checksum
  kNotCovered,  // a fragment, another protocol, or malformed: nothing was verified
};

// `packet` starts at the IP header; octets after the packet's own length are ignored.
[[nodiscard]] TransportChecksum VerifyTransportChecksum(Bytes packet);

// Computes the checksum over the whole packet and stores it, whatever the field held. False, and
// nothing written, where VerifyTransportChecksum would say kNotCovered.
bool CompleteTransportChecksum(MutableBytes packet);

}  // namespace weft
