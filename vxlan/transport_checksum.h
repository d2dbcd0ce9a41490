// SPDX-License-Identifier: Apache-2.0
// Checksums of TCP, UDP, ICMP and ICMPv6 inside one whole IP packet.
#pragma once

#include <cstdint>
#include <optional>

#include "vxlan/bytes.h"

namespace weft {

enum class TransportChecksum : std::uint8_t {
  kRight,
  kWrong,
  kNone,        // UDP without a checksum
  kNotCovered,  // a fragment, another protocol, or malformed: nothing was verified
};

// `packet` starts at the IP header; bytes after the packet's own length are ignored.
[[nodiscard]] TransportChecksum VerifyTransportChecksum(Bytes packet);

// Computes the checksum over the whole packet and stores it, whatever the field's value was. False,
// and nothing written, if VerifyTransportChecksum would return kNotCovered.
bool CompleteTransportChecksum(MutableBytes packet);

// A checksum whose field contains only the pseudo-header's sum, because a stack left the rest to
// its device. Offsets in bytes, the first from the IP header, the second from the first.
struct UnfinishedChecksum {
  std::uint32_t start = 0;
  std::uint32_t field = 0;
  friend bool operator==(const UnfinishedChecksum&, const UnfinishedChecksum&) = default;
};

// Empty for every other packet, except one in 65,536 whose finished checksum happens to equal that
// sum; completing it again changes nothing. `packet` is exactly one IP packet.
[[nodiscard]] std::optional<UnfinishedChecksum> FindUnfinishedChecksum(Bytes packet);

}  // namespace weft
